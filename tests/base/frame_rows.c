/*
 * frame_rows.c - see frame_rows.h.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

static const struct frame_permit permits[] = {
	{ ROW_SMALL,   ROW_SMALL_MAX, false },
	{ ROW_WITH_FD, 4096,          true },
	{ ROW_BIG,     ROW_BIG_MAX,   false },
};

const struct frame_role frame_rows_role = { "stranger", permits, 3 };
const struct frame_role frame_rows_small_role = { "stranger", permits, 2 };

const struct frame_row frame_rows[] = {
	{ "whole, body empty",
	    "00000009 a4 0101 0207 0305 0440", 0, NULL },
	{ "whole, body at its cap",
	    "00000019 a4 0101 0207 0305 0450 000102030405060708090a0b0c0d0e0f",
	    0, NULL },
	{ "largest job and type",
	    "00000015 a4 0101 021affffffff 031bffffffffffffffff 0440",
	    0, NULL },
	{ "nothing", "", ERR_EOF, "ended" },
	{ "ends in the length", "000000", ERR_PEER, "within a frame" },
	{ "ends after the length", "00000009", ERR_PEER, "within a frame" },
	{ "ends a byte early",
	    "00000009 a4 0101 0207 0305 04", ERR_PEER, "within a frame" },
	{ "length zero", "00000000", ERR_PEER, "a frame of 0 bytes" },
	{ "length past the cap", "00400001 a4", ERR_PEER, "4194305" },
	{ "longest length", "ffffffff a4", ERR_PEER, "4294967295" },
	{ "body past its type's cap",
	    "0000001a a4 0101 0207 0305 0451 "
	    "000102030405060708090a0b0c0d0e0f10", ERR_PEER, "17 bytes" },
	{ "version 0",
	    "00000009 a4 0100 0207 0305 0440", ERR_PEER, "version 0" },
	{ "version 2",
	    "00000009 a4 0102 0207 0305 0440", ERR_PEER, "version 2" },
	{ "unknown type",
	    "00000009 a4 0101 0206 0305 0440", ERR_PEER, "type 6" },
	{ "type past u32",
	    "00000011 a4 0101 021b0000000100000007 0305 0440",
	    ERR_PEER, "malformed" },
	{ "negative job",
	    "00000009 a4 0101 0207 0324 0440", ERR_PEER, "malformed" },
	{ "body is text",
	    "00000009 a4 0101 0207 0305 0460", ERR_PEER, "malformed" },
	{ "no body",
	    "00000007 a3 0101 0207 0305", ERR_PEER, "malformed" },
	{ "a fifth pair",
	    "0000000b a5 0101 0207 0305 0440 0500", ERR_PEER, "malformed" },
	{ "wrong key",
	    "00000009 a4 0101 0207 0305 0540", ERR_PEER, "malformed" },
	{ "keys out of order",
	    "00000009 a4 0101 0305 0207 0440", ERR_PEER, "malformed" },
	{ "long form",
	    "0000000a a4 0101 021807 0305 0440", ERR_PEER, "malformed" },
	{ "indefinite map",
	    "0000000a bf 0101 0207 0305 0440 ff", ERR_PEER, "malformed" },
	{ "an array", "00000001 80", ERR_PEER, "malformed" },
	{ "a byte behind the map",
	    "0000000a a4 0101 0207 0305 0440 00", ERR_PEER, "malformed" },
	{ "body longer than the frame",
	    "00000009 a4 0101 0207 0305 0441", ERR_PEER, "malformed" },
	{ "its descriptor is missing",
	    "00000009 a4 0101 0208 0305 0440", ERR_PEER, "without" },
};
const size_t frame_rows_count = TEST_COUNT(frame_rows);

static void
send_bytes(int sock, const uint8_t *p, size_t n, int fd)
{
	union {
		struct cmsghdr	align;
		char		room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)p, n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n == 0)
		return;
	if (fd != -1) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	assert_int_equal(sendmsg(sock, &msg, MSG_NOSIGNAL), n);
}

void
frame_rows_send(int sock, const char *hex, int fd, size_t at)
{
	uint8_t *p;
	size_t n;

	p = test_unhex(hex, &n);
	if (fd == -1)
		at = 0;
	send_bytes(sock, p, at, -1);
	send_bytes(sock, p + at, n - at, fd);
	free(p);
}

/* A cheap stream that can be started anywhere; the bytes are kept inverted
 * where they must not be found. */
