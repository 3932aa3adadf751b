/*
 * cbor_write.c - deterministic CBOR into a struct bytes.  It must not emit
 * anything that cbor_read refuses: order, counts and text are asserted here
 * rather than found by the reader of an archive.
 */
#include <assert.h>
#include <cbor.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/utf8.h"

enum { HEAD_MAX = 9 };		/* bytes */

enum head { HEAD_UINT, HEAD_NINT, HEAD_BYTES, HEAD_TEXT, HEAD_ARRAY, HEAD_MAP };

void
cbor_write_begin(struct cbor_write *w, struct bytes *out)
{
	memset(w, 0, sizeof(*w));
	w->out = out;
	w->start = out->len;
	w->items = 1;
	w->level[0].left = 1;
	w->level[0].last_off = SIZE_MAX;
}

/* The reader's cap on items is the writer's too. */
static bool
count_items(struct cbor_write *w, uint64_t n)
{
	if (n > CBOR_READ_ITEMS - w->items) {
		err_set(&w->fail, ERR_LIMIT, "more than %d CBOR items",
		    CBOR_READ_ITEMS);
		return false;
	}
	w->items += (uint32_t)n;
	return true;
}

/* Before every item: is one due here? */
static bool
item_begin(struct cbor_write *w)
{
	if (w->fail.code != 0)
		return false;
	assert(w->raw_left == 0);	/* a byte string is unfinished */
	assert(w->level[w->depth].left > 0);
	w->level[w->depth].item_off = w->out->len;
	return true;
}

/* The item at item_off is a key, now whole. */
static void
key_done(struct cbor_write *w)
{
	const uint8_t *p = w->out->p;
	size_t off = w->level[w->depth].item_off;
	size_t last = w->level[w->depth].last_off;
	size_t len = w->out->len - off;
	size_t last_len = w->level[w->depth].last_len;
	int c;

	if (last != SIZE_MAX) {
		c = memcmp(p + last, p + off, len < last_len ? len : last_len);
		assert(c < 0);		/* keys ascend; no prefix is a key */
	}
	w->level[w->depth].last_off = off;
	w->level[w->depth].last_len = len;
}

/* After every item: count it, and leave the containers that it fills. */
static void
item_end(struct cbor_write *w)
{
	if (w->fail.code != 0)
		return;
	for (;;) {
		/* An even number left of a map's 2n: a key is whole. */
		if (w->level[w->depth].is_map &&
		    w->level[w->depth].left % 2 == 0)
			key_done(w);
		if (--w->level[w->depth].left > 0 || w->depth == 0)
			return;
		w->depth--;
	}
}

static void
put(struct cbor_write *w, const void *p, size_t n)
{
	if (w->fail.code == 0)
		(void)bytes_append(w->out, p, n, &w->fail);
}

/* An item's head by libcbor's encoders, which emit the shortest form. */
static void
put_head(struct cbor_write *w, enum head kind, uint64_t v)
{
	unsigned char head[HEAD_MAX];
	size_t n = 0;

	switch (kind) {
	case HEAD_UINT:
		n = cbor_encode_uint(v, head, sizeof(head));
		break;
	case HEAD_NINT:
		n = cbor_encode_negint(v, head, sizeof(head));
		break;
	case HEAD_BYTES:
		n = cbor_encode_bytestring_start(v, head, sizeof(head));
		break;
	case HEAD_TEXT:
		n = cbor_encode_string_start(v, head, sizeof(head));
		break;
	case HEAD_ARRAY:
		n = cbor_encode_array_start(v, head, sizeof(head));
		break;
	case HEAD_MAP:
		n = cbor_encode_map_start(v, head, sizeof(head));
		break;
	}
	assert(n == cbor_write_head_len(v));
	put(w, head, n);
}

void
cbor_write_uint(struct cbor_write *w, uint64_t v)
{
	if (!item_begin(w))
		return;
	put_head(w, HEAD_UINT, v);
	item_end(w);
}

