/*
 * test_scan.c - the log's rules: one row for each way to break one, and what
 * may follow what from segment to segment.
 */
#include <string.h>
#include <unistd.h>

#include "archive/scan.h"
#include "base/identity.h"
#include "tests/archive/sample.h"
#include "tests/archive/segment_hand.h"
#include "tests/test_util.h"

/* Scans on with what stands before; the last result, and e. */
static int
hand_scan(struct hand *h, struct scan *s, size_t *frames, struct err *e)
{
	struct segment_read *r = NULL;
	struct segment_frame f;
	int fd = hand_fd(h), rc;

	*frames = 0;
	if ((rc = segment_read_new(&r, fd, e)) == 0 &&
	    (rc = scan_segment(s, r, e)) == 0)
		while ((rc = scan_next(s, r, &f, e)) == 0)
			(*frames)++;
	segment_read_free(&r);
	close(fd);
	bytes_free(&h->b);
	return rc;
}

/* ---- rows: what the hand does after a good beginning ---- */

static void
good(struct hand *h)
{
	hand_record(h, &sample.ep);
	hand_note(h, sample.id, h->tree.size, 0);
	hand_pruned(h, &sample.ep);
	hand_note(h, sample.id, h->tree.size, 0);
	hand_trailer(h, h->entries);
}

static void
second_manifest(struct hand *h)
{
	hand_manifest(h, &sample.ep2);
}

static void
unknown_puzzle(struct hand *h)
{
	hand_record(h, &sample.ep2);
}

static void
unknown_puzzle_pruned(struct hand *h)
{
	hand_pruned(h, &sample.ep2);
}

static void
foreign_note(struct hand *h)
{
	hand_note(h, sample.other, h->tree.size, 0);
}

static void
other_size(struct hand *h)
{
	hand_note(h, sample.id, h->tree.size + 1, 0);
}

static void
other_root(struct hand *h)
{
	hand_note(h, sample.id, h->tree.size, 1);
}

static void
lone_trailer(struct hand *h)
{
	hand_trailer(h, h->entries);
}

static void
wrong_count(struct hand *h)
{
	hand_note(h, sample.id, h->tree.size, 0);
	hand_trailer(h, h->entries + 1);
}

static void
wrong_tree(struct hand *h)
{
	struct merkle keep = h->tree;

	hand_note(h, sample.id, h->tree.size, 0);
	h->tree.node[0].b[0] ^= 1;
	hand_trailer(h, h->entries);
	h->tree = keep;
}

/* Of one entry and of two whose subtree is that very hash: the same count of
 * hashes, the same root.  Only the size tells them apart. */
static void
wrong_size(struct hand *h)
{
	struct merkle keep = h->tree;

	hand_note(h, sample.id, h->tree.size, 0);
	assert_int_equal(h->tree.size, 1);
	h->tree.node[1] = h->tree.node[0];
	h->tree.size = 2;
	hand_trailer(h, h->entries);
	h->tree = keep;
}

static void
behind_trailer(struct hand *h)
{
	hand_note(h, sample.id, h->tree.size, 0);
	hand_trailer(h, h->entries);
	hand_record(h, &sample.ep);
}

static void
skipped_index(struct hand *h)
{
	h->tree.size++;
	hand_record(h, &sample.ep);
}

static void
repeated_index(struct hand *h)
{
	h->tree.size--;
	hand_record(h, &sample.ep);
}

static void
torn(struct hand *h)
{
	hand_record(h, &sample.ep);
	bytes_truncate(&h->b, h->b.len - 1);
}

static void
torn_head(struct hand *h)
{
	hand_record(h, &sample.ep);
	bytes_truncate(&h->b, h->b.len - 1100);
	while (h->b.len % 16 != 7)
		bytes_truncate(&h->b, h->b.len - 1);
}

