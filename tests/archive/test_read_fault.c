/*
 * test_read_fault.c - a disk that cannot read one place of one segment: who
 * reads stops, with the system's reason, and names the segment once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/against.h"
#include "archive/epochs.h"
#include "archive/layout.h"
#include "archive/segment.h"
#include "archive/skim.h"
#include "archive/verify.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/archive/life.h"
#include "tests/test_util.h"

/* More than a reader takes at once. */
enum { RECORDS = 60, BODY = 10000, MIDDLE = 400000 };

ssize_t	__real_pread(int fd, void *p, size_t n, off_t off);
ssize_t	__wrap_pread(int fd, void *p, size_t n, off_t off);
ssize_t	__wrap___pread_chk(int fd, void *p, size_t n, off_t off, size_t size);

static ino_t	bad_file;	/* 0: the disk is good */
static off_t	bad_off;	/* from there on it fails */

ssize_t
__wrap_pread(int fd, void *p, size_t n, off_t off)
{
	struct stat st;

	if (bad_file == 0 || fstat(fd, &st) == -1 || st.st_ino != bad_file ||
	    off + (off_t)n <= bad_off)
		return __real_pread(fd, p, n, off);
	/* What comes before it is read. */
	if (off < bad_off)
		return __real_pread(fd, p, (size_t)(bad_off - off), off);
	errno = EIO;
	return -1;
}

/* What pread(2) is called where the buffer's size is known. */
ssize_t
__wrap___pread_chk(int fd, void *p, size_t n, off_t off, size_t size)
{
	assert_true(n <= size);
	return __wrap_pread(fd, p, n, off);
}

struct place {
	struct identity	*id;
	char		*path;
	struct layout	*l;
	uint64_t	*firsts;
	size_t		 n;
};

/* Two epochs, a segment each; the second stays open. */
static void
begin(struct place *p, const char *folder)
{
	struct sample_epoch ep[2];
	struct life f;

	memset(p, 0, sizeof(*p));
	p->path = test_path(folder, "a");
	assert_int_equal(identity_new(&p->id, "relay.example/log", NULL), 0);
	life_init(&f, p->id);
	life_begin(&f, p->path);
	for (uint64_t i = 0; i < 2; i++) {
		sample_epoch_make(&ep[i], p->id, i + 1);
		life_manifest(&f, &ep[i]);
		life_records(&f, &ep[i], RECORDS, BODY);
		sample_epoch_free(&ep[i]);
	}
	life_end(&f, false);
	assert_int_equal(layout_open(&p->l, p->path, NULL), 0);
	assert_int_equal(layout_list(p->l, &p->firsts, &p->n, NULL), 0);
	assert_int_equal(p->n, 2);
}

static void
end(struct place *p)
{
	bad_file = 0;
	free(p->firsts);
	layout_free(&p->l);
	identity_free(&p->id);
	free(p->path);
}

static void
fail_at(const struct place *p, size_t segment, off_t off, char name[64])
{
	char file[SEGMENT_NAME_MAX];
	struct stat st;

	segment_name(file, p->firsts[segment]);
	assert_int_equal(fstatat(p->l->seg, file, &st, 0), 0);
	assert_true(st.st_size > off);
	snprintf(name, 64, "seg/%s: ", file);
	bad_off = off;
	bad_file = st.st_ino;
}

static void
told(const struct err *e, const char *name)
{
	const char *at = strstr(e->msg, name);

	assert_int_equal(e->code, ERR_SYS);
	assert_non_null(strstr(e->msg, strerror(EIO)));
	assert_non_null(at);
	assert_null(strstr(at + 1, name));
}

static void
on_fault(void *arg, const struct walk_place *place, const struct err *why)
{
	(void)place;
	(void)why;
	++*(int *)arg;
}

static void
on_progress(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	(void)done;
	(void)all;
}

static void
on_note(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static void
test_verify(void **state)
{
	struct verify_opts o = { .on_fault = on_fault, .on_note = on_note,
		.on_progress = on_progress };
	struct verify_report report;
	struct place p;
	char name[64];
	int faults = 0;

	begin(&p, *state);
	o.layout = p.l;
	o.pin = &p.l->vkey;
	o.arg = &faults;
	for (size_t i = 0; i < p.n; i++)
		for (int at_begin = 0; at_begin < 2; at_begin++) {
			struct err e = ERR_INIT;

			assert_int_equal(against_new(&o.against, o.pin, NULL),
			    0);
			fail_at(&p, i, at_begin ? 0 : MIDDLE, name);
			assert_int_equal(verify_full(&report, &o, &e),
			    ERR_SYS);
			told(&e, name);
			bad_file = 0;
			against_free(&o.against);
		}
	assert_int_equal(faults, 0);	/* the archive's are another matter */
	end(&p);
}

static void
test_skim(void **state)
{
	struct skim_entry en;
	struct place p;
	char name[64];

	begin(&p, *state);
	for (size_t i = 0; i < p.n; i++) {
		struct err e = ERR_INIT;
		struct skim *s = NULL;
		int r;

		fail_at(&p, i, MIDDLE, name);
		assert_int_equal(skim_new(&s, p.l, NULL), 0);
		while ((r = skim_next(s, &en, &e)) == 0)
			continue;
		assert_int_equal(r, ERR_SYS);
		told(&e, name + strlen("seg/"));
		skim_free(&s);
	}
	end(&p);
}

static void
test_epochs(void **state)
{
	struct epochs epochs;
	struct place p;
	char name[64];

	begin(&p, *state);
	for (size_t i = 0; i < p.n; i++) {
		struct err e = ERR_INIT;

		fail_at(&p, i, 10, name);
		assert_int_equal(epochs_load(&epochs, p.l, &p.l->vkey, &e),
		    ERR_SYS);
		told(&e, name);
	}
	end(&p);
}

/* Opening for writing: nothing is changed, and nothing called corrupt. */
static void
test_recovery(void **state)
{
	static const off_t places[] = { 10, 80, MIDDLE };
	struct place p;
	char name[64];

	begin(&p, *state);
	for (size_t i = 0; i < TEST_COUNT(places); i++) {
		struct err e = ERR_INIT;
		struct life f;

		fail_at(&p, 1, places[i], name);
		snprintf(name, sizeof(name), "segment %llu: ",
		    (unsigned long long)p.firsts[1]);
		life_init(&f, p.id);
		assert_int_equal(life_open(&f, p.path, &e), ERR_SYS);
		told(&e, name);
	}
	end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_verify,
		    test_folder_setup, test_folder_teardown),
		cmocka_unit_test_setup_teardown(test_skim,
		    test_folder_setup, test_folder_teardown),
		cmocka_unit_test_setup_teardown(test_epochs,
		    test_folder_setup, test_folder_teardown),
		cmocka_unit_test_setup_teardown(test_recovery,
		    test_folder_setup, test_folder_teardown),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
