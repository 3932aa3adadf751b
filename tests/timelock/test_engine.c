/*
 * test_engine.c - the engine in light mode, and what needs no dataset.
 *
 * One light engine (256 MiB) serves all tests.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/engine_checks.h"
#include "timelock/machine.h"

static struct rx_vectors vectors;
static struct engine *engine;

static int
group_setup(void **state)
{
	(void)state;
	if (secret_init(NULL) != 0)
		return -1;
	rx_vectors_load(&vectors);
	engine = checks_engine(ENGINE_LIGHT, ENGINE_RX0, "test key 000");
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	engine_free(&engine);
	return 0;
}

static void
test_algorithms(void **state)
{
	static const struct {
		const char *name;
		int	    want;
		enum engine_algorithm a;
	} rows[] = {
		{ "rx/0", 0, ENGINE_RX0 },
		{ "rx/2", 0, ENGINE_RX2 },
		{ "rx/1", ERR_ARG, 0 },
		{ "", ERR_ARG, 0 },
		{ "rx/0 ", ERR_ARG, 0 },
		{ "RX/0", ERR_ARG, 0 },
	};
	enum engine_algorithm a;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		assert_int_equal(engine_algorithm_parse(rows[i].name, &a, &e),
		    rows[i].want);
		if (rows[i].want != 0)
			continue;
		assert_int_equal(a, rows[i].a);
		assert_string_equal(engine_algorithm_name(a), rows[i].name);
	}
	assert_int_equal(engine_has_algorithm(ENGINE_RX0, &e), 0);
	assert_int_equal(engine_newest_algorithm(&a, &e), 0);
#if AMBER_RANDOMX_V2
	assert_int_equal(engine_has_algorithm(ENGINE_RX2, &e), 0);
	assert_int_equal(a, ENGINE_RX2);
#else
	assert_int_equal(engine_has_algorithm(ENGINE_RX2, &e),
	    ERR_UNSUPPORTED);
	test_err_is(&e, ERR_UNSUPPORTED, "rx/2");
	assert_int_equal(a, ENGINE_RX0);
#endif
}

static void
test_vectors(void **state)
{
	(void)state;
	assert_int_equal(checks_vectors(engine, &vectors, "test key 000"), 3);
	checks_chain(engine, &vectors, 8);
}

/* Another key, and every other algorithm of the library. */
static void
test_vectors_more(void **state)
{
	struct engine *en;

	(void)state;
	en = checks_engine(ENGINE_LIGHT, ENGINE_RX0, "test key 001");
	assert_int_equal(checks_vectors(en, &vectors, "test key 001"), 2);
	engine_free(&en);
	assert_null(en);
#if AMBER_RANDOMX_V2
	en = checks_engine(ENGINE_LIGHT, ENGINE_RX2, "test key 000");
	assert_int_equal(checks_vectors(en, &vectors, "test key 000"), 3);
	checks_chain(en, &vectors, 8);
	engine_free(&en);
	en = checks_engine(ENGINE_LIGHT, ENGINE_RX2, "test key 001");
	assert_int_equal(checks_vectors(en, &vectors, "test key 001"), 2);
	engine_free(&en);
#endif
}

static void
test_report(void **state)
{
	struct engine_report r;
	struct machine m;

	(void)state;
	assert_int_equal(engine_report(engine, &r, NULL), 0);
	assert_int_equal(r.mode, ENGINE_LIGHT);
	assert_int_equal(r.algorithm, ENGINE_RX0);
	assert_int_equal(r.memory_bytes, ENGINE_CACHE_BYTES);
	assert_true(r.huge_bytes <= r.memory_bytes);
	assert_false(r.has_narrow);
	assert_true(r.build_s > 0 && r.check_s > 0);
	assert_int_equal(machine_read(&m, NULL), 0);
	assert_int_equal(r.threads, m.cpus_allowed);
}

static void
test_self_test(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	if (engine_self_test(engine, 16, &e) != 0)
		fail_msg("%s", e.msg);
}

static void
test_wx(void **state)
{
	(void)state;
	checks_wx(engine, false);
}

static void
test_refused(void **state)
{
	(void)state;
	for (unsigned nth = 0; nth <= 5; nth++)
		checks_refused(engine, nth);
}

static void
test_residue(void **state)
{
	(void)state;
	checks_residue(engine);
}

