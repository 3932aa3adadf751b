/*
 * test_secret.c - that a key's memory is what secret.h says: guarded,
 * locked, undumped, wiped when freed, absent in children; and that each
 * refusal of the system is told.
 */
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

static const char marker[] = "marker of a key, 32 bytes long..";
enum { MARKER_LEN = 32, SECRET_MAX = 1 << 20 };

/* What the wrapped calls do; zero is the real thing. */
static struct {
	int		 random_errno;	/* errno of the next getrandom */
	unsigned	 random_fails;	/* how often */
	bool		 random_short;	/* one byte a call */
	bool		 no_lock, no_guarded, no_sodium, no_madvise;
} fault;

ssize_t	__real_getrandom(void *p, size_t n, unsigned flags);
int	__real_mlock(const void *p, size_t n);
int	__real_madvise(void *p, size_t n, int advice);
void	*__real_sodium_malloc(size_t n);
int	__real_sodium_init(void);
ssize_t	__wrap_getrandom(void *p, size_t n, unsigned flags);
int	__wrap_mlock(const void *p, size_t n);
int	__wrap_madvise(void *p, size_t n, int advice);
void	*__wrap_sodium_malloc(size_t n);
int	__wrap_sodium_init(void);

ssize_t
__wrap_getrandom(void *p, size_t n, unsigned flags)
{
	/* No flag: GRND_NONBLOCK or another source would be a fallback. */
	assert_int_equal(flags, 0);
	if (fault.random_fails > 0) {
		fault.random_fails--;
		errno = fault.random_errno;
		return -1;
	}
	return __real_getrandom(p, fault.random_short && n > 1 ? 1 : n, flags);
}

int
__wrap_mlock(const void *p, size_t n)
{
	if (!fault.no_lock)
		return __real_mlock(p, n);
	errno = EPERM;
	return -1;
}

int
__wrap_madvise(void *p, size_t n, int advice)
{
	if (!fault.no_madvise)
		return __real_madvise(p, n, advice);
	errno = EINVAL;
	return -1;
}

void *
__wrap_sodium_malloc(size_t n)
{
	return fault.no_guarded ? NULL : __real_sodium_malloc(n);
}

int
__wrap_sodium_init(void)
{
	return fault.no_sodium ? -1 : __real_sodium_init();
}

/*
 * libsodium's own munmap is this one: it looks at the pages that are given
 * back.  A page that still has the marker has not been wiped.
 */
static const uint8_t *watched;
static int seen_wiped, seen_marker;

int	munmap(void *p, size_t n);

int
munmap(void *p, size_t n)
{
	uintptr_t from = (uintptr_t)p, at = (uintptr_t)watched;
	size_t i, left = 0;

	if (watched != NULL && at >= from && at < from + n) {
		for (i = 0; i < MARKER_LEN; i++)
			left += watched[i] != 0;
		if (left > 0)
			seen_marker++;
		else
			seen_wiped++;
		watched = NULL;
	}
	return (int)syscall(SYS_munmap, p, n);
}

static struct secret *
marked(void)
{
	struct secret *s = NULL;
	struct err e = ERR_INIT;

	if (secret_copy(&s, marker, MARKER_LEN, &e) != 0)
		fail_msg("%s", e.msg);
	return s;
}

/* The VmFlags of the mapping that holds p, from /proc/self/smaps. */
static void
vm_flags(const void *p, char out[512])
{
	unsigned long from, to, at = (unsigned long)(uintptr_t)p;
	bool is_it = false;
	char line[512];
	FILE *f;

	*out = '\0';
	f = fopen("/proc/self/smaps", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			is_it = at >= from && at < to;
		else if (is_it && strncmp(line, "VmFlags:", 8) == 0)
			snprintf(out, 512, "%s", line + 8);
	}
	fclose(f);
	assert_string_not_equal(out, "");
}

static void
test_new(void **state)
{
	static const size_t lens[] = { 1, 31, 32, 4095, 4096, 4097,
		SECRET_MAX };
	struct secret *s = NULL;
	struct err e;
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(lens); i++) {
		assert_int_equal(secret_new(&s, lens[i], &e), 0);
		assert_int_equal(s->len, lens[i]);
		for (k = 0; k < lens[i]; k++)
			assert_int_equal(s->p[k], 0);
		memset(s->p, 0xa5, s->len);
		secret_free(&s);
		assert_null(s);
		secret_free(&s);
	}
}

