/*
 * test_bytes.c - the capped buffer: its cap at the limit and one past it,
 * how it grows, and that every block it gives back was wiped.
 */
#include <sys/mman.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/bytes.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

static const char marker[] = "MARKER-0123456789";
enum { MARKER_LEN = sizeof(marker) - 1 };

/* Blocks given back, and those of them with the marker in them.  volatile: a
 * compiler knows that free() touches no variable of ours. */
static volatile int leaks, frees;

/* Where the compiler cannot see that nobody reads it. */
static char *volatile kept;

static void
on_free(const void *p, size_t size)
{
	frees++;
	if (memmem(p, size, marker, MARKER_LEN) != NULL)
		leaks++;
}

static void
watch(void)
{
	leaks = frees = 0;
	test_alloc_on_free(on_free);
}

static void
watch_ends(int want_frees)
{
	test_alloc_on_free(NULL);
	assert_int_equal(leaks, 0);
	assert_int_equal(frees, want_frees);
}

static void
test_cap(void **state)
{
	static const size_t caps[] = { 0, 1, 2, 63, 64, 65, 100, 1000, 4096,
		100000 };
	struct bytes b;
	struct err e;
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(caps); i++) {
		bytes_init(&b, caps[i]);
		for (k = 0; k < caps[i]; k++)
			assert_int_equal(bytes_append_byte(&b, (uint8_t)k, &e),
			    0);
		assert_int_equal(b.len, caps[i]);
		assert_in_range(b.size, b.len, caps[i]);
		assert_int_equal(bytes_append_byte(&b, 1, &e), ERR_LIMIT);
		test_err_is(&e, ERR_LIMIT, "do not fit");
		assert_int_equal(bytes_append(&b, "", 0, &e), 0);
		assert_int_equal(b.len, caps[i]);
		for (k = 0; k < caps[i]; k++)
			assert_int_equal(b.p[k], (uint8_t)k);
		bytes_free(&b);
		assert_null(b.p);
		assert_int_equal(b.cap, caps[i]);
	}
}

/* In one go, at the limit and one past it; what was there stays. */
static void
test_cap_at_once(void **state)
{
	struct bytes b = BYTES_INIT(1000);
	uint8_t data[1001], *at;
	struct err e;

	(void)state;
	memset(data, 'd', sizeof(data));
	assert_int_equal(bytes_append(&b, data, 1001, &e), ERR_LIMIT);
	assert_int_equal(b.len, 0);
	assert_int_equal(bytes_append(&b, data, 1000, &e), 0);
	bytes_truncate(&b, 10);
	assert_int_equal(bytes_reserve(&b, 991, NULL, &e), ERR_LIMIT);
	assert_int_equal(bytes_reserve(&b, SIZE_MAX, NULL, &e), ERR_LIMIT);
	assert_int_equal(bytes_reserve(&b, SIZE_MAX - 9, NULL, &e), ERR_LIMIT);
	assert_int_equal(bytes_reserve(&b, 990, &at, &e), 0);
	assert_ptr_equal(at, b.p + 10);
	memset(at, 'e', 990);
	bytes_added(&b, 990);
	assert_int_equal(b.len, 1000);
	assert_int_equal(bytes_reserve(&b, 1, &at, NULL), ERR_LIMIT);
	bytes_free(&b);
	/* No cap at all, and a size that no machine has. */
	bytes_init(&b, SIZE_MAX);
	assert_int_equal(bytes_reserve(&b, 1, NULL, &e), 0);
	bytes_free(&b);
}

/* Memory follows need: a large cap costs nothing, growth doubles. */
static void
test_growth(void **state)
{
	struct bytes b = BYTES_INIT((size_t)1 << 40);
	struct test_alloc t;
	size_t i;

	(void)state;
	test_alloc_start();
	for (i = 0; i < 100000; i++)
		if (bytes_append_byte(&b, 1, NULL) != 0)
			break;
	t = test_alloc_read();
	assert_int_equal(i, 100000);
	assert_in_range(t.calls, 2, 20);
	assert_in_range(t.largest, 100000, 2 * 131072);
	assert_in_range(b.size, 100000, 2 * 100000);
	bytes_free(&b);
	assert_int_equal(test_alloc_read().now, 0);
}

