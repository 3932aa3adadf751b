/*
 * memory_search.c - see memory_search.h.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/memory_search.h"
#include "tests/test_util.h"

enum { CHUNK = 1 << 16 };

static size_t
count_in(const uint8_t *buf, size_t len, const void *p, size_t n)
{
	const uint8_t *at = buf, *end = buf + len;
	size_t found = 0;

	while ((at = memmem(at, (size_t)(end - at), p, n)) != NULL) {
		found++;
		at++;
	}
	return found;
}

/* Chunks overlap, so that nothing hides between two; what is counted twice
 * for it is of no matter to whoever asks whether it is there. */
static size_t
count_region(int mem, uint64_t from, uint64_t to, const void *p, size_t n)
{
	static uint8_t buf[CHUNK];
	uint64_t at;
	size_t want, found = 0;
	ssize_t got;

	for (at = from; at < to; at += CHUNK - n) {
		want = to - at < CHUNK ? (size_t)(to - at) : CHUNK;
		got = pread(mem, buf, want, (off_t)at);
		if (got > 0)
			found += count_in(buf, (size_t)got, p, n);
		if (want < CHUNK)
			break;
	}
	return found;
}

size_t
memory_search_count(pid_t pid, const void *p, size_t n)
{
	char path[64], line[512], perm[8];
	uint64_t from, to;
	size_t found = 0, regions = 0;
	FILE *maps;
	int mem;

	(void)snprintf(path, sizeof(path), "/proc/%ld/mem", (long)pid);
	assert_int_not_equal(mem = open(path, O_RDONLY | O_CLOEXEC), -1);
	(void)snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	assert_non_null(maps = fopen(path, "re"));
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &from, &to,
		    perm) != 3 || perm[0] != 'r' ||
		    strstr(line, "[vvar]") != NULL)
			continue;
		/* A sanitizer's shadow is terabytes of holes. */
		if (to - from > UINT64_C(1) << 32)
			continue;
		found += count_region(mem, from, to, p, n);
		regions++;
	}
	(void)fclose(maps);
	close(mem);
	assert_true(regions > 0);
	return found;
}