static uint8_t
byte_at(uint64_t seed, size_t i)
{
	uint64_t x = seed + (i + 1) * 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (uint8_t)(x >> 56);
}

void
frame_rows_fill(uint64_t seed, void *p, size_t n)
{
	uint8_t *q = p;
	size_t i;

	for (i = 0; i < n; i++)
		q[i] = byte_at(seed, i);
}

int
frame_rows_is(uint64_t seed, const void *p, size_t n)
{
	const uint8_t *q = p;
	size_t i;

	for (i = 0; i < n && q[i] == byte_at(seed, i); i++)
		;
	return i == n;
}

enum { NEEDLE = 16, NEEDLES = 3, CHUNK = 1 << 16 };

/* Needles are kept inverted, and only a byte of them is ever plain. */
struct needles {
	uint8_t	inverted[NEEDLES][NEEDLE];
};

static size_t
count_one(const uint8_t *p, size_t n, const uint8_t *inverted)
{
	const uint8_t *at = p, *end = p + n;
	size_t j, found = 0;

	while ((size_t)(end - at) >= NEEDLE &&
	    (at = memchr(at, inverted[0] ^ 0xff,
		 (size_t)(end - at) - (NEEDLE - 1))) != NULL) {
		for (j = 0; j < NEEDLE; j++)
			if ((at[j] ^ inverted[j]) != 0xff)
				break;
		if (j == NEEDLE)
			found++;
		at++;
	}
	return found;
}

static size_t
count_in(const uint8_t *p, size_t n, const struct needles *needles)
{
	size_t i, found = 0;

	for (i = 0; i < NEEDLES; i++)
		found += count_one(p, n, needles->inverted[i]);
	return found;
}

/* Was any page of the chunk ever touched?  Bits 63 and 62 of an entry say that
 * the page is in memory or swapped out; others read as zeros or as the file. */
static int
is_touched(int pagemap, uint64_t from, size_t n)
{
	uint64_t entry[CHUNK / 4096 + 2];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = from / page, count = (from + n - 1) / page - first + 1;
	size_t i, want = (size_t)count * sizeof(entry[0]);

	assert_true(want <= sizeof(entry));
	if (pread(pagemap, entry, want, (off_t)(first * sizeof(entry[0]))) !=
	    (ssize_t)want)
		return 1;
	for (i = 0; i < count; i++)
		if (entry[i] >> 62 != 0)
			return 1;
	return 0;
}

/* Chunks overlap, so that nothing hides on a border. */
static size_t
count_region(int mem, int pagemap, uint64_t from, uint64_t to,
    const struct needles *needles)
{
	static uint8_t chunk[CHUNK];
	size_t want, found = 0;
	ssize_t n;

	while (to - from >= NEEDLE) {
		want = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
		if (!is_touched(pagemap, from, want)) {
			from += want - (NEEDLE - 1);
			continue;
		}
		n = pread(mem, chunk, want, (off_t)from);
		if (n < NEEDLE)
			break;		/* a guard page, or never touched */
		found += count_in(chunk, (size_t)n, needles);
		memset(chunk, 0, sizeof(chunk));
		from += (uint64_t)n - (NEEDLE - 1);
	}
	return found;
}

/* Sanitizers' shadows are huge and hold no bytes of ours. */
static size_t
count_memory(const struct needles *needles)
{
	static const uint64_t huge = 512 << 20;
	uint64_t from, to;
	char line[512], perms[8];
	size_t found = 0;
	FILE *maps;
	int mem, pagemap;

	mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_int_not_equal(mem, -1);
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	assert_int_not_equal(pagemap, -1);
	maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &from, &to,
			perms) != 3 ||
		    perms[0] != 'r' || perms[1] != 'w' || to - from > huge)
			continue;
		found += count_region(mem, pagemap, from, to, needles);
	}
	fclose(maps);
	close(pagemap);
	close(mem);
	return found;
}

size_t
frame_rows_remains(uint64_t seed, size_t n)
{
	const size_t places[NEEDLES] = { 0, n / 2, n - NEEDLE };
	struct needles needles;
	size_t i, j;

	for (i = 0; i < NEEDLES; i++)
		for (j = 0; j < NEEDLE; j++)
			needles.inverted[i][j] =
			    (uint8_t)~byte_at(seed, places[i] + j);
	return count_memory(&needles);
}
