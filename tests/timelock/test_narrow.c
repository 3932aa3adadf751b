/*
 * test_narrow.c - the interposed calls without RandomX: a buffer that changes
 * its permissions as the library's JIT would.
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "timelock/machine.h"
#include "timelock/narrow.h"

enum { RW = PROT_READ | PROT_WRITE, RX = PROT_READ | PROT_EXEC };

#if defined(__x86_64__)
enum { LENGTH = 77824, AREA = 12288, OTHER_LENGTH = 81920, OTHER = 16384 };
#elif defined(__aarch64__)
enum { LENGTH = 79772, AREA = 16384, OTHER_LENGTH = 86928, OTHER = 24576 };
#else
#error "no JIT layout is known for this CPU"
#endif

/* Protection of the page at p as /proc/self/maps tells it: "r-x". */
static void
prot_is(const uint8_t *p, const char *want)
{
	uintptr_t from, to, at = (uintptr_t)p;
	char line[512], prot[8] = "none";
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to,
			prot) == 3 &&
		    from <= at && at < to)
			break;
	fclose(f);
	prot[3] = '\0';
	assert_string_equal(prot, want);
}

/* Where the mapping that holds p ends. */
static uint8_t *
mapping_end(const uint8_t *p)
{
	uintptr_t from, to, at = (uintptr_t)p, end = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) ==
			2 &&
		    from <= at && at < to)
			end = to;
	fclose(f);
	return (uint8_t *)end;
}

