/*
 * test_epoch_number.c - the next number by what an archive's folder holds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/segment.h"
#include "base/identity.h"
#include "base/secret.h"
#include "relay/epoch_number.h"

static const struct {
	const char	*name;
	const char	*manifests[3];	/* of epoch/ */
	int		 segment;	/* epoch in a header; -1: no segment */
	bool		 is_damaged;	/* that header */
	uint64_t	 want;
} rows[] = {
	{ "empty", { NULL }, -1, false, 1 },
	{ "one", { "1" }, 1, false, 2 },
	{ "by number, not by name", { "9", "10", "2" }, 10, false, 11 },
	{ "durable without its file", { "4" }, 5, false, 6 },
	{ "first of all without its file", { NULL }, 1, false, 2 },
	{ "a header that does not read", { "3" }, 7, true, 4 },
};

static void
put_segment(const char *folder, uint64_t epoch, bool is_damaged)
{
	struct segment_header h = { .first = 0, .epoch = epoch };
	uint8_t buf[SEGMENT_HEADER_LEN];
	char name[SEGMENT_NAME_MAX], *path;

	segment_origin(h.origin, "test.example");
	segment_put_header(buf, &h);
	if (is_damaged)
		buf[9] ^= 1;
	segment_name(name, 0);
	path = test_path(folder, "archive/seg/%s", name);
	test_file_write(path, buf, sizeof(buf));
	free(path);
}

static void
make_archive(const char *folder, size_t row)
{
	struct identity *id;
	char *path;
	size_t i;

	assert_int_equal(identity_new(&id, "test.example", NULL), 0);
	path = test_path(folder, "archive");
	assert_int_equal(layout_create(path, identity_vkey(id),
	    disk_system(), NULL), 0);
	free(path);
	identity_free(&id);
	for (i = 0; i < 3 && rows[row].manifests[i] != NULL; i++) {
		path = test_path(folder, "archive/epoch/%s.cose",
		    rows[row].manifests[i]);
		test_file_write(path, "x", 1);
		free(path);
	}
	if (rows[row].segment >= 0)
		put_segment(folder, (uint64_t)rows[row].segment,
		    rows[row].is_damaged);
}

static void
test_rows(void **state)
{
	char *folder, *path;
	uint64_t number;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		folder = test_folder_make();
		path = test_path(folder, "archive");
		number = 0;
		assert_int_equal(epoch_number_next(path, &number, NULL), 0);
		assert_int_equal(number, 1);	/* none yet */
		make_archive(folder, i);
		assert_int_equal(epoch_number_next(path, &number, NULL), 0);
		if (number != rows[i].want)
			fail_msg("%s: %llu", rows[i].name,
			    (unsigned long long)number);
		free(path);
		test_folder_remove(folder);
		free(folder);
	}
}

/* The last number there is; and a folder that is no archive's. */
static void
test_limits(void **state)
{
	char *folder = test_folder_make(), *path, *file;
	uint64_t number = 0;
	struct err e;

	(void)state;
	make_archive(folder, 0);
	path = test_path(folder, "archive");
	file = test_path(folder, "archive/epoch/18446744073709551614.cose");
	test_file_write(file, "x", 1);
	free(file);
	assert_int_equal(epoch_number_next(path, &number, NULL), 0);
	assert_true(number == UINT64_MAX);
	file = test_path(folder, "archive/epoch/18446744073709551615.cose");
	test_file_write(file, "x", 1);
	free(file);
	assert_int_equal(epoch_number_next(path, &number, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "used up");
	file = test_path(folder, "archive/FORMAT");
	test_file_write(file, "something else\n", 15);
	free(file);
	assert_int_equal(epoch_number_next(path, &number, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "archive");
	free(path);
	test_folder_remove(folder);
	free(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_limits),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