static void
test_wiped_when_grown(void **state)
{
	struct bytes b = BYTES_INIT(100000);
	int i;

	(void)state;
	test_alloc_start();
	assert_int_equal(bytes_append_str(&b, marker, NULL), 0);
	watch();
	for (i = 0; i < 6; i++)
		assert_int_equal(bytes_reserve(&b, b.size, NULL, NULL), 0);
	watch_ends(6);
	assert_memory_equal(b.p, marker, MARKER_LEN);
	watch();
	bytes_free(&b);
	watch_ends(1);
}

static void
test_watch_can_fail(void **state)
{
	(void)state;
	test_alloc_start();
	kept = malloc(100);
	assert_non_null(kept);
	strcpy(kept, marker);
	watch();
	free(kept);
	test_alloc_on_free(NULL);
	assert_int_equal(leaks, 1);
}

/* Content that is dropped is gone from the memory that is kept. */
static void
test_wiped_when_dropped(void **state)
{
	struct bytes b = BYTES_INIT(1000);
	uint8_t *p;

	(void)state;
	assert_int_equal(bytes_append_str(&b, marker, NULL), 0);
	assert_int_equal(bytes_append_str(&b, "tail", NULL), 0);
	p = b.p;
	bytes_consume(&b, 0);
	assert_int_equal(b.len, MARKER_LEN + 4);
	bytes_consume(&b, MARKER_LEN);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.p, "tail\0\0\0\0\0", 9);
	assert_null(memmem(p, b.size, "0123", 4));
	bytes_truncate(&b, 2);
	assert_memory_equal(b.p, "ta\0\0", 4);
	bytes_truncate(&b, 2);
	bytes_clear(&b);
	assert_int_equal(b.len, 0);
	assert_memory_equal(p, "\0\0\0\0", 4);
	assert_ptr_equal(b.p, p);
	bytes_consume(&b, 0);
	bytes_free(&b);
	bytes_clear(&b);
	bytes_free(&b);
}

static void
test_printf(void **state)
{
	struct bytes b = BYTES_INIT(10);
	struct err e;

	(void)state;
	assert_int_equal(bytes_printf(&b, &e, "%s", ""), 0);
	assert_int_equal(b.len, 0);
	assert_int_equal(bytes_printf(&b, &e, "%d-%s", 12, "ab"), 0);
	assert_memory_equal(b.p, "12-ab", 5);
	assert_int_equal(bytes_printf(&b, &e, "%06d", 1), ERR_LIMIT);
	assert_int_equal(b.len, 5);
	assert_int_equal(bytes_printf(&b, &e, "%05d", 1), 0);
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.p, "12-ab00001", 10);
	assert_int_equal(bytes_printf(&b, &e, "x"), ERR_LIMIT);
	bytes_free(&b);
	/* A wide character that the C locale cannot write. */
	assert_int_equal(bytes_printf(&b, &e, "%lc", (wint_t)0x20ac),
	    ERR_FORMAT);
	assert_int_equal(b.len, 0);
}

static void
test_terminate(void **state)
{
	struct bytes b = BYTES_INIT(4);

	(void)state;
	assert_int_equal(bytes_terminate(&b, NULL), 0);
	assert_string_equal((char *)b.p, "");
	assert_int_equal(b.len, 0);
	bytes_free(&b);
	/* The NUL does not count, not even at the cap. */
	assert_int_equal(bytes_append_str(&b, "abcd", NULL), 0);
	assert_int_equal(bytes_terminate(&b, NULL), 0);
	assert_string_equal((char *)b.p, "abcd");
	assert_int_equal(b.len, 4);
	assert_int_equal(bytes_append_byte(&b, 'e', NULL), ERR_LIMIT);
	assert_int_equal(bytes_terminate(&b, NULL), 0);
	bytes_truncate(&b, 1);
	assert_int_equal(bytes_append_str(&b, "xyz", NULL), 0);
	assert_memory_equal(b.p, "axyz", 4);
	bytes_free(&b);
}

