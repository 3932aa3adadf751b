/*
 * test_generator_child.c - the command line that a config makes, the backoff
 * of restarts, and what is said of a process that ended.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/secret.h"
#include "relay/child.h"
#include "relay/config.h"
#include "relay/generator_child.h"

static const struct {
	const char	*sets[8], *want;
} rows[] = {
	{ { "segments=8", "steps=32" },
	    "/x generate --fd 3 --origin amber.demo --epoch 7 --segments 8 "
	    "--steps 32 --mode light --epoch-length 3600000ms "
	    "--min-sealed 86400000ms --recheck auto --demo " },
	{ { "profile=production", "origin=a.example", "milestone=5",
	      "workers=3", "first_cpu=2", "algorithm=rx/0" },
	    "/x generate --fd 3 --origin a.example --epoch 7 --segments 96 "
	    "--steps 4843750 --mode full --milestone 5 --workers 3 "
	    "--first-cpu 2 --algorithm rx/0 --epoch-length 86400000ms "
	    "--min-sealed 86400000ms --recheck auto --log-json " },
};

static void
test_command_line(void **state)
{
	struct generator_child_args a;
	struct config *c;
	char text[1024];
	size_t i, j;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		assert_int_equal(config_new(&c, NULL), 0);
		for (j = 0; j < 8 && rows[i].sets[j] != NULL; j++)
			assert_int_equal(config_set(c, rows[i].sets[j], NULL),
			    0);
		assert_int_equal(generator_child_args_make(&a, "/x", c, 7,
		    NULL), 0);
		text[0] = '\0';
		for (j = 0; a.at[j] != NULL; j++) {
			strcat(text, a.at[j]);
			strcat(text, " ");
		}
		assert_string_equal(text, rows[i].want);
		generator_child_args_free(&a);
		config_free(&c);
	}
}

static void
test_backoff(void **state)
{
	uint64_t ms, last = 0;
	unsigned failures = 0, i;

	(void)state;
	assert_int_equal(child_backoff_ms(&failures, 0), CHILD_BACKOFF_MS);
	assert_int_equal(child_backoff_ms(&failures, 0),
	    2 * CHILD_BACKOFF_MS);
	for (i = 0; i < 100; i++) {
		ms = child_backoff_ms(&failures, CHILD_STEADY_MS - 1);
		assert_true(ms >= last && ms <= CHILD_BACKOFF_MAX_MS);
		last = ms;
	}
	assert_int_equal(last, CHILD_BACKOFF_MAX_MS);
	assert_int_equal(child_backoff_ms(&failures, CHILD_STEADY_MS),
	    CHILD_BACKOFF_MS);
}

static void
test_status(void **state)
{
	char text[CHILD_TEXT_MAX];

	(void)state;
	child_status_text(2 << 8, text);
	assert_string_equal(text, "left with status 2");
	child_status_text(SIGKILL, text);
	assert_string_equal(text, "was killed by signal 9 (Killed)");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_status),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
