/*
 * cbor_read.c - the strict reader: structure, order and caps over the heads
 * that cbor_head decodes.
 *
 * It must not allocate, recurse, or loop by an announced length.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/cbor_head.h"
#include "base/cbor_read.h"
#include "base/err.h"

void
cbor_read_begin(struct cbor_read *r, const void *p, size_t len)
{
	memset(r, 0, sizeof(*r));
	r->p = p;
	r->len = len;
	r->items = 1;
	r->level[0].left = 1;
	r->level[0].last_off = SIZE_MAX;
}

enum cbor_fault
cbor_read_fault(const struct cbor_read *r)
{
	return r->fault;
}

size_t
cbor_read_offset(const struct cbor_read *r)
{
	return r->off;
}

/* Always false, so that "return fault(...)" reads well. */
static bool
fault(struct cbor_read *r, enum cbor_fault f, size_t off)
{
	if (r->fault == CBOR_FAULT_NONE) {
		r->fault = f;
		r->fault_off = off;
	}
	return false;
}

/* A fault of something else than what was wanted; lo > hi: no numbers. */
static bool
fault_want(struct cbor_read *r, enum cbor_fault f, const char *want,
    uint64_t lo, uint64_t hi)
{
	if (r->fault == CBOR_FAULT_NONE) {
		r->want = want;
		r->lo = lo;
		r->hi = hi;
	}
	return fault(r, f, r->off);
}

static int
report(const struct cbor_read *r, struct err *e)
{
	static const char *const text[] = {
		[CBOR_FAULT_SHORT] = "cut short",
		[CBOR_FAULT_MALFORMED] = "not CBOR",
		[CBOR_FAULT_INDEFINITE] = "indefinite length",
		[CBOR_FAULT_LONG_FORM] = "not the shortest form",
		[CBOR_FAULT_DEPTH] = "nested too deep",
		[CBOR_FAULT_ITEMS] = "too many items",
		[CBOR_FAULT_ORDER] = "map keys are not in order",
		[CBOR_FAULT_DUPLICATE] = "a map key comes twice",
		[CBOR_FAULT_UTF8] = "text is not UTF-8",
		[CBOR_FAULT_TAG] = "a tag, which is not allowed here",
		[CBOR_FAULT_SIMPLE] = "a float or simple value that is not "
		    "allowed here",
		[CBOR_FAULT_TRAILING] = "bytes after the end",
		[CBOR_FAULT_UNREAD] = "more items than expected",
	};

	if (r->fault == CBOR_FAULT_NONE)
		return 0;
	if (r->want == NULL)
		return err_set(e, ERR_FORMAT, "CBOR at byte %zu: %s",
		    r->fault_off, text[r->fault]);
	if (r->lo > r->hi)
		return err_set(e, ERR_FORMAT, "CBOR at byte %zu: expected %s",
		    r->fault_off, r->want);
	if (r->lo == r->hi)
		return err_set(e, ERR_FORMAT,
		    "CBOR at byte %zu: expected %s %" PRIu64, r->fault_off,
		    r->want, r->lo);
	return err_set(e, ERR_FORMAT,
	    "CBOR at byte %zu: expected %s %" PRIu64 " to %" PRIu64,
	    r->fault_off, r->want, r->lo, r->hi);
}

/* A container's head: may it stand here and can its items be there? */
static bool
check_container(struct cbor_read *r, struct cbor_head *h)
{
	size_t left = r->len - r->off - h->size;

	if (r->depth == CBOR_READ_DEPTH)
		return fault(r, CBOR_FAULT_DEPTH, r->off);
	if (h->arg > CBOR_READ_ITEMS)
		return fault(r, CBOR_FAULT_ITEMS, r->off);
	if (h->type == CBOR_ITEM_MAP)
		h->arg *= 2;
	if (h->arg > CBOR_READ_ITEMS - r->items)
		return fault(r, CBOR_FAULT_ITEMS, r->off);
	if (h->arg > left)
		return fault(r, CBOR_FAULT_SHORT, r->off);
	return true;
}

static bool
is_container(enum cbor_item type)
{
	return type == CBOR_ITEM_ARRAY || type == CBOR_ITEM_MAP;
}

