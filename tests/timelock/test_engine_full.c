/*
 * test_engine_full.c - the engine in full mode (long: one dataset is built,
 * minutes on a small machine, 2.4 GiB).
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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
	/* the algorithm is the machine's; the dataset is common to both */
	engine = checks_engine(ENGINE_FULL, ENGINE_RX0, "test key 000");
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
test_vectors(void **state)
{
	(void)state;
	assert_int_equal(checks_vectors(engine, &vectors, "test key 000"), 3);
	checks_chain(engine, &vectors, 100);
}

static void
test_agreement(void **state)
{
	static const struct vm_opts wide = { .wide = true };
	static const struct vm_opts insecure = { .insecure = true };
	struct err e = ERR_INIT;

	(void)state;
	checks_agreement(engine, NULL, 16);
	checks_agreement(engine, &wide, 16);
	checks_agreement(engine, &insecure, 16);
	assert_int_equal(engine_self_test(engine, 16, &e), 0);
}

/* Narrowing reaches the library that this program is linked with; a library
 * outside the table must not pass this test unnoticed. */
static void
test_narrow_is_on(void **state)
{
	struct engine_report r;

	(void)state;
	assert_int_equal(engine_report(engine, &r, NULL), 0);
	assert_true(r.has_narrow);
	assert_int_equal(r.memory_bytes % (2 << 20), 0);
	assert_true(r.memory_bytes <= ENGINE_DATASET_BYTES);
	assert_true(r.huge_bytes <= r.memory_bytes);
}

static void
test_wx(void **state)
{
	(void)state;
	checks_wx(engine, true);
	checks_wx(engine, false);
}

static void
test_refused(void **state)
{
	(void)state;
	for (unsigned nth = 0; nth <= 5; nth++)
		checks_refused(engine, nth);
	/* and one that is narrowed, within a later hash's worth */
	checks_refused(engine, 16);
}

static void
test_residue(void **state)
{
	(void)state;
	checks_residue(engine);
}

/* Two children with machines share the one dataset: proportional sizes over
 * the family stay near one dataset and 3 MiB a machine. */
static int
child_hashes(void *arg)
{
	const struct engine *en = arg;
	uint8_t h[ENGINE_HASH_LEN] = { 1 };
	struct vm *vm = NULL;

	if (vm_new(&vm, en, NULL, NULL) != 0)
		return 1;
	for (int i = 0; i < 8; i++)
		vm_hash(vm, h, sizeof(h), h);
	vm_retire(&vm);
	pause();
	return 0;
}

static void
test_shared_by_children(void **state)
{
	enum { CHILDREN = 2 };
	const uint64_t most = ENGINE_DATASET_BYTES +
	    CHILDREN * ENGINE_VM_BYTES + (64ULL << 20);
	pid_t pids[CHILDREN];
	uint64_t sum, one;

	(void)state;
	for (int i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		assert_int_not_equal(pids[i], -1);
		if (pids[i] == 0)
			_exit(child_hashes(engine));
	}
	/* until both have hashed: their scratchpads count */
	for (int tries = 0; tries < 600; tries++) {
		unsigned asleep = 0;

		for (int i = 0; i < CHILDREN; i++) {
			char path[64], text[512];
			FILE *f;

			snprintf(path, sizeof(path), "/proc/%d/stat",
			    (int)pids[i]);
			f = fopen(path, "r");
			assert_non_null(f);
			assert_non_null(fgets(text, sizeof(text), f));
			fclose(f);
			asleep += strstr(text, ") S ") != NULL;
		}
		if (asleep == CHILDREN)
			break;
		usleep(100 * 1000);
	}
	assert_int_equal(machine_pss(0, &sum, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		assert_int_equal(machine_pss(pids[i], &one, NULL), 0);
		sum += one;
	}
	for (int i = 0; i < CHILDREN; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	print_message("family: %llu MiB\n", (unsigned long long)(sum >> 20));
	assert_true(sum <= most);
}

/* A stray write to the dataset does not get through. */
static int
child_writes(void *arg)
{
	unsigned long from, to;
	char line[512], prot[8];
	FILE *f = fopen("/proc/self/maps", "r");

	(void)arg;
	(void)signal(SIGSEGV, SIG_DFL);		/* cmocka would catch it */

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lx-%lx %4s", &from, &to, prot) == 3 &&
		    to - from >= ENGINE_DATASET_BYTES - (4UL << 20))
			*(volatile uint8_t *)(from + (to - from) / 2) = 1;
	return 0;
}

static void
test_read_only(void **state)
{
	int status = test_child(child_writes, NULL, 60);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_int_equal(engine_recheck_digest(engine, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_agreement),
		cmocka_unit_test(test_narrow_is_on),
		cmocka_unit_test(test_wx),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_residue),
		cmocka_unit_test(test_shared_by_children),
		cmocka_unit_test(test_read_only),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
