/*
 * test_resolv_conf.c - which lines of a resolv.conf name a server.
 */
#include <stdlib.h>
#include <string.h>

#include "relay/resolv_conf.h"
#include "tests/test_util.h"

static const struct { const char *text; size_t want; } conf_rows[] = {
	{ "", 0 },
	{ "search example\noptions edns0", 0 },
	{ "nameserver 192.0.2.1", 1 },
	{ "# x\nnameserver\t192.0.2.1 \nnameserver 2001:db8::1\n", 2 },
	{ "nameserver fe80::1%eth0\r\nnameserver 192.0.2.1#x\n", 2 },
	{ "nameserver\nnameserver ns.example\nnameserver 192.0.2\n", 0 },
	{ "#nameserver 192.0.2.1\n nameserver 192.0.2.1\n", 0 },
	{ "nameserver 192.0.2.1%eth0\nnameservers 192.0.2.1\n", 0 },
};

static void
test_servers(void **state)
{
	char *folder = test_folder_make(), *path = test_path(folder, "conf");
	size_t i;

	(void)state;
	assert_int_equal(resolv_conf_servers(path), 0);
	assert_int_equal(resolv_conf_servers(folder), 0);
	for (i = 0; i < TEST_COUNT(conf_rows); i++) {
		test_file_write(path, conf_rows[i].text,
		    strlen(conf_rows[i].text));
		if (resolv_conf_servers(path) != conf_rows[i].want)
			fail_msg("row %zu", i);
	}
	test_folder_remove(folder);
	free(path);
	free(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
