/*
 * test_cbor_cost.c - what hostile input costs the strict reader: CPU time,
 * resident memory and allocations, each against its bound.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cbor_read.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

/* Hostile input, and the most of CPU time and memory that it may take. */
struct cost {
	const char	*name;
	const uint8_t	*p;
	size_t		 n;
	enum cbor_fault	 want;
	unsigned	 cpu_ms;	/* at most, for one run */
};

enum {
	COST_RUNS = 20,
	CPU_REFUSED_MS = 10,	/* what is refused is refused at once ... */
	/* ... and what is read costs its length.  ThreadSanitizer looks at
	 * each byte, and its shadow of them is resident too. */
	CPU_READ_MS = TEST_TSAN ? 3000 : 300,
	COST_RSS_KIB = TEST_TSAN ? 64 * 1024 : 1024,
};

static uint64_t
cpu_us(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 +
	    (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

/* In a child, whose peak of resident memory begins with what it has. */
static int
run_cost(void *arg)
{
	const struct cost *c = arg;
	struct rusage before, after;
	struct test_alloc got;
	struct cbor_read r;
	int i;

	if (getrusage(RUSAGE_SELF, &before) == -1)
		return 10;
	test_alloc_start();
	for (i = 0; i < COST_RUNS; i++) {
		cbor_read_begin(&r, c->p, c->n);
		(void)cbor_read_item(&r, NULL, NULL, NULL);
		(void)cbor_read_end(&r, NULL);
	}
	got = test_alloc_read();
	if (getrusage(RUSAGE_SELF, &after) == -1)
		return 10;
	printf("%-28s %6" PRIu64 " us, %ld KiB, %" PRIu64 " allocations\n",
	    c->name, (cpu_us(&after) - cpu_us(&before)) / COST_RUNS,
	    after.ru_maxrss - before.ru_maxrss, got.calls);
	fflush(stdout);
	if (cbor_read_fault(&r) != c->want)
		return 11;
	if (got.calls != 0)
		return 12;
	if (cpu_us(&after) - cpu_us(&before) >
	    (uint64_t)c->cpu_ms * 1000 * COST_RUNS)
		return 13;
	return after.ru_maxrss - before.ru_maxrss > COST_RSS_KIB ? 14 : 0;
}

static void
test_costs(void **state)
{
	enum { BIG = 10 << 20, DEEP = 2049, BODY = 5 };
	static const uint8_t five[] = { 0x9a, 0x08, 0x00, 0x00, 0x00 };
	static const uint8_t wraps[] = { 0x5b, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xf7, 0, 0, 0 };
	uint8_t *zeros, *array, *deep, *text;
	size_t i;

	(void)state;
	zeros = calloc(1, BIG);
	array = calloc(1, BODY + BIG);
	deep = malloc(DEEP + 1);
	text = malloc(BODY + BIG);
	assert_true(
	    zeros != NULL && array != NULL && deep != NULL && text != NULL);
	memset(zeros, 0, BIG);
	memset(array, 0, BODY + BIG);
	memcpy(array, "\x9a\x00\xa0\x00\x00", BODY);
	memset(deep, 0x81, DEEP);
	deep[DEEP] = 0;
	memset(text, 'a', BODY + BIG);
	memcpy(text, "\x7a\x00\xa0\x00\x00", BODY);
	{
		struct cost costs[] = {
			{ "9a08000000", five, sizeof(five),
			    CBOR_FAULT_ITEMS, CPU_REFUSED_MS },
			{ "10 MiB of items, bare", zeros, BIG,
			    CBOR_FAULT_TRAILING, CPU_REFUSED_MS },
			{ "10 MiB of items in an array", array, BODY + BIG,
			    CBOR_FAULT_ITEMS, CPU_REFUSED_MS },
			{ "depth 2,049", deep, DEEP + 1,
			    CBOR_FAULT_DEPTH, CPU_REFUSED_MS },
			{ "bytes of 2^64-9", wraps, sizeof(wraps),
			    CBOR_FAULT_SHORT, CPU_REFUSED_MS },
			{ "10 MiB of text", text, BODY + BIG,
			    CBOR_FAULT_NONE, CPU_READ_MS },
		};

		for (i = 0; i < TEST_COUNT(costs); i++)
			test_child_exits(run_cost, &costs[i], 0);
	}
	free(text);
	free(deep);
	free(array);
	free(zeros);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
