/*
 * test_crash.c - a run of 200 records, crashed after every operation in every
 * way that the disk model knows, and recovered.
 *
 * Each time: what was acknowledged is there, what is there is a prefix of
 * the run, and the archive verifies and goes on.  Without an argument every
 * eighth operation of one run; with a number N every operation of N runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/commit.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/receipt.h"
#include "archive/signer.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/secret.h"
#include "tests/archive/check.h"
#include "tests/archive/crash_disk.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

enum { RECORDS = 200, EPOCHS = 3, MARKS = 300, ENTRIES = RECORDS + EPOCHS };

static unsigned long runs = 1;
static size_t stride = 8;
static struct identity *id;
static struct sample_epoch epochs[EPOCHS];

/* A moment of the run: so much was signed, or told to the clients. */
struct mark {
	size_t		op;
	struct merkle	tree;
	char		note[NOTE_MAX];
	size_t		note_len;
};

/* A signer that remembers each moment. */
struct watch {
	struct signer		 ops;
	struct signer		*real;
	struct crash_disk	*disk;
	struct merkle		 tree;
	struct mark		 marks[MARKS];
	size_t			 n;
};

static struct run {
	struct merkle_hash	leaves[ENTRIES];
	struct bytes		receipts[ENTRIES];
	uint64_t		n;
	struct mark		acks[MARKS];
	size_t			nacks;
	struct watch		watch;
	char			*path;
	struct crash_disk	*disk;
} run;

static int
watch_last(struct signer *s, struct bytes *note, struct err *e)
{
	return signer_last(((struct watch *)s)->real, note, e);
}

static int
watch_resume(struct signer *s, const struct merkle *at, const char *note,
    size_t n, struct err *e)
{
	return signer_resume(((struct watch *)s)->real, at, note, n, e);
}

static int
watch_extend(struct signer *s, const struct merkle_hash *leaves, size_t n,
    struct bytes *note, struct err *e)
{
	struct watch *w = (struct watch *)s;
	struct mark *m = &w->marks[w->n++];

	assert_true(w->n < MARKS);
	for (size_t i = 0; i < n; i++)
		merkle_append(&w->tree, &leaves[i]);
	assert_int_equal(signer_extend(w->real, leaves, n, note, e), 0);
	m->op = crash_disk_count(w->disk);
	m->tree = w->tree;
	m->note_len = note->len;
	memcpy(m->note, note->p, note->len);
	return 0;
}

static void
watch_free(struct signer *s)
{
	signer_free(&((struct watch *)s)->real);
}

static void
acknowledge(struct commit *c, struct commit_entry *en, size_t n)
{
	struct mark *m = &run.acks[run.nacks++];

	assert_true(run.nacks < MARKS);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(en[i].index, run.n);
		run.leaves[run.n] = en[i].leaf;
		bytes_init(&run.receipts[run.n], RECEIPT_MAX);
		assert_int_equal(bytes_append(&run.receipts[run.n],
				     en[i].receipt.p, en[i].receipt.len,
				     NULL),
		    0);
		run.n++;
		commit_entry_free(&en[i]);
	}
	m->op = crash_disk_count(run.disk);
	m->tree.size = commit_size(c);
}

static void
run_manifest(struct commit *c, int k)
{
	struct commit_entry en;
	struct err e = ERR_INIT;

	sample_entry_manifest(&en, &epochs[k]);
	if (commit_manifest(c, &epochs[k].epoch, &en, &e) != 0)
		fail_msg("%s", e.msg);
	acknowledge(c, &en, 1);
}

static size_t
body_size(uint64_t *seed)
{
	uint64_t r = test_random(seed) % 16;

	return r < 12 ? r * 40 : r < 15 ? 3000 + r * 100 : 20000;
}