/* Decode the next head without moving on. */
static bool
look(struct cbor_read *r, struct cbor_head *h)
{
	enum cbor_fault f;

	if (r->fault != CBOR_FAULT_NONE)
		return false;
	if (r->off == r->len)
		return fault(r, CBOR_FAULT_SHORT, r->off);
	if (r->level[r->depth].left == 0)
		return fault(r, CBOR_FAULT_TRAILING, r->off);
	r->level[r->depth].item_off = r->off;
	f = cbor_head_decode(h, r->p + r->off, r->len - r->off);
	if (f != CBOR_FAULT_NONE)
		return fault(r, f, r->off);
	return is_container(h->type) ? check_container(r, h) : true;
}

/* The item at item_off is a key, now whole: compare it with the one before. */
static bool
key_done(struct cbor_read *r)
{
	size_t off = r->level[r->depth].item_off, len = r->off - off;
	size_t last = r->level[r->depth].last_off;
	size_t last_len = r->level[r->depth].last_len;
	int c;

	if (last != SIZE_MAX) {
		/* No item is a prefix of another: 0 means equal. */
		c = memcmp(r->p + last, r->p + off,
		    len < last_len ? len : last_len);
		if (c == 0)
			return fault(r, CBOR_FAULT_DUPLICATE, off);
		if (c > 0)
			return fault(r, CBOR_FAULT_ORDER, off);
	}
	r->level[r->depth].last_off = off;
	r->level[r->depth].last_len = len;
	return true;
}

/* Is a map's key due (or being read) at this level? */
static bool
is_at_key(const struct cbor_read *r)
{
	return r->level[r->depth].is_map && r->level[r->depth].left % 2 == 0;
}

/* Move on behind what look() found, and leave the containers it fills. */
static bool
take(struct cbor_read *r, const struct cbor_head *h)
{
	r->off += h->size;
	if (is_container(h->type) && h->arg > 0) {
		r->items += (uint32_t)h->arg;
		r->depth++;
		r->level[r->depth].left = h->arg;
		r->level[r->depth].is_map = h->type == CBOR_ITEM_MAP;
		r->level[r->depth].last_off = SIZE_MAX;
		return true;
	}
	for (;;) {
		if (is_at_key(r) && !key_done(r))
			return false;
		if (--r->level[r->depth].left > 0 || r->depth == 0)
			return true;
		r->depth--;
	}
}

/* look() for one type, called what in the message. */
static bool
look_for(struct cbor_read *r, enum cbor_item type, const char *what,
    struct cbor_head *h)
{
	if (!look(r, h))
		return false;
	if (h->type != type)
		return fault_want(r, CBOR_FAULT_TYPE, what, 1, 0);
	return true;
}

enum cbor_item
cbor_read_peek(struct cbor_read *r)
{
	enum cbor_item type;
	size_t len;

	if (r->fault != CBOR_FAULT_NONE || r->level[r->depth].left == 0)
		return CBOR_ITEM_END;
	if (r->off == r->len)
		return CBOR_ITEM_REFUSED;
	(void)cbor_head_classify(r->p[r->off], &type, &len);
	return type;
}

int
cbor_read_uint(struct cbor_read *r, uint64_t *out, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_UINT, "an unsigned integer", &h) &&
	    take(r, &h))
		*out = h.arg;
	return report(r, e);
}

int
cbor_read_uint_range(struct cbor_read *r, uint64_t lo, uint64_t hi,
    uint64_t *out, struct err *e)
{
	struct cbor_head h;

	assert(lo <= hi);
	if (look_for(r, CBOR_ITEM_UINT, "an unsigned integer", &h)) {
		if (h.arg < lo || h.arg > hi)
			fault_want(r, CBOR_FAULT_RANGE, "an integer of", lo,
			    hi);
		else if (take(r, &h))
			*out = h.arg;
	}
	return report(r, e);
}