static const struct {
	const char	*name;
	void		(*act)(struct hand *h);
	int		 want;
	size_t		 frames;	/* good ones, the manifest included */
	const char	*message;
} rows[] = {
	{ "good", good, ERR_EOF, 6, NULL },
	{ "second manifest", second_manifest, ERR_FORMAT, 1,
	    "not its segment's first" },
	{ "unknown puzzle", unknown_puzzle, ERR_FORMAT, 1, "no current epoch" },
	{ "unknown puzzle, pruned", unknown_puzzle_pruned, ERR_FORMAT, 1,
	    "no current epoch" },
	{ "foreign checkpoint", foreign_note, ERR_FORMAT, 1, "not signed by" },
	{ "checkpoint of another size", other_size, ERR_FORMAT, 1,
	    "in a frame of size" },
	{ "checkpoint of another tree", other_root, ERR_CORRUPT, 1,
	    "another root" },
	{ "trailer without checkpoint", lone_trailer, ERR_FORMAT, 1,
	    "follows no checkpoint" },
	{ "trailer's count", wrong_count, ERR_FORMAT, 2, "another count" },
	{ "trailer's tree", wrong_tree, ERR_FORMAT, 2, "another count" },
	{ "trailer's size", wrong_size, ERR_FORMAT, 2, "a trailer of size 2" },
	{ "frame behind the trailer", behind_trailer, ERR_FORMAT, 3,
	    "behind the trailer" },
	{ "skipped index", skipped_index, ERR_FORMAT, 1, "entry 2 where 1" },
	{ "repeated index", repeated_index, ERR_FORMAT, 1, "entry 0 where 1" },
	{ "torn payload", torn, ERR_AGAIN, 1, "ends inside" },
	{ "torn head", torn_head, ERR_AGAIN, 1, "ends inside" },
	{ "zeros", hand_zeros, ERR_FORMAT, 1, "no frame begins here" },
};

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct err e = ERR_INIT;
		struct hand h;
		struct scan s;
		size_t frames;

		hand_begin(&h, 0, 1, identity_vkey(sample.id)->name);
		hand_manifest(&h, &sample.ep);
		rows[i].act(&h);
		scan_init(&s, identity_vkey(sample.id));
		if (hand_scan(&h, &s, &frames, &e) != rows[i].want ||
		    frames != rows[i].frames)
			fail_msg("%s: %zu frames, %s", rows[i].name, frames,
			    e.msg);
		test_err_is(&e, rows[i].want, rows[i].message);
	}
}

/* What may follow what, from segment to segment. */
static void
test_segments(void **state)
{
	struct err e = ERR_INIT;
	struct scan s, at;
	struct hand h;
	size_t n;

	(void)state;
	scan_init(&s, identity_vkey(sample.id));
	/* A record before any manifest; a manifest of another epoch. */
	hand_begin(&h, 0, 1, identity_vkey(sample.id)->name);
	hand_record(&h, &sample.ep);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "before the manifest");
	hand_begin(&h, 0, 2, identity_vkey(sample.id)->name);
	hand_manifest(&h, &sample.ep);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "in a segment of epoch 2");
	/* A manifest that another key of our name signed. */
	hand_begin(&h, 0, 1, identity_vkey(sample.id)->name);
	hand_manifest(&h, &sample.alien);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "did not sign");
	/* Another log's segment; one that begins elsewhere. */
	hand_begin(&h, 0, 1, "log.example/b");
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "another log");
	hand_begin(&h, 5, 1, identity_vkey(sample.id)->name);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "begins at entry 5 where 0");
	assert_int_equal(s.tree.size, 0);
	/* Epoch 1, then 2; the one before may still have records. */
	hand_begin(&h, 0, 1, identity_vkey(sample.id)->name);
	hand_manifest(&h, &sample.ep);
	hand_record(&h, &sample.ep);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_EOF);
	at = s;
	hand_begin(&h, 2, 2, identity_vkey(sample.id)->name);
	h.tree = s.tree;
	hand_manifest(&h, &sample.ep2);
	hand_record(&h, &sample.ep);
	hand_record(&h, &sample.ep2);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_EOF);
	assert_int_equal(n, 3);
	assert_int_equal(s.nepochs, 2);
	assert_int_equal(s.epoch.index, 2);
	assert_ptr_equal(scan_epoch_of(&s, sample.ep.epoch.puzzle), &s.before);
	assert_null(scan_epoch_of(&s, sample.ep3.epoch.puzzle));
	/* Back to epoch 1: neither by header nor by manifest. */
	hand_begin(&h, 5, 1, identity_vkey(sample.id)->name);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "lies before");
	/* Epoch 2's segment without its manifest; epoch 3 after 1 is good,
	 * and then epoch 1's records, but not 2's. */
	s = at;
	hand_begin(&h, 2, 2, identity_vkey(sample.id)->name);
	h.tree = s.tree;
	hand_record(&h, &sample.ep);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	s = at;
	hand_begin(&h, 2, 3, identity_vkey(sample.id)->name);
	h.tree = s.tree;
	hand_manifest(&h, &sample.ep3);
	hand_record(&h, &sample.ep);
	hand_record(&h, &sample.ep2);
	assert_int_equal(hand_scan(&h, &s, &n, &e), ERR_FORMAT);
	assert_int_equal(n, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_segments),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