static void
run_batch(struct commit *c, int k, size_t n, uint64_t *seed)
{
	struct commit_entry en[16], *v[16];
	struct err e = ERR_INIT;

	for (size_t i = 0; i < n; i++) {
		sample_entry(&en[i], &epochs[k], identity_vkey(id)->name,
		    run.n + i, body_size(seed));
		v[i] = &en[i];
	}
	if (commit_batch(c, v, n, &e) != 0)
		fail_msg("%s", e.msg);
	acknowledge(c, en, n);
}

/* 200 records in batches of 1..8, three epochs, small segments. */
static void
make_run(const char *folder, uint64_t seed)
{
	struct commit_opts o = { .segment_entries = 48 };
	struct layout *l = NULL;
	struct commit *c = NULL;
	struct watch *w = &run.watch;
	size_t records = 0;
	int k = 0;

	memset(&run, 0, sizeof(run));
	run.path = test_path(folder, "run");
	assert_int_equal(layout_create(run.path, identity_vkey(id),
			     disk_system(), NULL),
	    0);
	assert_int_equal(layout_open(&l, run.path, NULL), 0);
	assert_int_equal(layout_lock(l, disk_system(), NULL), 0);
	run.disk = crash_disk_new(run.path);
	w->ops = (struct signer){ watch_last, watch_resume, watch_extend,
		watch_free };
	w->disk = run.disk;
	assert_int_equal(signer_local_new(&w->real, id, NULL), 0);
	o.recovery.disk = crash_disk_ops(run.disk);
	o.recovery.signer = &w->ops;
	assert_int_equal(commit_new(&c, l, &o, NULL, NULL), 0);
	run_manifest(c, k);
	while (records < RECORDS) {
		size_t n = 1 + test_random(&seed) % 8;

		n = n > RECORDS - records ? RECORDS - records : n;
		run_batch(c, k, n, &seed);
		records += n;
		if (test_random(&seed) % 6 == 0)
			assert_int_equal(commit_idle(c, NULL), 0);
		if (k + 1 < EPOCHS && records > (size_t)(k + 1) * 70)
			run_manifest(c, ++k);
	}
	assert_int_equal(commit_close(&c, true, NULL), 0);
	layout_free(&l);
}

static void
free_run(void)
{
	for (uint64_t i = 0; i < run.n; i++)
		bytes_free(&run.receipts[i]);
	signer_free(&run.watch.real);
	crash_disk_free(run.disk);
	free(run.path);
}

static const struct mark *
last_mark(const struct mark *m, size_t n, size_t op)
{
	const struct mark *last = NULL;

	for (size_t i = 0; i < n && m[i].op <= op; i++)
		last = &m[i];
	return last;
}

/* ---- after the crash ---- */

struct life {
	struct layout		*l;
	struct signer		*signer;
	struct commit		*c;
	struct crash_stop	 disk;
};

/* alive: the state that the signer still has; NULL: it has none. */
static int
life_open(struct life *f, const char *path, const struct mark *alive,
    size_t stop, struct err *e)
{
	struct recovery_key keys[EPOCHS];
	struct commit_opts o = { .segment_entries = 48 };

	memset(f, 0, sizeof(*f));
	crash_stop_init(&f->disk, stop);
	assert_int_equal(signer_local_new(&f->signer, id, NULL), 0);
	if (alive != NULL)
		assert_int_equal(signer_resume(f->signer, &alive->tree,
				     alive->note, alive->note_len, NULL),
		    0);
	for (int i = 0; i < EPOCHS; i++) {
		memcpy(keys[i].puzzle, epochs[i].epoch.puzzle, 32);
		keys[i].key = epochs[i].key;
	}
	o.recovery.disk = &f->disk.ops;
	o.recovery.signer = f->signer;
	o.recovery.keys = keys;
	o.recovery.nkeys = EPOCHS;
	assert_int_equal(layout_open(&f->l, path, NULL), 0);
	/* The lock stands before the recovery and is not what is tried. */
	assert_int_equal(layout_lock(f->l, disk_system(), NULL), 0);
	return commit_new(&f->c, f->l, &o, NULL, e);
}