int
cbor_read_int(struct cbor_read *r, int64_t *out, struct err *e)
{
	struct cbor_head h;

	if (!look(r, &h))
		return report(r, e);
	if (h.type != CBOR_ITEM_UINT && h.type != CBOR_ITEM_NINT)
		fault_want(r, CBOR_FAULT_TYPE, "an integer", 1, 0);
	else if (h.arg > INT64_MAX)
		fault_want(r, CBOR_FAULT_RANGE, "an integer of 64 bits", 1, 0);
	else if (take(r, &h))
		*out = h.type == CBOR_ITEM_UINT ? (int64_t)h.arg :
						  -1 - (int64_t)h.arg;
	return report(r, e);
}

int
cbor_read_bool(struct cbor_read *r, bool *out, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_BOOL, "true or false", &h) && take(r, &h))
		*out = h.arg != 0;
	return report(r, e);
}

int
cbor_read_null(struct cbor_read *r, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_NULL, "null", &h))
		(void)take(r, &h);
	return report(r, e);
}

int
cbor_read_bytes(struct cbor_read *r, const uint8_t **p, size_t *n,
    struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_BYTES, "a byte string", &h) && take(r, &h)) {
		*p = h.p;
		*n = h.arg;
	}
	return report(r, e);
}

int
cbor_read_bytes_fixed(struct cbor_read *r, void *out, size_t n, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_BYTES, "a byte string", &h)) {
		if (h.arg != n)
			fault_want(r, CBOR_FAULT_RANGE,
			    "a byte string of length", n, n);
		else if (take(r, &h) && n > 0)
			memcpy(out, h.p, n);
	}
	return report(r, e);
}

int
cbor_read_text(struct cbor_read *r, const char **p, size_t *n, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_TEXT, "text", &h) && take(r, &h)) {
		*p = (const char *)h.p;
		*n = h.arg;
	}
	return report(r, e);
}

int
cbor_read_array(struct cbor_read *r, size_t *n, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_ARRAY, "an array", &h) && take(r, &h))
		*n = h.arg;
	return report(r, e);
}

int
cbor_read_map(struct cbor_read *r, size_t *pairs, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_MAP, "a map", &h) && take(r, &h))
		*pairs = h.arg / 2;
	return report(r, e);
}

int
cbor_read_array_fixed(struct cbor_read *r, size_t n, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_ARRAY, "an array", &h)) {
		if (h.arg != n)
			fault_want(r, CBOR_FAULT_RANGE, "an array of length", n,
			    n);
		else
			(void)take(r, &h);
	}
	return report(r, e);
}

int
cbor_read_map_fixed(struct cbor_read *r, size_t pairs, struct err *e)
{
	struct cbor_head h;

	if (look_for(r, CBOR_ITEM_MAP, "a map", &h)) {
		if (h.arg / 2 != pairs)
			fault_want(r, CBOR_FAULT_RANGE, "a map of length",
			    pairs, pairs);
		else
			(void)take(r, &h);
	}
	return report(r, e);
}

int
cbor_read_key(struct cbor_read *r, uint64_t key, struct err *e)
{
	struct cbor_head h;

	if (look(r, &h)) {
		if (!is_at_key(r) || h.type != CBOR_ITEM_UINT || h.arg != key)
			fault_want(r, CBOR_FAULT_KEY, "map key", key, key);
		else
			(void)take(r, &h);
	}
	return report(r, e);
}

int
cbor_read_item(struct cbor_read *r, const uint8_t **p, size_t *n, struct err *e)
{
	struct cbor_head h;
	size_t off = r->off;
	unsigned depth = r->depth;
	bool ok;

	/* Ends: each turn takes an item, of which there are CBOR_READ_ITEMS. */
	do {
		ok = look(r, &h) && take(r, &h);
	} while (ok && r->depth > depth);
	if (ok && p != NULL)
		*p = r->p + off;
	if (ok && n != NULL)
		*n = r->off - off;
	return report(r, e);
}

int
cbor_read_end(struct cbor_read *r, struct err *e)
{
	if (r->fault == CBOR_FAULT_NONE && r->level[r->depth].left > 0)
		fault(r,
		    r->off == r->len ? CBOR_FAULT_SHORT : CBOR_FAULT_UNREAD,
		    r->off);
	else if (r->off < r->len)
		fault(r, CBOR_FAULT_TRAILING, r->off);
	return report(r, e);
}