static void
test_steal(void **state)
{
	struct bytes b = BYTES_INIT(100);
	uint8_t *p;
	size_t n = 4711;

	(void)state;
	assert_null(bytes_steal(&b, &n));
	assert_int_equal(n, 0);
	assert_int_equal(bytes_append_str(&b, "abc", NULL), 0);
	p = bytes_steal(&b, &n);
	assert_int_equal(n, 3);
	assert_memory_equal(p, "abc", 3);
	assert_null(b.p);
	assert_int_equal(b.len, 0);
	assert_int_equal(b.cap, 100);
	free(p);
	assert_int_equal(bytes_append_str(&b, "de", NULL), 0);
	assert_memory_equal(b.p, "de", 2);
	bytes_free(&b);
}

/* Whole pages go, what lies beyond stays; any number of times. */
static void
test_release(void **state)
{
	static const size_t steps[] = { 0, 1, 5000, 300000, 300001, 600000,
		1 << 20 };
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct bytes b = BYTES_INIT(1 << 20);
	unsigned char in[300];
	size_t i, j, n;

	(void)state;
	for (i = 0; i < 1 << 20; i++)
		assert_int_equal(bytes_append_byte(&b, (uint8_t)(i * 7 + 1),
		    NULL), 0);
	for (i = 0; i < TEST_COUNT(steps); i++) {
		bytes_release(&b, steps[i]);
		for (j = steps[i]; j < b.len; j++)
			if (b.p[j] != (uint8_t)(j * 7 + 1))
				fail_msg("byte %zu after %zu", j, steps[i]);
		/* But for the pages at both ends. */
		n = steps[i] / page;
		assert_int_equal(mincore((void *)((uintptr_t)b.p / page *
		    page), n * page, in), 0);
		for (j = 1; j < n; j++)
			assert_int_equal(in[j] & 1, 0);
	}
	assert_int_equal(b.len, 1 << 20);
	bytes_free(&b);
	assert_null(b.p);
	assert_int_equal(b.gone, 0);
}

/* Each allocation of a use may fail: told, and nothing lost or leaked. */
static void
test_no_memory(void **state)
{
	struct bytes b = BYTES_INIT(1000);
	struct err e;
	uint64_t nth;
	int r;

	(void)state;
	for (nth = 1;; nth++) {
		assert_true(nth < 100);
		test_alloc_fail_at(nth);
		if ((r = bytes_append_str(&b, marker, &e)) == 0 &&
		    (r = bytes_reserve(&b, 500, NULL, &e)) == 0) {
			while (b.len < b.size)
				b.p[b.len++] = 'f';
			if ((r = bytes_terminate(&b, &e)) == 0) {
				bytes_truncate(&b, MARKER_LEN);
				r = bytes_printf(&b, &e, "%0800d", 7);
			}
		}
		test_alloc_fail_at(0);
		if (r == 0)
			break;
		test_err_is(&e, ERR_NOMEM, "no memory for");
		if (b.len > 0)
			assert_memory_equal(b.p, marker, MARKER_LEN);
		bytes_free(&b);
	}
	assert_in_range(nth, 4, 10);
	bytes_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_cap_at_once),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_wiped_when_grown),
		cmocka_unit_test(test_watch_can_fail),
		cmocka_unit_test(test_wiped_when_dropped),
		cmocka_unit_test(test_printf),
		cmocka_unit_test(test_terminate),
		cmocka_unit_test(test_steal),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
