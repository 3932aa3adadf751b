/*
 * check.c - see check.h.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/capture.h"
#include "archive/layout.h"
#include "archive/receipt.h"
#include "archive/scan.h"
#include "base/bytes.h"
#include "tests/archive/check.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static void
keep_leaf(struct check *c, const struct merkle_hash *leaf)
{
	size_t n = (size_t)c->tree.size;

	if ((n & (n - 1)) == 0) {
		c->leaves = realloc(c->leaves,
		    (n == 0 ? 1 : n * 2) * sizeof(*leaf));
		assert_non_null(c->leaves);
	}
	c->leaves[n] = *leaf;
	merkle_append(&c->tree, leaf);
}

static void
open_record(struct segment_read *r, const struct segment_frame *f,
    const struct scan *s, const struct sample_epoch *epochs, size_t n)
{
	struct bytes b = BYTES_INIT(SEAL_PAYLOAD_MAX);
	const uint8_t *p;
	struct capture c;
	struct err e = ERR_INIT;
	size_t len;

	for (size_t i = 0; i < n; i++) {
		if (memcmp(epochs[i].epoch.puzzle, f->head.puzzle, 32) != 0)
			continue;
		if (segment_read_payload(r, f, &b, &e) != 0 ||
		    seal_open(b.p, b.len, epochs[i].key, s->pin.name, &p, &len,
			&e) != 0 ||
		    capture_decode(&c, p, len, &e) != 0)
			fail_msg("record %llu: %s",
			    (unsigned long long)f->index, e.msg);
		bytes_free(&b);
		return;
	}
	fail_msg("record %llu: no such epoch", (unsigned long long)f->index);
}

static void
check_segment(struct check *c, struct scan *s, int fd, bool is_last,
    const struct sample_epoch *epochs, size_t n)
{
	struct segment_read *r = NULL;
	struct segment_frame f;
	struct err e = ERR_INIT;
	struct stat st;
	int rc;

	if (segment_read_new(&r, fd, &e) != 0 || scan_segment(s, r, &e) != 0)
		fail_msg("%s", e.msg);
	while ((rc = scan_next(s, r, &f, &e)) == 0) {
		if (segment_is_entry(f.type))
			keep_leaf(c, &f.leaf);
		if (f.type == SEGMENT_CHECKPOINT)
			c->checkpoints++;
		if (f.type != SEGMENT_RECORD)
			continue;
		c->records++;
		if (n > 0) {
			open_record(r, &f, s, epochs, n);
			c->opened++;
		}
	}
	if (rc != ERR_EOF && !is_last)
		fail_msg("%s", e.msg);
	if (!is_last && !s->is_closed)
		fail_msg("segment %llu is not closed",
		    (unsigned long long)s->header.first);
	assert_int_equal(fstat(fd, &st), 0);
	c->unsigned_bytes = (uint64_t)st.st_size - segment_read_offset(r);
	c->is_closed = s->is_closed;
	segment_read_free(&r);
}

void
check_archive(struct check *out, const char *path, const struct vkey *pin,
    const struct sample_epoch *epochs, size_t nepochs)
{
	struct layout *l = NULL;
	struct err e = ERR_INIT;
	uint64_t *firsts = NULL;
	struct scan s;
	size_t n = 0;

	memset(out, 0, sizeof(*out));
	if (layout_open(&l, path, &e) != 0 ||
	    layout_list(l, &firsts, &n, &e) != 0)
		fail_msg("%s", e.msg);
	scan_init(&s, pin);
	for (size_t i = 0; i < n; i++) {
		int fd = -1;

		assert_int_equal(layout_open_segment(l, firsts[i], &fd, NULL),
		    0);
		check_segment(out, &s, fd, i + 1 == n, epochs, nepochs);
		close(fd);
	}
	assert_int_equal(out->tree.size, s.tree.size);
	out->segments = n;
	out->checked = s.checked;
	free(firsts);
	layout_free(&l);
}

void
check_free(struct check *c)
{
	free(c->leaves);
	c->leaves = NULL;
}

void
check_receipt(const struct check *c, const struct vkey *pin,
    const void *receipt, size_t n, uint64_t index)
{
	struct checkpoint cp;
	struct receipt rc;
	struct err e = ERR_INIT;

	if (receipt_verify(&rc, &cp, receipt, n, pin, &e) != 0)
		fail_msg("receipt of %llu: %s", (unsigned long long)index,
		    e.msg);
	assert_int_equal(rc.proof.index, index);
	assert_true(index < c->tree.size);
	if (!merkle_is_equal(&rc.leaf, &c->leaves[index]))
		fail_msg("receipt of %llu: the archive holds another entry",
		    (unsigned long long)index);
}