static int
new_in_child(void *arg)
{
	struct secret *s;

	signal(SIGABRT, SIG_DFL);
	close(STDERR_FILENO);
	return secret_new(&s, *(const size_t *)arg, NULL);
}

static void
test_size_is_asserted(void **state)
{
	size_t lens[] = { 0, SECRET_MAX + 1 };
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < TEST_COUNT(lens); i++) {
		status = test_child(new_in_child, &lens[i], 60);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

static void
test_copy_and_equal(void **state)
{
	struct secret *s = marked();

	(void)state;
	assert_memory_equal(s->p, marker, MARKER_LEN);
	assert_true(secret_is_equal(s, marker, MARKER_LEN));
	assert_false(secret_is_equal(s, marker, MARKER_LEN - 1));
	s->p[MARKER_LEN - 1] ^= 1;
	assert_false(secret_is_equal(s, marker, MARKER_LEN));
	secret_free(&s);
}

struct touch {
	struct secret	*s;
	ptrdiff_t	 off;
	bool		 is_write, then_free;
};

static int
touch_in_child(void *arg)
{
	const struct touch *t = arg;
	volatile uint8_t *p = t->s->p + t->off;
	struct secret *s = t->s;

	/* Sanitizers catch these to explain them; here they are wanted. */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	close(STDERR_FILENO);
	if (t->is_write)
		*p = (uint8_t) ~*p;
	else
		(void)*p;
	if (t->then_free)
		secret_free(&s);
	return 0;
}

static void
test_guards(void **state)
{
	static const struct {
		ptrdiff_t off;
		bool is_write, then_free, dies;
	} rows[] = {
		{ 0, false, false, false },
		{ MARKER_LEN - 1, true, true, false },
		{ MARKER_LEN, false, false, true },	/* one past the end */
		{ MARKER_LEN, true, false, true },
		{ -1, true, true, true },		/* canary, told late */
		{ -4096, false, false, true },		/* guard page before */
	};
	struct secret *s = marked();
	struct touch t = { .s = s };
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		t.off = rows[i].off;
		t.is_write = rows[i].is_write;
		t.then_free = rows[i].then_free;
		status = test_child(touch_in_child, &t, 60);
		if (rows[i].dies)
			assert_true(WIFSIGNALED(status));
		else
			assert_int_equal(status, 0);
	}
	secret_free(&s);
}

static void
test_undumped_and_locked(void **state)
{
	static const size_t lens[] = { 1, 32, 4096, 5000 };
	struct secret *s;
	char flags[512];
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(lens); i++) {
		assert_int_equal(secret_new(&s, lens[i], NULL), 0);
		vm_flags(s->p, flags);
		assert_non_null(strstr(flags, " dd"));
		/* What it says of the lock is what the kernel says; the
		 * sanitizers replace mlock(2) by nothing. */
		if (!TEST_ASAN && !TEST_TSAN)
			assert_int_equal(secret_is_locked(s),
			    strstr(flags, " lo") != NULL);
		vm_flags(s->p + lens[i] - 1, flags);
		assert_non_null(strstr(flags, " dd"));
		secret_free(&s);
	}
	/* Ordinary memory has none of it, or the look proves nothing. */
	vm_flags(flags, flags);
	assert_null(strstr(flags, " dd"));
}

/* Needs a page or two of RLIMIT_MEMLOCK; Debian grants 8 MiB. */
static void
test_lock_granted(void **state)
{
	struct secret *s = marked();

	(void)state;
	assert_true(secret_is_locked(s));
	secret_free(&s);
}

static void
test_lock_refused(void **state)
{
	struct secret *s;

	(void)state;
	fault.no_lock = true;
	s = marked();
	fault.no_lock = false;
	assert_false(secret_is_locked(s));
	secret_free(&s);
}

static void
test_wiped_on_free(void **state)
{
	struct secret *s = marked();

	(void)state;
	seen_wiped = seen_marker = 0;
	watched = s->p;
	secret_free(&s);
	assert_int_equal(seen_marker, 0);
	assert_int_equal(seen_wiped, 1);
}

