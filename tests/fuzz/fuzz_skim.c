/*
 * fuzz_skim.c - frames by their heads alone, and the way on behind damage.
 *
 * The first byte chooses as in fuzz_segment.c, and by its second bit that
 * headers are lost once the files have their names; the rest is the only
 * segment of an archive, or two when the magic of a header stands in it again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/skim.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"
#include "tests/fuzz/fuzz_check.h"
#include "tests/fuzz/fuzz_pin.h"
#include "tests/fuzz/segment_mend.h"

enum { INPUT_MAX = 1 << 20, MAGIC_LEN = 8 };

static char folder[512];

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void
at_end(void)
{
	char name[600];

	snprintf(name, sizeof(name), "rm -rf '%s'", folder);
	if (system(name) != 0)
		fprintf(stderr, "%s is left\n", folder);
}

static struct layout *
make_archive(void)
{
	const char *tmp = getenv("TMPDIR");
	struct layout *l = NULL;
	struct vkey pin;

	fuzz_check(secret_init(NULL) == 0);
	fuzz_check(vkey_parse(&pin, FUZZ_PIN, strlen(FUZZ_PIN), NULL) == 0);
	snprintf(folder, sizeof(folder), "%.400s/fuzz_skim.XXXXXX",
	    tmp == NULL ? "/tmp" : tmp);
	fuzz_check(mkdtemp(folder) != NULL && atexit(at_end) == 0);
	fuzz_check(layout_create(folder, &pin, disk_system(), NULL) == 0);
	fuzz_check(layout_open(&l, folder, NULL) == 0);
	return l;
}

/* Under the name of the first entry that the header claims. */
static void
put_segment(const struct layout *l, const uint8_t *p, size_t n,
    bool is_headless, char name[SEGMENT_NAME_MAX])
{
	static const uint8_t lost[SEGMENT_HEADER_LEN];
	size_t len = is_headless && n > sizeof(lost) ? sizeof(lost) : 0;
	uint64_t first = 0;
	int fd;

	for (size_t i = 8; i < 16 && i < n; i++)
		first = first << 8 | p[i];
	segment_name(name, first);
	fd = openat(l->seg, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	fuzz_check(fd != -1 && write(fd, p, n) == (ssize_t)n);
	fuzz_check(pwrite(fd, lost, len, 0) == (ssize_t)len);
	close(fd);
}

/* What is found lies in the file and comes in order; each step goes on, so
 * that the walk ends. */
static void
walk(struct skim *s, size_t len)
{
	struct bytes payload = BYTES_INIT(INPUT_MAX);
	struct skim_entry en;
	struct err e = ERR_INIT;
	uint64_t next = 0;
	size_t steps = 0;
	int r;

	for (;; steps++) {
		fuzz_check(steps <= 2 * len + 8);
		if ((r = skim_next(s, &en, &e)) == ERR_FORMAT) {
			if (skim_pass(s, &e) != 0)
				break;
			continue;
		}
		if (r != 0)
			break;
		fuzz_check(en.frame.end <= len);
		fuzz_check(en.frame.payload_off + en.frame.payload_len ==
		    en.frame.end);
		if (!segment_is_entry(en.frame.type))
			continue;
		fuzz_check(en.frame.index + 1 > next);
		next = en.frame.index + 1;
		bytes_clear(&payload);
		if (en.frame.type == SEGMENT_RECORD) {
			r = skim_load(s, &en, &payload, &e);
			fuzz_check(r == 0 || r == ERR_FORMAT || r == ERR_LIMIT);
		}
	}
	fuzz_check(e.code == ERR_EOF || e.code == ERR_NOENT ||
	    e.code == ERR_FORMAT);
	bytes_free(&payload);
}

/* Any entry, asked for by its number, is found or is said not to be. */
static void
seek(struct skim *s, uint64_t index)
{
	struct skim_entry en;
	struct err e = ERR_INIT;
	int r;

	r = skim_seek(s, index, &e);
	fuzz_check(r == 0 || r == ERR_NOENT || r == ERR_FORMAT);
	if (r == 0)
		fuzz_check(skim_next(s, &en, &e) == 0 &&
		    en.frame.index == index);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct layout *l;
	char one[SEGMENT_NAME_MAX], two[SEGMENT_NAME_MAX] = "";
	struct skim *s = NULL;
	uint8_t *copy, *cut = NULL;
	bool is_headless;
	size_t n;
	int r;

	if (l == NULL)
		l = make_archive();
	if (len < 2 || len > INPUT_MAX)
		return 0;
	is_headless = (p[0] & 2) != 0;
	n = len - 1;
	fuzz_check((copy = malloc(n)) != NULL);
	memcpy(copy, p + 1, n);
	if (n > MAGIC_LEN)
		cut = memmem(copy + 1, n - 1, "AMBSEG01", MAGIC_LEN);
	if (cut != NULL) {
		if (p[0] % 2 == 1)
			segment_mend(cut, n - (size_t)(cut - copy));
		put_segment(l, cut, n - (size_t)(cut - copy), is_headless,
		    two);
		n = (size_t)(cut - copy);
	}
	if (p[0] % 2 == 1)
		segment_mend(copy, n);
	put_segment(l, copy, n, is_headless, one);
	/* A number above all makes a name that no segment has. */
	if ((r = skim_new(&s, l, NULL)) == 0)
		walk(s, len);
	for (uint64_t i = 0; r == 0 && i < 4; i++)
		seek(s, i);
	fuzz_check(r == 0 || r == ERR_FORMAT);
	skim_free(&s);
	fuzz_check(unlinkat(l->seg, one, 0) == 0);
	if (two[0] != '\0' && strcmp(one, two) != 0)
		fuzz_check(unlinkat(l->seg, two, 0) == 0);
	free(copy);
	return 0;
}