void
cbor_write_int(struct cbor_write *w, int64_t v)
{
	if (!item_begin(w))
		return;
	if (v >= 0)
		put_head(w, HEAD_UINT, (uint64_t)v);
	else
		put_head(w, HEAD_NINT, (uint64_t)(-1 - v));
	item_end(w);
}

void
cbor_write_bool(struct cbor_write *w, bool v)
{
	unsigned char head[HEAD_MAX];

	if (!item_begin(w))
		return;
	put(w, head, cbor_encode_bool(v, head, sizeof(head)));
	item_end(w);
}

void
cbor_write_null(struct cbor_write *w)
{
	unsigned char head[HEAD_MAX];

	if (!item_begin(w))
		return;
	put(w, head, cbor_encode_null(head, sizeof(head)));
	item_end(w);
}

void
cbor_write_bytes(struct cbor_write *w, const void *p, size_t n)
{
	cbor_write_bytes_head(w, n);
	if (n > 0)
		cbor_write_raw(w, p, n);
}

void
cbor_write_text(struct cbor_write *w, const char *p, size_t n)
{
	assert(utf8_is_valid(p, n));
	if (!item_begin(w))
		return;
	put_head(w, HEAD_TEXT, n);
	put(w, p, n);
	item_end(w);
}

void
cbor_write_str(struct cbor_write *w, const char *s)
{
	cbor_write_text(w, s, strlen(s));
}

static void
enter(struct cbor_write *w, uint64_t items, bool is_map)
{
	if (w->fail.code != 0 || !count_items(w, items))
		return;
	assert(w->depth < CBOR_WRITE_DEPTH);
	if (items == 0) {
		item_end(w);
		return;
	}
	w->depth++;
	w->level[w->depth].left = items;
	w->level[w->depth].is_map = is_map;
	w->level[w->depth].last_off = SIZE_MAX;
}

void
cbor_write_array(struct cbor_write *w, size_t n)
{
	if (!item_begin(w))
		return;
	put_head(w, HEAD_ARRAY, n);
	enter(w, n, false);
}

void
cbor_write_map(struct cbor_write *w, size_t n)
{
	if (!item_begin(w))
		return;
	put_head(w, HEAD_MAP, n);
	enter(w, n > SIZE_MAX / 2 ? SIZE_MAX : 2 * n, true);
}

void
cbor_write_bytes_head(struct cbor_write *w, size_t n)
{
	if (!item_begin(w))
		return;
	put_head(w, HEAD_BYTES, n);
	w->raw_left = n;
	if (n == 0)
		item_end(w);
}

void
cbor_write_raw(struct cbor_write *w, const void *p, size_t n)
{
	if (w->fail.code != 0 || n == 0)
		return;
	assert(n <= w->raw_left);
	put(w, p, n);
	w->raw_left -= n;
	if (w->raw_left == 0)
		item_end(w);
}

void
cbor_write_item(struct cbor_write *w, const void *p, size_t n)
{
	struct cbor_read r;

	cbor_read_begin(&r, p, n);
	(void)cbor_read_item(&r, NULL, NULL, NULL);
	(void)cbor_read_end(&r, NULL);
	assert(cbor_read_fault(&r) == CBOR_FAULT_NONE);
	/* Its outermost item was counted with the container. */
	if (!item_begin(w) || !count_items(w, r.items - 1))
		return;
	put(w, p, n);
	item_end(w);
}

int
cbor_write_end(struct cbor_write *w, struct err *e)
{
	if (w->fail.code != 0) {
		bytes_truncate(w->out, w->start);
		if (e != NULL)
			*e = w->fail;
		return w->fail.code;
	}
	assert(w->depth == 0 && w->level[0].left == 0 && w->raw_left == 0);
	return 0;
}

size_t
cbor_write_head_len(uint64_t n)
{
	if (n < 24)
		return 1;
	if (n <= UINT8_MAX)
		return 2;
	if (n <= UINT16_MAX)
		return 3;
	return n <= UINT32_MAX ? 5 : HEAD_MAX;
}
