/*
 * test_notify.c - datagrams to a path and to an abstract name, the
 * watchdog's interval, and an environment that is clean afterwards.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test_util.h"

#include "base/err.h"
#include "relay/notify.h"

/* A service manager's socket bound to name, as NOTIFY_SOCKET has it. */
static int
listen_on(const char *name)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd != -1 && n < sizeof(sun.sun_path));
	memcpy(sun.sun_path, name, n);
	if (name[0] == '@')
		sun.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (const struct sockaddr *)&sun,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n +
	    (name[0] == '/'))), 0);
	return fd;
}

static void
check_delivery(const char *name)
{
	char got[64] = "";
	struct notify *n;
	int fd = listen_on(name);

	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(notify_new(&n, NULL), 0);
	assert_true(notify_fd(n) != -1);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_int_equal(notify_send(n, "READY=1\nSTATUS=warm\n", NULL), 0);
	assert_int_equal(recv(fd, got, sizeof(got) - 1, 0), 20);
	assert_string_equal(got, "READY=1\nSTATUS=warm\n");
	close(fd);
	assert_int_not_equal(notify_send(n, "STOPPING=1\n", NULL), 0);
	notify_free(&n);
	assert_null(n);
}

static void
test_named(void **state)
{
	char *name = test_path(*state, "notify");

	check_delivery(name);
	free(name);
}

static void
test_abstract(void **state)
{
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@amber-test-notify-%d", (int)getpid());
	check_delivery(name);
}

static void
test_none(void **state)
{
	struct notify *n;

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_new(&n, NULL), 0);
	assert_int_equal(notify_fd(n), -1);
	assert_int_equal(notify_send(n, "READY=1\n", NULL), 0);
	assert_int_equal(notify_watchdog_ms(n), 0);
	notify_free(&n);
}

static const struct { const char *name; } bad[] = {
	{ "" }, { "/" }, { "@" }, { "relative" }, { "/does/not/exist" },
	{ "/far/too/long/far/too/long/far/too/long/far/too/long/far/too/long/"
	    "far/too/long/far/too/long/far/too/long/far/too/long/far" },
};

static void
test_bad(void **state)
{
	size_t i, fds = test_fd_count();
	struct notify *n;
	struct err e;

	(void)state;
	for (i = 0; i < TEST_COUNT(bad); i++) {
		setenv("NOTIFY_SOCKET", bad[i].name, 1);
		assert_int_not_equal(notify_new(&n, &e), 0);
		assert_non_null(strstr(e.msg, "NOTIFY_SOCKET"));
	}
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(test_fd_count(), fds);
}

static const struct { const char *usec, *pid; uint64_t want; } dogs[] = {
	{ NULL, NULL, 0 },
	{ "30000000", NULL, 15000 },
	{ "1", NULL, 1 },
	{ "0", NULL, 0 },
	{ "x", NULL, 0 },
	{ "30000000", "1", 0 },
	{ "30000000", "self", 15000 },
};

static void
test_watchdog(void **state)
{
	char name[64], pid[16];
	struct notify *n;
	size_t i;
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "@amber-test-dog-%d", (int)getpid());
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	fd = listen_on(name);
	for (i = 0; i < TEST_COUNT(dogs); i++) {
		setenv("NOTIFY_SOCKET", name, 1);
		if (dogs[i].usec != NULL)
			setenv("WATCHDOG_USEC", dogs[i].usec, 1);
		if (dogs[i].pid != NULL)
			setenv("WATCHDOG_PID", strcmp(dogs[i].pid, "self") ==
			    0 ? pid : dogs[i].pid, 1);
		assert_int_equal(notify_new(&n, NULL), 0);
		assert_int_equal(notify_watchdog_ms(n), dogs[i].want);
		assert_null(getenv("WATCHDOG_USEC"));
		assert_null(getenv("WATCHDOG_PID"));
		notify_free(&n);
	}
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_named, test_folder_setup,
		    test_folder_teardown),
		cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_watchdog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
