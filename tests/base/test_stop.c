/*
 * test_stop.c - signals in a child of its own: the flag, the second signal,
 * and who is started by nohup(1).
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stop.h"
#include "tests/test_util.h"

/* Its exit status: bit 0 before any signal, 1 after the last one. */
static int
child_of(void (*catch)(void), int sig, bool is_ignored, int times)
{
	int status, was;
	pid_t pid;

	if ((pid = fork()) == 0) {
		(void)signal(sig, is_ignored ? SIG_IGN : SIG_DFL);
		catch ();
		was = *stop_flag() != 0;
		for (int i = 0; i < times; i++)
			(void)raise(sig);
		_exit(was | (*stop_flag() != 0) << 1);
	}
	assert_int_not_equal(pid, -1);
	while (waitpid(pid, &status, 0) == -1)
		assert_int_equal(errno, EINTR);
	return status;
}

static int
child(int sig, bool is_ignored, int times)
{
	return child_of(stop_catch, sig, is_ignored, times);
}

static void
test_signals(void **state)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(sigs); i++) {
		int status = child(sigs[i], false, 1);

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 2);
		status = child(sigs[i], false, 2);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), sigs[i]);
	}
}

static void
test_nohup(void **state)
{
	int status = child(SIGHUP, true, 3);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* Only that one: a shell's background job can still be stopped. */
	status = child(SIGINT, true, 1);
	assert_int_equal(WEXITSTATUS(status), 2);
	status = child(SIGTERM, true, 1);
	assert_int_equal(WEXITSTATUS(status), 2);
}

/* However often it is asked: it is the program's to end. */
static void
test_always(void **state)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };
	int status;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(sigs); i++) {
		status = child_of(stop_catch_always, sigs[i], false, 3);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 2);
	}
	status = child_of(stop_catch_always, SIGHUP, true, 3);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_nohup),
		cmocka_unit_test(test_always),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
