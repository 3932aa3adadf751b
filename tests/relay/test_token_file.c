/*
 * test_token_file.c - files that load, files that are refused with their
 * line, and which tokens pass.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "relay/token_file.h"

/* SHA-256 of "open sesame"; another. */
#define OPEN	"41ef4bb0b23661e66301aac36066912d" \
	"ac037827b4ae63a7b1165a5aa93ed4eb"
#define OTHER	"00000000000000000000000000000000" \
	"00000000000000000000000000000001"

static const struct { const char *name, *text, *want; } rows[] = {
	{ "one", "ada " OPEN "\n", NULL },
	{ "no line end", "ada " OPEN, NULL },
	{ "blanks and comments", "# x\n\n \tada\t" OPEN "  \r\n", NULL },
	{ "empty", "", "nobody could fetch" },
	{ "comments only", "# ada\n", "nobody could fetch" },
	{ "no hash", "\nada\n", "line 2: \"ada\" is not followed" },
	{ "short hash", "ada 41ef4b\n", "64 hex digits" },
	{ "long hash", "ada " OPEN "0\n", "64 hex digits" },
	{ "not hex", "ada zz" OPEN "\n", "64 hex digits" },
	{ "more", "ada " OPEN " x\n", "64 hex digits" },
	{ "bad name", "a:b " OPEN "\n", "line 1: a name is" },
	{ "name twice", "ada " OPEN "\nada " OTHER "\n",
	    "line 2: \"ada\" stands twice" },
	{ "hash twice", "ada " OPEN "\nbob " OPEN "\n",
	    "line 2: \"bob\" has the token of \"ada\"" },
};

static const struct { const char *value; int want; } values[] = {
	{ "Bearer open sesame", 0 },
	{ "bearer open sesame", 0 },
	{ "BEARER   open sesame", 0 },
	{ "Bearer open sesame ", -1 },
	{ "Bearer open sesam", -1 },
	{ "Bearer ", -1 },
	{ "Bearer", -1 },
	{ "Basic open sesame", -1 },
	{ "", -1 },
	{ "Bearer " OPEN, -1 },
};

static int
parse(struct token_file **t, const char *text, struct err *e)
{
	return token_file_parse(t, text, strlen(text), e);
}

static void
test_texts(void **state)
{
	struct token_file *t;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		t = NULL;
		if (parse(&t, rows[i].text, &e) != 0) {
			assert_null(t);
			test_err_is(&e, ERR_ARG, rows[i].want);
			continue;
		}
		if (rows[i].want != NULL)
			fail_msg("%s loads", rows[i].name);
		assert_int_equal(token_file_count(t), 1);
		assert_string_equal(token_file_name(t, 0), "ada");
		token_file_free(&t);
	}
}

static void
test_values(void **state)
{
	struct token_file *t;
	size_t i;

	(void)state;
	assert_int_equal(parse(&t, "ada " OPEN "\nbob " OTHER "\n", NULL), 0);
	for (i = 0; i < TEST_COUNT(values); i++)
		if (token_file_check(t, values[i].value,
			strlen(values[i].value)) != values[i].want)
			fail_msg("%s", values[i].value);
	token_file_free(&t);
}

static void
test_uses(void **state)
{
	struct token_file *t, *u;

	(void)state;
	assert_int_equal(parse(&t, "ada " OPEN "\nbob " OTHER "\n", NULL), 0);
	assert_int_equal(parse(&u, "eve " OTHER "\nada " OPEN "\n", NULL), 0);
	token_file_use(t, 0);
	token_file_use(t, 0);
	token_file_use(t, 1);
	token_file_keep_uses(u, t);
	assert_int_equal(token_file_uses(u, 0), 0);
	assert_int_equal(token_file_uses(u, 1), 2);
	token_file_free(&t);
	token_file_free(&u);
}

/* 4,096 tokens load, one more does not; the same for a name's length. */
static void
test_caps(void **state)
{
	struct bytes text = BYTES_INIT(1 << 20);
	struct token_file *t;
	char line[160];
	struct err e;
	int i;

	(void)state;
	for (i = 0; i <= TOKEN_FILE_MAX; i++) {
		if (i == TOKEN_FILE_MAX) {
			assert_int_equal(token_file_parse(&t, (char *)text.p,
					     text.len, NULL),
			    0);
			assert_int_equal(token_file_count(t), i);
			token_file_free(&t);
		}
		assert_int_equal(bytes_printf(&text, NULL, "n%d %064x\n", i,
				     i + 1),
		    0);
	}
	assert_int_equal(token_file_parse(&t, (char *)text.p, text.len, &e),
	    ERR_LIMIT);
	bytes_free(&text);
	snprintf(line, sizeof(line), "%064d " OPEN "\n", 1);
	assert_int_equal(parse(&t, line, NULL), 0);
	token_file_free(&t);
	snprintf(line, sizeof(line), "%065d " OPEN "\n", 1);
	assert_int_equal(parse(&t, line, &e), ERR_ARG);
}

static void
test_file(void **state)
{
	char *path = test_path(*state, "tokens");
	struct token_file *t;
	struct err e;

	assert_int_equal(token_file_load(&t, path, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, path);
	test_file_write(path, "ada " OPEN "\n", 69);
	assert_int_equal(token_file_load(&t, path, &e), 0);
	token_file_free(&t);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_uses),
		cmocka_unit_test(test_caps),
		cmocka_unit_test_setup_teardown(test_file, test_folder_setup,
		    test_folder_teardown),
	};

	return sodium_init() == -1 ? 1 :
				     cmocka_run_group_tests(tests, NULL, NULL);
}