/* The memory is read-only, and a bit that changed in it is found. */
static uint8_t *
readonly_memory(size_t *len)
{
	unsigned long from, to;
	char line[512], prot[8];
	FILE *f = fopen("/proc/self/maps", "r");
	uint8_t *p = NULL;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lx-%lx %4s", &from, &to, prot) == 3 &&
		    to - from == ENGINE_CACHE_BYTES &&
		    strcmp(prot, "r--p") == 0) {
			p = (uint8_t *)from;
			*len = to - from;
		}
	fclose(f);
	return p;
}

static void
test_digest(void **state)
{
	size_t len = 0;
	uint8_t *p = readonly_memory(&len);
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(p);
	assert_int_equal(engine_recheck_digest(engine, &e), 0);
	assert_int_equal(mprotect(p, len, PROT_READ | PROT_WRITE), 0);
	p[len / 3] ^= 0x10;
	assert_int_equal(engine_recheck_digest(engine, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "memory");
	p[len / 3] ^= 0x10;
	assert_int_equal(mprotect(p, len, PROT_READ), 0);
	assert_int_equal(engine_recheck_digest(engine, &e), 0);
}

static size_t
count_threads(void)
{
	return test_folder_count("/proc/self/task");
}

static void
on_progress(void *arg, double share)
{
	double *last = arg;

	assert_true(share >= *last && share <= 1.0);
	*last = share;
}

/* Stopped at once: no dataset, no thread, nothing left. */
static void
test_cancel(void **state)
{
	static volatile sig_atomic_t stop = 1;
	double share = 0;
	struct engine_opts o = { .mode = ENGINE_FULL, .algorithm = ENGINE_RX0,
		.key = (const uint8_t *)"k", .key_len = 1, .threads = 2,
		.on_progress = on_progress, .arg = &share, .stop = &stop };
	struct engine *en = NULL;
	struct err e = ERR_INIT;
	size_t before = count_threads();

	(void)state;
	if (engine_memory_fits(ENGINE_FULL, 1, NULL) != 0) {
		/* ... then that is the error, and it comes first */
		assert_int_equal(engine_new(&en, &o, &e), ERR_NOMEM);
		return;
	}
	assert_int_equal(engine_new(&en, &o, &e), ERR_CANCEL);
	test_err_is(&e, ERR_CANCEL, "stopped");
	assert_null(en);
	assert_true(share < 1.0);
	assert_int_equal(count_threads(), before);
}

/* Out of address space: both sizes are named.  In a child. */
static int
child_no_memory(void *arg)
{
	static const char key[] = "k";
	struct rlimit lim = { 64 << 20, 64 << 20 };
	struct engine_opts o = { .mode = *(enum engine_mode *)arg,
		.algorithm = ENGINE_RX0, .key = (const uint8_t *)key,
		.key_len = 1 };
	struct engine *en = NULL;
	struct err e = ERR_INIT;

	if (setrlimit(RLIMIT_AS, &lim) != 0)
		return 1;
	if (engine_new(&en, &o, &e) != ERR_NOMEM || en != NULL)
		return 2;
	if (strstr(e.msg, "available") == NULL)
		return 3;
	if (o.mode == ENGINE_FULL &&
	    (strstr(e.msg, "2,080") == NULL || strstr(e.msg, "256") == NULL))
		return 4;
	if (o.mode == ENGINE_LIGHT && strstr(e.msg, "needs 259 MiB") == NULL)
		return 5;
	return 0;
}

static void
test_no_memory(void **state)
{
	enum engine_mode modes[] = { ENGINE_LIGHT, ENGINE_FULL };
	uint64_t have = 0;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(modes); i++)
		test_child_exits(child_no_memory, &modes[i], 0);
	assert_int_equal(engine_memory_available(&have, NULL), 0);
	assert_true(have > 0);
}

/* As many machines as the pool has records, then a clear error. */
static void
test_many_machines(void **state)
{
	enum { MANY = 12 };
	struct vm *all[MANY] = { NULL };
	uint8_t a[ENGINE_HASH_LEN], b[ENGINE_HASH_LEN];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(vm_new(&all[i], engine, NULL, NULL), 0);
	vm_hash(all[0], "x", 1, a);
	vm_hash(all[MANY - 1], "x", 1, b);
	assert_memory_equal(a, b, sizeof(a));
	for (size_t i = 0; i < MANY; i++)
		vm_free(&all[i]);
	vm_free(&all[0]);		/* NULL: nothing */
	vm_retire(&all[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_algorithms),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_vectors_more),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_self_test),
		cmocka_unit_test(test_wx),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_residue),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_many_machines),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
