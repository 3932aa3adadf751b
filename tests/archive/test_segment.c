/*
 * test_segment.c - segments' fixed parts, the streaming reader, and the
 * log's rules: one row for each way to break one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/scan.h"
#include "archive/segment_write.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

/* ---- the codec ---- */

static void
test_names(void **state)
{
	static const struct {
		const char	*name;
		bool		 ok;
	} rows[] = {
		{ "00000000000000000042.amb", true },
		{ "0000000000000000042.amb", false },
		{ "000000000000000000042.amb", false },
		{ "00000000000000000042.amb.tmp", false },
		{ "00000000000000000042.AMB", false },
		{ "0000000000000000004x.amb", false },
		{ "99999999999999999999.amb", false },
		{ "", false },
	};
	char name[SEGMENT_NAME_MAX];
	uint64_t v = 0;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++)
		if (segment_parse_name(&v, rows[i].name) != rows[i].ok)
			fail_msg("%s", rows[i].name);
	segment_name(name, 1234567890123456789);
	assert_string_equal(name, "01234567890123456789.amb");
	assert_true(segment_parse_name(&v, name));
	assert_int_equal(v, 1234567890123456789);
}

static void
test_header(void **state)
{
	struct segment_header h = { 77, 3, { 1, 2 } }, g;
	uint8_t raw[SEGMENT_HEADER_LEN];

	(void)state;
	segment_put_header(raw, &h);
	assert_memory_equal(raw, "AMBSEG01\0\0\0\0\0\0\0\x4d", 16);
	assert_int_equal(segment_get_header(&g, raw, NULL), 0);
	assert_memory_equal(&g, &h, sizeof(g));
	for (size_t bit = 0; bit < sizeof(raw) * 8; bit++) {
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(segment_get_header(&g, raw, NULL),
		    ERR_FORMAT);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void
test_head(void **state)
{
	const uint8_t d[32] = { 9 };
	uint8_t raw[SEGMENT_HEAD_LEN];
	struct segment_head g;
	struct err e = ERR_INIT;

	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		uint64_t max = segment_payload_max(type);
		struct segment_head h = { (enum segment_type)type, 5, max };

		segment_put_head(raw, &h, 3, d);
		if (max == 0) {
			assert_int_equal(segment_get_head(&g, raw, &e),
			    ERR_FORMAT);
			test_err_is(&e, ERR_FORMAT, "unknown type");
			continue;
		}
		assert_int_equal(segment_get_head(&g, raw, NULL), 0);
		assert_true(segment_check_head(raw, 3, d));
		/* Of another segment: moved frames do not pass. */
		assert_false(segment_check_head(raw, 4, d));
		h.len = max + 1;
		segment_put_head(raw, &h, 3, d);
		assert_int_equal(segment_get_head(&g, raw, &e), ERR_FORMAT);
		h.len = (uint64_t)1 << 63;
		segment_put_head(raw, &h, 3, d);
		assert_int_equal(segment_get_head(&g, raw, &e), ERR_FORMAT);
		h.len = UINT64_MAX;
		segment_put_head(raw, &h, 3, d);
		assert_int_equal(segment_get_head(&g, raw, &e), ERR_FORMAT);
	}
	assert_int_equal(segment_payload_max(SEGMENT_RECORD), 64 << 20);
	for (size_t bit = 0; bit < sizeof(raw) * 8; bit++) {
		const struct segment_head h = { SEGMENT_RECORD, 5, 100 };

		segment_put_head(raw, &h, 3, d);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(segment_get_head(&g, raw, NULL) == 0 &&
		    segment_check_head(raw, 3, d));
	}
}

static void
test_trailer(void **state)
{
	struct bytes b = BYTES_INIT(SEGMENT_TRAILER_MAX);
	struct segment_trailer t;
	struct merkle m;

	(void)state;
	merkle_init(&m);
	for (uint64_t i = 0; i < 11; i++) {
		struct merkle_hash h;

		merkle_leaf(&h, &i, sizeof(i));
		merkle_append(&m, &h);
	}
	assert_int_equal(segment_put_trailer(&b, 4, &m, NULL), 0);
	assert_int_equal(segment_get_trailer(&t, 11, b.p, b.len, NULL), 0);
	assert_int_equal(t.entries, 4);
	assert_int_equal(t.tree.size, 11);
	assert_int_equal(segment_get_trailer(&t, 12, b.p, b.len, NULL),
	    ERR_FORMAT);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* The count of entries is the scan's to check. */
		if (segment_get_trailer(&t, 11, b.p, b.len, NULL) == 0)
			assert_int_equal(bit / 8, 2);
		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(segment_get_trailer(&t, 11, b.p, cut, NULL),
		    ERR_FORMAT);
	assert_int_equal(bytes_append_byte(&b, 0, NULL), 0);
	assert_int_equal(segment_get_trailer(&t, 11, b.p, b.len, NULL),
	    ERR_FORMAT);
	bytes_free(&b);
}

/* The leaf covers what a pruned record says, but not how: so there is one way
 * only. */
static void
test_pruned(void **state)
{
	struct bytes b = BYTES_INIT(SEGMENT_PRUNED_MAX);
	uint8_t digest[32] = { 1, 2, 3 }, again[32];
	struct commit_entry en;
	struct seal_head h;

	(void)state;
	sample_entry(&en, &sample.ep, identity_vkey(sample.id)->name, 0, 10);
	assert_int_equal(segment_put_pruned(&b, en.leaf_data + 4, digest,
			     SEAL_PLAIN_MIN + SEAL_TAG_LEN, NULL),
	    0);
	assert_int_equal(segment_get_pruned(&h, again, b.p, b.len, NULL), 0);
	assert_memory_equal(again, digest, sizeof(digest));
	assert_memory_equal(h.puzzle, sample.ep.epoch.puzzle, sizeof(h.puzzle));
	assert_int_equal(h.cipher_len, SEAL_PLAIN_MIN + SEAL_TAG_LEN);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(segment_get_pruned(&h, again, b.p, cut, NULL),
		    ERR_FORMAT);
	assert_int_equal(bytes_append_byte(&b, 0, NULL), 0);
	assert_int_equal(segment_get_pruned(&h, again, b.p, b.len, NULL),
	    ERR_FORMAT);
	/* Shorter than any ciphertext; of a size that padding never makes. */
	for (int more = -1; more <= 1; more += 2) {
		bytes_clear(&b);
		assert_int_equal(segment_put_pruned(&b, en.leaf_data + 4,
				     digest,
				     (uint64_t)(SEAL_PLAIN_MIN + SEAL_TAG_LEN +
					 more),
				     NULL),
		    0);
		assert_int_equal(segment_get_pruned(&h, again, b.p, b.len,
				     NULL),
		    ERR_FORMAT);
	}
	commit_entry_free(&en);
	bytes_free(&b);
}

/* The numbers that docs/FORMAT.md promises. */
static void
test_limits(void **state)
{
	(void)state;
	assert_int_equal(SEGMENT_ENTRIES, 65536);
	assert_int_equal(SEGMENT_BYTES, 1 << 30);
	assert_int_equal(segment_payload_max(SEGMENT_RECORD), 64 << 20);
	assert_int_equal(segment_payload_max(SEGMENT_MANIFEST), 2 << 20);
	assert_int_equal(segment_payload_max(SEGMENT_CHECKPOINT), 4 << 10);
	assert_int_equal(segment_payload_max(SEGMENT_TRAILER), 4 << 10);
	assert_int_equal(segment_payload_max(SEGMENT_PRUNED), 256);
	assert_int_equal(segment_payload_max(0), 0);
	assert_int_equal(segment_payload_max(6), 0);
	assert_int_equal(COMMIT_BATCH_RECORDS, 256);
	assert_int_equal(COMMIT_BATCH_BYTES, 32 << 20);
	assert_int_equal(COMMIT_IDLE_MS, 50);
}

/* ---- segments by hand ---- */

/* A segment that is being written wrongly. */
struct hand {
	struct bytes	b;
	struct merkle	tree;
	uint64_t	first, entries;
};

static void
hand_begin(struct hand *h, uint64_t first, uint64_t epoch, const char *origin)
{
	struct segment_header head = { .first = first, .epoch = epoch };
	uint8_t raw[SEGMENT_HEADER_LEN];

	memset(h, 0, sizeof(*h));
	bytes_init(&h->b, 1 << 20);
	h->first = first;
	segment_origin(head.origin, origin);
	segment_put_header(raw, &head);
	assert_int_equal(bytes_append(&h->b, raw, sizeof(raw), NULL), 0);
}

static void
hand_entry(struct hand *h, struct commit_entry *en)
{
	struct segment_head head = { en->type, h->tree.size,
		en->frame.len - SEGMENT_HEAD_LEN };

	segment_put_head(en->frame.p, &head, h->first, en->leaf.b);
	assert_int_equal(bytes_append(&h->b, en->frame.p, en->frame.len,
			     NULL),
	    0);
	merkle_append(&h->tree, &en->leaf);
	h->entries++;
	commit_entry_free(en);
}

static void
hand_manifest(struct hand *h, const struct sample_epoch *ep)
{
	struct commit_entry en;

	sample_entry_manifest(&en, ep);
	hand_entry(h, &en);
}

static void
hand_record(struct hand *h, const struct sample_epoch *ep)
{
	struct commit_entry en;

	sample_entry(&en, ep, identity_vkey(sample.id)->name, h->tree.size, 10);
	hand_entry(h, &en);
}

/* The leaf of the record that hand_record would write, without payload. */
static void
hand_pruned(struct hand *h, const struct sample_epoch *ep)
{
	struct bytes p = BYTES_INIT(SEGMENT_PRUNED_MAX);
	struct segment_head head = { SEGMENT_PRUNED, h->tree.size, 0 };
	uint8_t raw[SEGMENT_HEAD_LEN];
	struct commit_entry en;

	sample_entry(&en, ep, identity_vkey(sample.id)->name, h->tree.size, 10);
	assert_int_equal(segment_put_pruned(&p, en.leaf_data + 4,
			     en.leaf_data + SEAL_LEAF_LEN - 32,
			     en.frame.len - SEGMENT_HEAD_LEN - 138, NULL),
	    0);
	head.len = p.len;
	segment_put_head(raw, &head, h->first, en.leaf.b);
	assert_int_equal(bytes_append(&h->b, raw, sizeof(raw), NULL), 0);
	assert_int_equal(bytes_append(&h->b, p.p, p.len, NULL), 0);
	merkle_append(&h->tree, &en.leaf);
	h->entries++;
	commit_entry_free(&en);
	bytes_free(&p);
}

static void
hand_note(struct hand *h, const struct identity *by, uint64_t size,
    uint8_t spoil)
{
	struct bytes note = BYTES_INIT(SEGMENT_NOTE_MAX);
	struct merkle_hash root;

	merkle_root(&h->tree, &root);
	root.b[0] ^= spoil;
	assert_int_equal(checkpoint_sign(&note, by, size, &root, NULL), 0);
	assert_int_equal(segment_write_note(&h->b, h->first, h->tree.size,
			     &note, NULL),
	    0);
	bytes_free(&note);
}

static void
hand_trailer(struct hand *h, uint64_t entries)
{
	assert_int_equal(segment_write_trailer(&h->b, h->first, entries,
			     &h->tree, NULL),
	    0);
}

static int
hand_fd(const struct hand *h)
{
	char *folder = test_folder_make(), *path = test_path(folder, "s");
	int fd;

	test_file_write(path, h->b.p, h->b.len);
	assert_true((fd = open(path, O_RDONLY)) != -1);
	test_folder_remove(folder);
	free(path);
	free(folder);
	return fd;
}

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

static void
zeros(struct hand *h)
{
	for (int i = 0; i < 4096; i++)
		assert_int_equal(bytes_append_byte(&h->b, 0, NULL), 0);
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
	{ "zeros", zeros, ERR_FORMAT, 1, "no frame begins here" },
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

/* The end of a segment, found from behind; ERR_NOENT: not closed so. */
static int
hand_closing(struct hand *h, uint64_t *size)
{
	struct bytes note = BYTES_INIT(SEGMENT_NOTE_MAX);
	struct segment_trailer t = { 0 };
	struct segment_read *r = NULL;
	uint64_t off;
	int fd = hand_fd(h), rc;

	assert_int_equal(segment_read_new(&r, fd, NULL), 0);
	rc = segment_read_closing(r, &t, &note, &off, NULL);
	*size = t.tree.size;
	segment_read_free(&r);
	close(fd);
	bytes_free(&note);
	bytes_free(&h->b);
	return rc;
}

/* A trailer counts when a checkpoint frame of its size comes right before. */
static void
test_closing(void **state)
{
	struct bytes note = BYTES_INIT(SEGMENT_NOTE_MAX);
	struct merkle_hash root;
	struct hand h;
	uint64_t size;

	(void)state;
	for (int act = 0; act < 5; act++) {
		hand_begin(&h, 0, 1, identity_vkey(sample.id)->name);
		hand_manifest(&h, &sample.ep);
		merkle_root(&h.tree, &root);
		bytes_clear(&note);
		assert_int_equal(checkpoint_sign(&note, sample.id, 1, &root,
		    NULL), 0);
		if (act != 1)
			assert_int_equal(segment_write_note(&h.b, 0,
					     act == 2 ? 2 : 1, &note, NULL),
			    0);
		if (act == 3)
			zeros(&h);
		hand_trailer(&h, 1);
		if (act == 4)
			zeros(&h);
		assert_int_equal(hand_closing(&h, &size),
		    act == 0 ? 0 : ERR_NOENT);
		if (act == 0)
			assert_int_equal(size, 1);
	}
	bytes_free(&note);
}

/* A file that grows under the reader, byte by byte: every frame comes once,
 * as soon as it is whole. */
static void
test_growing(void **state)
{
	char *folder = test_folder_make(), *path = test_path(folder, "s");
	struct segment_read *r = NULL;
	struct segment_frame f;
	struct hand h;
	size_t frames = 0;
	int fd, w;

	(void)state;
	hand_begin(&h, 0, 1, identity_vkey(sample.id)->name);
	hand_manifest(&h, &sample.ep);
	hand_record(&h, &sample.ep);
	hand_note(&h, sample.id, 2, 0);
	hand_record(&h, &sample.ep);
	test_file_write(path, h.b.p, SEGMENT_HEADER_LEN);
	assert_true((fd = open(path, O_RDONLY)) != -1);
	assert_true((w = open(path, O_WRONLY | O_APPEND)) != -1);
	assert_int_equal(segment_read_new(&r, fd, NULL), 0);
	for (size_t at = SEGMENT_HEADER_LEN; at < h.b.len; at++) {
		int rc = segment_read_next(r, &f, NULL);

		if (rc == 0) {
			frames++;
			assert_int_equal(f.end, at);
			rc = segment_read_next(r, &f, NULL);
		}
		assert_int_equal(rc, segment_read_offset(r) == at ? ERR_EOF :
								    ERR_AGAIN);
		assert_int_equal(write(w, h.b.p + at, 1), 1);
	}
	assert_int_equal(segment_read_next(r, &f, NULL), 0);
	assert_int_equal(frames + 1, 4);
	segment_read_free(&r);
	close(fd);
	close(w);
	bytes_free(&h.b);
	test_folder_remove(folder);
	free(path);
	free(folder);
}

/* A record as large as a capture may be, but for its other fields. */
static void
test_large(void **state)
{
	struct segment_read *r = NULL;
	struct segment_frame f;
	struct bytes b = BYTES_INIT(SEAL_PAYLOAD_MAX);
	const size_t body = CAPTURE_MAX - 4096;
	struct commit_entry en;
	const uint8_t *p;
	struct capture c;
	struct hand h;
	size_t n;
	int fd;

	(void)state;
	hand_begin(&h, 0, 1, identity_vkey(sample.id)->name);
	bytes_free(&h.b);
	bytes_init(&h.b, 64 << 20);
	{
		struct segment_header head = { .first = 0, .epoch = 1 };
		uint8_t raw[SEGMENT_HEADER_LEN];

		segment_put_header(raw, &head);
		assert_int_equal(bytes_append(&h.b, raw, sizeof(raw), NULL),
		    0);
	}
	sample_entry(&en, &sample.ep, identity_vkey(sample.id)->name, 7, body);
	hand_entry(&h, &en);
	fd = hand_fd(&h);
	bytes_free(&h.b);
	assert_int_equal(segment_read_new(&r, fd, NULL), 0);
	assert_int_equal(segment_read_next(r, &f, NULL), 0);
	assert_in_range(f.payload_len, body, SEAL_PAYLOAD_MAX);
	assert_null(f.payload);
	assert_int_equal(segment_read_payload(r, &f, &b, NULL), 0);
	assert_int_equal(seal_open(b.p, b.len, sample.ep.key,
			     identity_vkey(sample.id)->name, &p, &n, NULL),
	    0);
	assert_int_equal(capture_decode(&c, p, n, NULL), 0);
	assert_int_equal(c.response_body.n, body);
	segment_read_free(&r);
	bytes_free(&b);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_trailer),
		cmocka_unit_test(test_pruned),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_closing),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
