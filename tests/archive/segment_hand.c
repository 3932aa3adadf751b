/*
 * segment_hand.c - see segment_hand.h.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "archive/checkpoint.h"
#include "archive/segment_write.h"
#include "base/identity.h"
#include "tests/archive/segment_hand.h"
#include "tests/test_util.h"

void
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

void
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

void
hand_manifest(struct hand *h, const struct sample_epoch *ep)
{
	struct commit_entry en;

	sample_entry_manifest(&en, ep);
	hand_entry(h, &en);
}

void
hand_record(struct hand *h, const struct sample_epoch *ep)
{
	struct commit_entry en;

	sample_entry(&en, ep, identity_vkey(sample.id)->name, h->tree.size, 10);
	hand_entry(h, &en);
}

void
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

void
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

void
hand_trailer(struct hand *h, uint64_t entries)
{
	assert_int_equal(segment_write_trailer(&h->b, h->first, entries,
			     &h->tree, NULL),
	    0);
}

void
hand_zeros(struct hand *h)
{
	for (int i = 0; i < 4096; i++)
		assert_int_equal(bytes_append_byte(&h->b, 0, NULL), 0);
}

int
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
