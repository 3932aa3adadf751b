/*
 * life.c - see life.h.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/signer.h"
#include "base/identity.h"
#include "tests/archive/life.h"
#include "tests/test_util.h"

enum { BATCH_MAX = COMMIT_BATCH_RECORDS };

static int
no_sync(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	return 0;
}

const struct disk *
life_disk(void)
{
	static struct disk d;

	d = *disk_system();
	d.fsync = no_sync;
	d.fdatasync = no_sync;
	return &d;
}

static void
on_fatal(const struct err *why, void *arg)
{
	struct life *f = arg;

	f->fatals++;
	f->fatal = *why;
}

void
life_init(struct life *f, const struct identity *id)
{
	memset(f, 0, sizeof(*f));
	f->id = id;
	f->o.recovery.disk = life_disk();
	f->o.on_fatal = on_fatal;
	f->o.fatal_arg = f;
}

int
life_open(struct life *f, const char *path, struct err *e)
{
	int r;

	r = layout_open(&f->l, path, e);
	if (r == ERR_NOENT) {
		assert_int_equal(layout_create(path, identity_vkey(f->id),
				     f->o.recovery.disk, NULL),
		    0);
		r = layout_open(&f->l, path, e);
	}
	if (r != 0)
		return r;
	assert_int_equal(layout_lock(f->l, disk_system(), NULL), 0);
	if (f->o.recovery.signer == NULL) {
		assert_int_equal(signer_local_new(&f->signer, f->id, NULL), 0);
		f->o.recovery.signer = f->signer;
	}
	if ((r = commit_new(&f->c, f->l, &f->o, &f->report, e)) != 0)
		life_end(f, false);
	return r;
}

void
life_begin(struct life *f, const char *path)
{
	struct err e = ERR_INIT;

	if (life_open(f, path, &e) != 0)
		fail_msg("%s", e.msg);
}

void
life_end(struct life *f, bool is_clean)
{
	struct err e = ERR_INIT;

	if (commit_close(&f->c, is_clean, &e) != 0)
		fail_msg("%s", e.msg);
	layout_free(&f->l);
	if (f->signer != NULL)
		f->o.recovery.signer = NULL;
	signer_free(&f->signer);
}

void
life_manifest(struct life *f, struct sample_epoch *ep)
{
	struct commit_entry en;
	struct err e = ERR_INIT;

	sample_entry_manifest(&en, ep);
	if (commit_manifest(f->c, &ep->epoch, &en, &e) != 0)
		fail_msg("%s", e.msg);
	commit_entry_free(&en);
}

int
life_batch(struct life *f, const struct sample_epoch *ep, size_t n,
    size_t body, struct err *e)
{
	static struct commit_entry en[BATCH_MAX];
	struct commit_entry *v[BATCH_MAX];
	uint64_t first = commit_size(f->c);
	int r;

	assert_true(n <= BATCH_MAX);
	for (size_t i = 0; i < n; i++) {
		sample_entry(&en[i], ep, identity_vkey(f->id)->name, first + i,
		    body);
		v[i] = &en[i];
	}
	r = commit_batch(f->c, v, n, e);
	for (size_t i = 0; i < n; i++) {
		if (r == 0)
			assert_int_equal(en[i].index, first + i);
		commit_entry_free(&en[i]);
	}
	return r;
}

void
life_records(struct life *f, const struct sample_epoch *ep, size_t n,
    size_t body)
{
	struct err e = ERR_INIT;

	while (n > 0) {
		size_t k = n < BATCH_MAX ? n : BATCH_MAX;

		if (life_batch(f, ep, k, body, &e) != 0)
			fail_msg("%s", e.msg);
		n -= k;
	}
}