static void
life_close(struct life *f, bool is_clean)
{
	assert_int_equal(commit_close(&f->c, is_clean, NULL), 0);
	layout_free(&f->l);
	signer_free(&f->signer);
}

static void
check_prefix(const char *path, uint64_t n, uint64_t acked, const char *where)
{
	struct check c;

	check_archive(&c, path, identity_vkey(id), epochs, EPOCHS);
	if (n < acked || n > ENTRIES || c.tree.size != n)
		fail_msg("%s: %llu entries of %llu, %llu acknowledged", where,
		    (unsigned long long)c.tree.size, (unsigned long long)n,
		    (unsigned long long)acked);
	if (n > 0 &&
	    memcmp(c.leaves, run.leaves, n * sizeof(*c.leaves)) != 0)
		fail_msg("%s: the entries are no prefix", where);
	if (acked > 0) {
		uint64_t i = (n * 7919) % acked;

		check_receipt(&c, identity_vkey(id), run.receipts[i].p,
		    run.receipts[i].len, i);
	}
	check_free(&c);
}

/* One more record after the recovery, and a clean stop. */
static void
go_on(struct life *f, const char *path)
{
	struct commit_entry en, *v = &en;
	uint64_t n = commit_size(f->c);
	struct check c;
	int k;

	/* The epoch that is current: that of the last manifest. */
	for (k = EPOCHS; k-- > 0;) {
		sample_entry(&en, &epochs[k], identity_vkey(id)->name, 9999,
		    50);
		if (commit_batch(f->c, &v, 1, NULL) == 0)
			break;
		commit_entry_free(&en);
	}
	if (k == -1)
		return;		/* no epoch had begun */
	assert_int_equal(en.index, n);
	life_close(f, true);
	check_archive(&c, path, identity_vkey(id), epochs, EPOCHS);
	assert_int_equal(c.tree.size, n + 1);
	assert_true(c.is_closed);
	assert_int_equal(c.checked, n + 1);
	check_receipt(&c, identity_vkey(id), en.receipt.p, en.receipt.len, n);
	check_free(&c);
	commit_entry_free(&en);
}

static void
recover(const char *path, const struct mark *alive, uint64_t acked,
    const char *where, bool does_go_on)
{
	struct err e = ERR_INIT;
	struct life f;
	uint64_t n;

	if (life_open(&f, path, alive, SIZE_MAX, &e) != 0)
		fail_msg("%s: %s", where, e.msg);
	n = commit_size(f.c);
	check_prefix(path, n, acked, where);
	if (does_go_on)
		go_on(&f, path);
	if (f.l != NULL)
		life_close(&f, false);
}

static size_t
crash_everywhere(const char *folder, uint64_t seed)
{
	char *out = test_path(folder, "crash"), where[64];
	size_t points = 0, ops = crash_disk_count(run.disk);

	for (size_t op = seed % stride; op <= ops; op += stride) {
		const struct mark *ack = last_mark(run.acks, run.nacks, op);
		const struct mark *sign =
		    last_mark(run.watch.marks, run.watch.n, op);
		uint64_t acked = ack == NULL ? 0 : ack->tree.size;

		for (int way = 0; way < CRASH_WAYS; way++) {
			if (!crash_disk_make(run.disk, op,
			    (enum crash_way)way, &seed, out))
				continue;
			snprintf(where, sizeof(where), "operation %zu, way %d",
			    op, way);
			recover(out, NULL, acked, where, points % 16 == 0);
			points++;
		}
		/* The process alone died: all is there, and the signer, in
		 * its own process, still knows. */
		if (crash_disk_make(run.disk, op, CRASH_ALL, &seed, out)) {
			snprintf(where, sizeof(where),
			    "operation %zu, signer alive", op);
			recover(out, sign, acked, where, false);
			points++;
		}
	}
	test_folder_remove(out);
	free(out);
	return points;
}

