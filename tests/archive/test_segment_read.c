/*
 * test_segment_read.c - the streaming reader: a segment's closing found from
 * behind, a file that grows, and the largest record.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/segment_read.h"
#include "archive/segment_write.h"
#include "base/identity.h"
#include "tests/archive/sample.h"
#include "tests/archive/segment_hand.h"
#include "tests/test_util.h"

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
			hand_zeros(&h);
		hand_trailer(&h, 1);
		if (act == 4)
			hand_zeros(&h);
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
		cmocka_unit_test(test_closing),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
