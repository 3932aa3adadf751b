/*
 * test_archive_place.c - where an archive may be and whose it is: locks, and
 * folders that are no archive or another's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/signer.h"
#include "base/identity.h"
#include "tests/archive/archive_world.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static void
test_second_writer(void **state)
{
	struct world *w = *state;
	struct archive *b = NULL;
	struct signer *s = NULL;
	struct archive_opts o;
	struct err e = ERR_INIT;
	char *lock;

	world_open(w);
	o = w->o;
	assert_int_equal(signer_local_new(&s, sample.id, NULL), 0);
	o.commit.recovery.signer = s;
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_LOCKED);
	test_err_is(&e, ERR_LOCKED, "another process");
	/* LOCK deleted: still locked, by the folder. */
	lock = test_path(w->path, "LOCK");
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_LOCKED);
	free(lock);
	world_close(w);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), 0);
	assert_int_equal(archive_close(&b, NULL), 0);
	signer_free(&s);
}

static int lock_opens;

/* LOCK becomes another file between its opening and its locking. */
static int
slippery_openat(void *arg, int dir, const char *name, int flags, mode_t mode)
{
	int fd = disk_system()->openat(arg, dir, name, flags, mode);

	if (fd != -1 && strcmp(name, "LOCK") == 0 && ++lock_opens < 3)
		assert_true(unlinkat(dir, name, 0) == 0 &&
		    close(openat(dir, name, O_RDWR | O_CREAT, 0640)) == 0);
	return fd;
}

/* What is locked in the end is the file of that name. */
static void
test_lock_replaced(void **state)
{
	struct world *w = *state;
	struct disk d = *disk_system();
	char *p;
	int fd;

	lock_opens = 0;
	d.openat = slippery_openat;
	w->o.commit.recovery.disk = &d;
	world_open(w);
	assert_int_equal(lock_opens, 3);
	p = test_path(w->path, "LOCK");
	assert_true((fd = open(p, O_RDWR)) != -1);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	close(fd);
	free(p);
	world_close(w);
}

static void
test_places(void **state)
{
	struct world *w = *state;
	struct archive *b = NULL;
	struct signer *s = NULL;
	struct archive_opts o;
	struct err e = ERR_INIT;
	char *p;

	assert_int_equal(signer_local_new(&s, sample.id, NULL), 0);
	w->o.commit.recovery.signer = s;
	o = w->o;
	o.may_create = false;
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_NOENT);
	/* A folder of other things is no place for an archive. */
	o = w->o;
	o.path = w->folder;
	p = test_path(w->folder, "letter");
	test_file_write(p, "x", 1);
	free(p);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_EXIST);
	test_err_is(&e, ERR_EXIST, "other things");
	/* Another identity's archive. */
	assert_int_equal(archive_open_writer(&b, &w->o, NULL, &e), 0);
	assert_int_equal(archive_close(&b, NULL), 0);
	o = w->o;
	o.vkey = identity_vkey(sample.other);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "another key");
	/* Another format. */
	p = test_path(w->path, "FORMAT");
	test_file_write(p, "amber archive 2\n", 16);
	assert_int_equal(archive_open_writer(&b, &w->o, NULL, &e), ERR_FORMAT);
	test_file_write(p, LAYOUT_FORMAT, strlen(LAYOUT_FORMAT));
	free(p);
	p = test_path(w->path, "seg/strange");
	test_file_write(p, "x", 1);
	assert_int_equal(archive_open_writer(&b, &w->o, NULL, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "no segment");
	free(p);
	signer_free(&s);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_second_writer),
		TEST(test_lock_replaced),
		TEST(test_places),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