static void
test_crashes(void **state)
{
	(void)state;
	for (unsigned long i = 1; i <= runs; i++) {
		size_t points;
		char *made = test_folder_make();

		make_run(made, i);
		points = crash_everywhere(made, i * 1000);
		print_message("run %lu: %zu operations, %zu crash points "
			      "recovered\n",
		    i, crash_disk_count(run.disk), points);
		/* Each operation at least once as a whole and by the signer
		 * alive, most in several ways. */
		assert_true(points >=
		    2 * (crash_disk_count(run.disk) / stride));
		free_run();
		test_folder_remove(made);
		free(made);
	}
}

/*
 * Recovery dies at each of its steps, and again at each step of the next
 * attempt: in the end the archive is the one of an undisturbed recovery.
 */
static size_t
stop_recovery(const char *folder, size_t op, enum crash_way way, uint64_t seed)
{
	char *out = test_path(folder, "stop"), *kept;
	struct life f;
	struct err e = ERR_INIT;
	uint64_t want, first = seed;
	size_t steps = 0, tries = 0;

	if (!crash_disk_make(run.disk, op, way, &seed, out)) {
		free(out);
		return 0;
	}
	assert_int_equal(life_open(&f, out, NULL, SIZE_MAX, &e), 0);
	want = commit_size(f.c);
	life_close(&f, false);
	/* The same crash again; each life dies one step later, and in the
	 * middle of them a few die early. */
	seed = first;
	assert_true(crash_disk_make(run.disk, op, way, &seed, out));
	for (steps = 0; steps < 1000; steps++) {
		size_t stop = steps % 5 == 4 ? steps / 2 : steps;
		int r = life_open(&f, out, NULL, stop, &e);

		tries++;
		if (r == 0 && f.disk.count <= stop)
			break;
		if (r == 0)
			life_close(&f, false);
		else {
			layout_free(&f.l);
			signer_free(&f.signer);
			if (r == ERR_CORRUPT)
				fail_msg("operation %zu, way %d, step %zu: %s",
				    op, (int)way, stop, e.msg);
		}
	}
	assert_true(steps < 1000);
	assert_int_equal(commit_size(f.c), want);
	f.disk.stop = SIZE_MAX;
	life_close(&f, true);
	kept = out;
	check_prefix(kept, want, 0, "after stopped recoveries");
	test_folder_remove(out);
	free(out);
	return tries;
}

static void
test_stopped_recovery(void **state)
{
	char *made = test_folder_make();
	size_t ops, points = 0, starts = 0;

	(void)state;
	make_run(made, 77);
	ops = crash_disk_count(run.disk);
	for (size_t op = 3; op <= ops; op += 11 * stride) {
		const enum crash_way ways[] = { CRASH_ALL, CRASH_SHORT,
			CRASH_SECTORS };

		for (size_t i = 0; i < TEST_COUNT(ways); i++) {
			size_t n = stop_recovery(made, op, ways[i], op);

			points += n;
			starts += n > 0;
		}
	}
	print_message("%zu crashed archives, %zu stopped recoveries\n", starts,
	    points);
	assert_true(points > 5 * starts);
	free_run();
	test_folder_remove(made);
	free(made);
}

static int
group_setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);	/* lost checkpoints are no news */
	if (secret_init(NULL) != 0 ||
	    identity_new(&id, "log.example/crash", NULL) != 0)
		return -1;
	for (int i = 0; i < EPOCHS; i++)
		sample_epoch_make(&epochs[i], id, (uint64_t)i + 1);
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < EPOCHS; i++)
		sample_epoch_free(&epochs[i]);
	identity_free(&id);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crashes),
		cmocka_unit_test(test_stopped_recovery),
	};

	if (argc > 1) {
		runs = strtoul(argv[1], NULL, 10);
		stride = 1;
	}
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