static void
test_dontfork(void **state)
{
	static const size_t lens[] = { 32, 4096, 5000 };
	struct touch t = { .off = 0 };
	struct secret *s;
	struct err e;
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < TEST_COUNT(lens); i++) {
		assert_int_equal(secret_new(&s, lens[i], &e), 0);
		s->p[0] = s->p[lens[i] - 1] = 7;
		t.s = s;
		t.off = 0;
		assert_int_equal(test_child(touch_in_child, &t, 60), 0);
		assert_int_equal(secret_dontfork(s, &e), 0);
		status = test_child(touch_in_child, &t, 60);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSEGV);
		t.off = (ptrdiff_t)lens[i] - 1;
		status = test_child(touch_in_child, &t, 60);
		assert_true(WIFSIGNALED(status));
		/* The parent keeps it. */
		assert_int_equal(s->p[0], 7);
		assert_int_equal(s->p[lens[i] - 1], 7);
		secret_free(&s);
	}
	s = marked();
	fault.no_madvise = true;
	assert_int_equal(secret_dontfork(s, &e), ERR_SYS);
	fault.no_madvise = false;
	test_err_is(&e, ERR_SYS, "Invalid argument");
	secret_free(&s);
}

static void
test_fill_random(void **state)
{
	struct secret *a, *b, *none = NULL;
	uint8_t zero[64] = { 0 }, x[64] = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(secret_random(&a, 32, &e), 0);
	assert_int_equal(secret_random(&b, 32, &e), 0);
	assert_false(secret_is_equal(a, b->p, 32));
	assert_false(secret_is_equal(a, zero, 32));
	secret_free(&a);
	secret_free(&b);
	/* Interrupted, and given byte by byte. */
	fault.random_fails = 3;
	fault.random_errno = EINTR;
	fault.random_short = true;
	assert_int_equal(secret_fill_random(x, sizeof(x), &e), 0);
	fault.random_short = false;
	assert_int_equal(fault.random_fails, 0);
	assert_memory_not_equal(x, zero, 32);
	assert_memory_not_equal(x + 32, zero, 32);
	/* Refused: an error, and nothing handed over. */
	fault.random_fails = 1;
	fault.random_errno = ENOSYS;
	assert_int_equal(secret_random(&none, 32, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "getrandom");
	assert_null(none);
	fault.random_fails = 1;
	assert_int_equal(secret_fill_random(x, 1, NULL), ERR_SYS);
	assert_int_equal(secret_fill_random(x, 0, &e), 0);
}

static void
test_no_memory(void **state)
{
	struct secret *s = NULL;
	struct err e;

	(void)state;
	test_alloc_fail_at(1);
	assert_int_equal(secret_new(&s, 32, &e), ERR_NOMEM);
	test_alloc_fail_at(0);
	assert_null(s);
	fault.no_guarded = true;
	assert_int_equal(secret_new(&s, 32, &e), ERR_NOMEM);
	test_err_is(&e, ERR_NOMEM, "guarded");
	assert_int_equal(secret_copy(&s, marker, MARKER_LEN, &e), ERR_NOMEM);
	assert_int_equal(secret_random(&s, 32, &e), ERR_NOMEM);
	fault.no_guarded = false;
	assert_null(s);
}

static void
test_init(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(secret_init(&e), 0);
	assert_int_equal(secret_init(&e), 0);
	fault.no_sodium = true;
	assert_int_equal(secret_init(&e), ERR_CRYPTO);
	fault.no_sodium = false;
	test_err_is(&e, ERR_CRYPTO, "libsodium");
}

static void
test_wipe_macro(void **state)
{
	struct {
		uint8_t key[48];
		uint64_t n;
	} obj;
	uint8_t zero[sizeof(obj)] = { 0 };

	(void)state;
	memset(&obj, 0xff, sizeof(obj));
	WIPE(obj);
	assert_memory_equal(&obj, zero, sizeof(obj));
}

static int
setup(void **state)
{
	(void)state;
	return secret_init(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_size_is_asserted),
		cmocka_unit_test(test_copy_and_equal),
		cmocka_unit_test(test_guards),
		cmocka_unit_test(test_undumped_and_locked),
		cmocka_unit_test(test_lock_granted),
		cmocka_unit_test(test_lock_refused),
		cmocka_unit_test(test_wiped_on_free),
		cmocka_unit_test(test_dontfork),
		cmocka_unit_test(test_fill_random),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_wipe_macro),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