static uint8_t *
buffer_new(size_t len)
{
	uint8_t *p = mmap(NULL, len, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static struct narrow *
record_new(unsigned flags)
{
	struct narrow *n = NULL;

	assert_int_equal(narrow_open(&n, flags, NULL), 0);
	return n;
}

/* One change of the whole buffer by "the library". */
static void
set(struct narrow *n, void *p, size_t len, int prot)
{
	narrow_enter(n);
	assert_int_equal(mprotect(p, len, prot), 0);
	narrow_leave();
}

static void
counts_are(const struct narrow *n, unsigned changes, unsigned narrowed)
{
	struct narrow_counts c;

	narrow_count(n, &c);
	assert_int_equal(c.changes, changes);
	assert_int_equal(c.narrowed, narrowed);
}

static void
test_table(void **state)
{
	static const struct {
		unsigned	generation;
		size_t		length, area;
	} rows[] = {
		{ 0, LENGTH, 0 },
		{ 0, OTHER_LENGTH, 0 },
		{ 1, LENGTH, AREA },
		{ 1, LENGTH - 1, 0 },
		{ 1, LENGTH + 1, 0 },
		{ 1, LENGTH + 4096, 0 },
		{ 1, OTHER_LENGTH, 0 },
		{ 1, 0, 0 },
		{ 2, LENGTH, 0 },
		{ 2, OTHER_LENGTH, OTHER },
		{ 3, LENGTH, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		narrow_set_library(rows[i].generation);
		assert_int_equal(narrow_area(rows[i].length), rows[i].area);
	}
	narrow_set_library(1);
}

static void
test_narrows_after_whole(void **state)
{
	struct narrow *n = record_new(NARROW_ALLOWED);
	uint8_t *p = buffer_new(LENGTH);

	(void)state;
	/* writable first, as the library does: whole */
	set(n, p, LENGTH, RW);
	prot_is(p + LENGTH - 1, "rw-");
	/* the first to executable: whole, the epilogue is at the end */
	set(n, p, LENGTH, RX);
	prot_is(p, "r-x");
	prot_is(p + LENGTH - 1, "r-x");
	counts_are(n, 2, 0);
	/* the program area is a mapping of its own, to stay one */
	assert_ptr_equal(mapping_end(p), p + AREA);
	/* from here the program area alone */
	set(n, p, LENGTH, RW);
	prot_is(p, "rw-");
	prot_is(p + AREA - 1, "rw-");
	prot_is(p + AREA, "r-x");
	prot_is(p + LENGTH - 1, "r-x");
	set(n, p, LENGTH, RX);
	prot_is(p, "r-x");
	prot_is(p + AREA - 1, "r-x");
	assert_ptr_equal(mapping_end(p), p + AREA);
	counts_are(n, 4, 2);
	/* another length at the same place is another buffer */
	set(n, p, LENGTH - 4096, RW);
	prot_is(p + AREA, "rw-");
	counts_are(n, 5, 2);
	assert_int_equal(munmap(p, LENGTH), 0);
	narrow_close(&n);
}

static void
test_not_narrowed(void **state)
{
	static const struct {
		const char	*name;
		unsigned	 flags;
		size_t		 length;
		unsigned	 generation;
		bool		 disarm;
	} rows[] = {
		{ "not allowed", 0, LENGTH, 1, false },
		{ "disarmed", NARROW_ALLOWED, LENGTH, 1, true },
		{ "unknown layout", NARROW_ALLOWED, LENGTH + 4096, 1, false },
		{ "unknown library", NARROW_ALLOWED, LENGTH, 0, false },
		{ "other library", NARROW_ALLOWED, LENGTH, 2, false },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct narrow *n = record_new(rows[i].flags);
		uint8_t *p = buffer_new(rows[i].length);

		narrow_set_library(rows[i].generation);
		if (rows[i].disarm)
			narrow_disarm(n);
		for (int k = 0; k < 3; k++) {
			set(n, p, rows[i].length, RW);
			prot_is(p + rows[i].length - 1, "rw-");
			set(n, p, rows[i].length, RX);
			prot_is(p + rows[i].length - 1, "r-x");
		}
		counts_are(n, 6, 0);
		munmap(p, rows[i].length);
		narrow_close(&n);
	}
	narrow_set_library(1);
}

/* Armed, then given a cache: whole again, at once. */
static void
test_disarm_while_armed(void **state)
{
	struct narrow *n = record_new(NARROW_ALLOWED);
	uint8_t *p = buffer_new(LENGTH);

	(void)state;
	set(n, p, LENGTH, RX);
	set(n, p, LENGTH, RW);
	prot_is(p + AREA, "r-x");
	narrow_disarm(n);
	set(n, p, LENGTH, RW);
	prot_is(p + AREA, "rw-");
	set(n, p, LENGTH, RX);
	set(n, p, LENGTH, RW);
	prot_is(p + AREA, "rw-");
	counts_are(n, 5, 1);
	munmap(p, LENGTH);
	narrow_close(&n);
}

/* A new buffer at the old one's address must be seen whole again. */
static void
test_forgotten_at_munmap(void **state)
{
	static const struct {
		const char	*name;
		size_t		 off, len;
	} rows[] = {
		{ "all of it", 0, LENGTH },
		{ "its first page", 0, 4096 },
		{ "its last page", LENGTH / 4096 * 4096 - 4096, 4096 },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct narrow *n = record_new(NARROW_ALLOWED);
		uint8_t *p = buffer_new(LENGTH), *q;

		set(n, p, LENGTH, RX);
		set(n, p, LENGTH, RW);
		counts_are(n, 2, 1);
		assert_int_equal(munmap(p + rows[i].off, rows[i].len), 0);
		q = mmap(p, LENGTH, RW,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		assert_ptr_equal(q, p);
		set(n, p, LENGTH, RW);
		prot_is(p + AREA, "rw-");
		counts_are(n, 3, 1);
		munmap(p, LENGTH);
		narrow_close(&n);
	}
}

/* Outside a window nothing is changed, counted or refused: what libsodium's
 * guarded memory does, and anything else in the process. */
static unsigned hook_calls;

static int
hook_count(const struct narrow_change *c)
{
	(void)c;
	hook_calls++;
	return 0;
}

static void
test_other_callers(void **state)
{
	struct narrow *n = record_new(NARROW_ALLOWED | NARROW_HUGE);
	uint8_t *p = buffer_new(LENGTH), *s;
	struct narrow_range ranges[NARROW_RANGES];

	(void)state;
	set(n, p, LENGTH, RX);		/* armed: the strongest case */
	narrow_hook = hook_count;
	hook_calls = 0;
	s = sodium_malloc(LENGTH);
	assert_non_null(s);
	memset(s, 0x5a, LENGTH);
	assert_int_equal(sodium_mprotect_noaccess(s), 0);
	prot_is(s, "---");
	prot_is(s + LENGTH - 1, "---");
	assert_int_equal(sodium_mprotect_readonly(s), 0);
	prot_is(s + LENGTH - 1, "r--");
	assert_int_equal(sodium_mprotect_readwrite(s), 0);
	prot_is(s, "rw-");
	assert_int_equal(s[LENGTH - 1], 0x5a);
	sodium_free(s);
	/* even the very buffer, by someone else, is theirs whole */
	assert_int_equal(mprotect(p, LENGTH, RW), 0);
	prot_is(p + LENGTH - 1, "rw-");
	/* and errors are the system's, not an exit */
	errno = 0;
	assert_int_equal(mprotect(p + 1, 4096, RW), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(munmap(p + 1, 0), -1);
	assert_int_equal(hook_calls, 0);
	counts_are(n, 1, 0);
	assert_int_equal(narrow_ranges(n, 0, ranges), 0);
	narrow_hook = NULL;
	munmap(p, LENGTH);
	narrow_close(&n);
}

static void
test_memalign(void **state)
{
	static const struct {
		size_t	align, len;
		int	want;
	} rows[] = {
		{ 8, 1, 0 },
		{ 64, 0, 0 },
		{ 64, 100, 0 },
		{ 4096, 5000, 0 },
		{ 4, 64, EINVAL },
		{ 0, 64, EINVAL },
		{ 24, 64, EINVAL },
		{ 64, SIZE_MAX - 62, ENOMEM },
		{ 64, SIZE_MAX, ENOMEM },
#if !TEST_ASAN && !TEST_TSAN
		{ 64, SIZE_MAX / 2, ENOMEM },	/* they would stop the test */
#endif
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		void *p = (void *)1;
		int r;

		errno = 1234;
		r = posix_memalign(&p, rows[i].align, rows[i].len);
		assert_int_equal(r, rows[i].want);
		assert_int_equal(errno, 1234);
		if (r != 0) {
			assert_ptr_equal(p, (void *)1);
			continue;
		}
		assert_int_equal((uintptr_t)p % rows[i].align, 0);
		memset(p, 0xa5, rows[i].len);
		free(p);
	}
}

static void
test_memalign_in_window(void **state)
{
	static const struct {
		unsigned	flags;
		size_t		len;
		bool		is_aligned;
	} rows[] = {
		{ NARROW_HUGE, 2 << 20, true },
		{ NARROW_HUGE, (2 << 20) + 64, true },
		{ NARROW_ORDINARY, 2 << 20, true },
		{ NARROW_HUGE, (2 << 20) - 1, false },
	};
	struct narrow_range ranges[NARROW_RANGES];
	struct machine m;
	uint64_t huge;

	(void)state;
	assert_int_equal(machine_read(&m, NULL), 0);
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct narrow *n = record_new(rows[i].flags);
		void *p = NULL;

		narrow_enter(n);
		assert_int_equal(posix_memalign(&p, 64, rows[i].len), 0);
		narrow_leave();
		assert_int_equal(narrow_ranges(n, 0, ranges), 1);
		assert_ptr_equal(ranges[0].p, p);
		assert_int_equal(ranges[0].len, rows[i].len);
		assert_int_equal(narrow_ranges(n, rows[i].len + 1, ranges), 0);
		memset(p, 0xa5, rows[i].len);
		if (rows[i].is_aligned)
			assert_int_equal((uintptr_t)p % (2 << 20), 0);
		assert_int_equal(machine_huge_bytes(p, rows[i].len, &huge,
		    NULL), 0);
		if (rows[i].flags == NARROW_ORDINARY)
			assert_int_equal(huge, 0);
		else if (rows[i].is_aligned && huge == 0 &&
		    strcmp(m.thp, "never") != 0)
			print_message("no huge page was to be had\n");
		narrow_wipe(n, 0);
		for (size_t k = 0; k < rows[i].len; k++)
			assert_int_equal(((uint8_t *)p)[k], 0);
		narrow_close(&n);
		free(p);
	}
}

static void
test_public_is_not_wiped(void **state)
{
	struct narrow *n = record_new(NARROW_PUBLIC);
	void *p = NULL;

	(void)state;
	narrow_enter(n);
	assert_int_equal(posix_memalign(&p, 64, 4096), 0);
	narrow_leave();
	memset(p, 0xa5, 4096);
	narrow_wipe(n, 0);
	assert_int_equal(((uint8_t *)p)[4095], 0xa5);
	narrow_close(&n);
	free(p);
}

static void
test_pool(void **state)
{
	struct narrow *all[NARROW_RECORDS], *more = NULL;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NARROW_RECORDS; i++)
		all[i] = record_new(0);
	assert_int_equal(narrow_open(&more, 0, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "256");
	narrow_close(&all[17]);
	assert_null(all[17]);
	all[17] = record_new(NARROW_ALLOWED);
	for (size_t i = 0; i < NARROW_RECORDS; i++)
		narrow_close(&all[i]);
	narrow_close(&more);
}

/* --- refusals, each in a child -------------------------------------------- */

struct shared {
	volatile int	wipe_calls;
	volatile int	is_clean;	/* the record's memory, when called */
};
static struct shared *shared;
static uint8_t *victim;

static void
wipe_own(void)
{
	shared->wipe_calls++;
	shared->is_clean = 1;
	for (size_t i = 0; i < 4096; i++)
		if (victim[i] != 0)
			shared->is_clean = 0;
}

static int
hook_refuse(const struct narrow_change *c)
{
	return c->is_done ? 0 : EPERM;
}

/* What goes wrong in the child. */
enum fault { FAULT_HOOK, FAULT_KERNEL, FAULT_WX };

static int
child_refused(void *arg)
{
	enum fault fault = *(enum fault *)arg;
	struct narrow *n = NULL;
	uint8_t *p;
	void *m = NULL;

	if (narrow_open(&n, NARROW_ALLOWED, NULL) != 0)
		return 1;
	p = mmap(NULL, LENGTH, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	narrow_enter(n);
	if (p == MAP_FAILED || posix_memalign(&m, 64, 4096) != 0)
		return 2;
	victim = m;
	memset(victim, 0xa5, 4096);
	narrow_on_refused(wipe_own);
	(void)close(STDERR_FILENO);
	if (fault == FAULT_HOOK)
		narrow_hook = hook_refuse;
	if (fault == FAULT_KERNEL)
		(void)mprotect(p + 1, LENGTH, RX);
	else if (fault == FAULT_WX)
		(void)mprotect(p, LENGTH, RW | PROT_EXEC);
	else
		(void)mprotect(p, LENGTH, RX);
	return 3;			/* it came back */
}

static void
test_refused(void **state)
{
	static const enum fault faults[] = { FAULT_HOOK, FAULT_KERNEL,
		FAULT_WX };

	(void)state;
	shared = mmap(NULL, sizeof(*shared), RW, MAP_SHARED | MAP_ANONYMOUS,
	    -1, 0);
	assert_true(shared != MAP_FAILED);
	for (size_t i = 0; i < TEST_COUNT(faults); i++) {
		enum fault fault = faults[i];

		memset(shared, 0, sizeof(*shared));
		test_child_exits(child_refused, &fault, NARROW_EXIT_REFUSED);
		assert_int_equal(shared->wipe_calls, 1);
		assert_int_equal(shared->is_clean, 1);
	}
	munmap(shared, sizeof(*shared));
}

/* bench's insecure machines alone may have pages writable and executable. */
static void
test_insecure(void **state)
{
	struct narrow *n = record_new(NARROW_INSECURE);
	uint8_t *p = buffer_new(LENGTH);

	(void)state;
	set(n, p, LENGTH, RW | PROT_EXEC);
	prot_is(p, "rwx");
	munmap(p, LENGTH);
	narrow_close(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_narrows_after_whole),
		cmocka_unit_test(test_not_narrowed),
		cmocka_unit_test(test_disarm_while_armed),
		cmocka_unit_test(test_forgotten_at_munmap),
		cmocka_unit_test(test_other_callers),
		cmocka_unit_test(test_memalign),
		cmocka_unit_test(test_memalign_in_window),
		cmocka_unit_test(test_public_is_not_wiped),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_insecure),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
