/*
 * fuzz_segment.c - the streaming reader of segments and the log's rules.
 *
 * The first byte chooses: 0, the rest is a segment as it came; 1, its
 * header's and frames' checks are set right first, so that a mutation gets
 * past them to what they protect.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/scan.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"
#include "tests/fuzz/fuzz_pin.h"
#include "tests/fuzz/segment_mend.h"

enum { INPUT_MAX = 1 << 20 };

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* The tree that the segment claims to stand on, so that its own checkpoint is
 * the only thing that can contradict it. */
static void
walk(const struct vkey *pin, int fd, uint64_t size)
{
	struct segment_read *r = NULL;
	struct segment_trailer t;
	struct segment_frame f;
	struct bytes note = BYTES_INIT(SEGMENT_NOTE_MAX);
	struct err e = ERR_INIT;
	struct scan s;
	uint64_t off;
	int rc;

	if (segment_read_new(&r, fd, &e) != 0) {
		if (e.code != ERR_FORMAT)
			abort();
		return;
	}
	while ((rc = segment_read_next(r, &f, &e)) == 0)
		if (f.end > size || f.payload_off + f.payload_len != f.end)
			abort();
	if (rc != ERR_EOF && rc != ERR_AGAIN && rc != ERR_FORMAT)
		abort();
	rc = segment_read_closing(r, &t, &note, &off, &e);
	if (rc == 0 && off >= size)
		abort();
	segment_read_seek(r, SEGMENT_HEADER_LEN);
	scan_init(&s, pin);
	if (scan_segment(&s, r, NULL) == 0) {
		while ((rc = scan_next(&s, r, &f, &e)) == 0)
			continue;
		if (rc != ERR_EOF && rc != ERR_AGAIN && rc != ERR_FORMAT &&
		    rc != ERR_CORRUPT)
			abort();
	}
	bytes_free(&note);
	segment_read_free(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct vkey pin;
	uint8_t *copy;
	int fd;

	if (pin.name[0] == '\0' &&
	    (secret_init(NULL) != 0 ||
		vkey_parse(&pin, FUZZ_PIN, strlen(FUZZ_PIN), NULL) != 0))
		abort();
	if (len < 1 || len > INPUT_MAX)
		return 0;
	if ((copy = malloc(len)) == NULL)
		abort();
	memcpy(copy, p + 1, len - 1);
	if (p[0] % 2 == 1)
		segment_mend(copy, len - 1);
	if ((fd = memfd_create("segment", MFD_CLOEXEC)) == -1 ||
	    write(fd, copy, len - 1) != (ssize_t)(len - 1))
		abort();
	walk(&pin, fd, len - 1);
	close(fd);
	free(copy);
	return 0;
}
