/*
 * cbor_read.c - the strict reader.  libcbor decodes one head at a time; the
 * initial byte is judged here before, so that what libcbor's releases treat
 * differently (0.8 calls tags 6..20 malformed) makes no difference.  Its
 * "required" is not used at all: on 0.8 it wraps for huge lengths.
 *
 * It must not allocate, recurse, or loop by an announced length.
 */
#include <assert.h>
#include <cbor.h>
#include <inttypes.h>
#include <string.h>

#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/err.h"
#include "base/utf8.h"

/* One decoded head, with a string's body behind it. */
struct token {
	enum cbor_item	 type;
	uint64_t	 arg;	/* value, length or count; -1 - value of NINT */
	const uint8_t	*p;	/* a string's body */
	size_t		 size;	/* bytes to move on by */
};

static void
on_uint8(void *arg, uint8_t v)
{
	((struct token *)arg)->arg = v;
}

static void
on_uint16(void *arg, uint16_t v)
{
	((struct token *)arg)->arg = v;
}

static void
on_uint32(void *arg, uint32_t v)
{
	((struct token *)arg)->arg = v;
}

static void
on_uint64(void *arg, uint64_t v)
{
	((struct token *)arg)->arg = v;
}

static void
on_count(void *arg, size_t n)
{
	((struct token *)arg)->arg = n;
}

static void
on_string(void *arg, cbor_data p, size_t n)
{
	((struct token *)arg)->arg = n;
	((struct token *)arg)->p = p;
}

static void
on_bool(void *arg, bool v)
{
	((struct token *)arg)->arg = v;
}

/* What the initial byte excludes never gets here, but libcbor calls without
 * looking for NULL. */
static const struct cbor_callbacks callbacks = {
	.uint8 = on_uint8,
	.uint16 = on_uint16,
	.uint32 = on_uint32,
	.uint64 = on_uint64,
	.negint8 = on_uint8,
	.negint16 = on_uint16,
	.negint32 = on_uint32,
	.negint64 = on_uint64,
	.byte_string = on_string,
	.string = on_string,
	.array_start = on_count,
	.map_start = on_count,
	.boolean = on_bool,
	.null = cbor_null_null_callback,
	.byte_string_start = cbor_null_byte_string_start_callback,
	.string_start = cbor_null_string_start_callback,
	.indef_array_start = cbor_null_indef_array_start_callback,
	.indef_map_start = cbor_null_indef_map_start_callback,
	.tag = cbor_null_tag_callback,
	.float2 = cbor_null_float2_callback,
	.float4 = cbor_null_float4_callback,
	.float8 = cbor_null_float8_callback,
	.undefined = cbor_null_undefined_callback,
	.indef_break = cbor_null_indef_break_callback,
};

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

/* What an initial byte begins (RFC 8949 section 3); *head is the length of
 * what it and its argument take. */
static enum cbor_fault
classify(uint8_t initial, enum cbor_item *type, size_t *head)
{
	static const enum cbor_item types[] = {
		CBOR_ITEM_UINT,
		CBOR_ITEM_NINT,
		CBOR_ITEM_BYTES,
		CBOR_ITEM_TEXT,
		CBOR_ITEM_ARRAY,
		CBOR_ITEM_MAP,
	};
	unsigned major = initial >> 5, info = initial & 0x1f;

	*type = CBOR_ITEM_REFUSED;
	*head = info < 24 ? 1 : 1 + ((size_t)1 << (info & 3));
	if (info > 27 && info < 31)
		return CBOR_FAULT_MALFORMED;
	if (info == 31)
		return major < 2 || major == 6 ? CBOR_FAULT_MALFORMED :
						 CBOR_FAULT_INDEFINITE;
	if (major == 6)
		return CBOR_FAULT_TAG;
	if (major < 6)
		*type = types[major];
	else if (info == 20 || info == 21)
		*type = CBOR_ITEM_BOOL;
	else if (info == 22)
		*type = CBOR_ITEM_NULL;
	else
		return CBOR_FAULT_SIMPLE;
	return CBOR_FAULT_NONE;
}

/* A container's head: may it stand here and can its items be there? */
static bool
check_container(struct cbor_read *r, struct token *t)
{
	size_t left = r->len - r->off - t->size;

	if (r->depth == CBOR_READ_DEPTH)
		return fault(r, CBOR_FAULT_DEPTH, r->off);
	if (t->arg > CBOR_READ_ITEMS)
		return fault(r, CBOR_FAULT_ITEMS, r->off);
	if (t->type == CBOR_ITEM_MAP)
		t->arg *= 2;
	if (t->arg > CBOR_READ_ITEMS - r->items)
		return fault(r, CBOR_FAULT_ITEMS, r->off);
	if (t->arg > left)
		return fault(r, CBOR_FAULT_SHORT, r->off);
	return true;
}

static bool
is_string(enum cbor_item type)
{
	return type == CBOR_ITEM_BYTES || type == CBOR_ITEM_TEXT;
}

static bool
is_container(enum cbor_item type)
{
	return type == CBOR_ITEM_ARRAY || type == CBOR_ITEM_MAP;
}

/* Decode the next head without moving on. */
static bool
look(struct cbor_read *r, struct token *t)
{
	struct cbor_decoder_result d;
	enum cbor_fault f;
	size_t head;

	memset(t, 0, sizeof(*t));
	if (r->fault != CBOR_FAULT_NONE)
		return false;
	if (r->off == r->len)
		return fault(r, CBOR_FAULT_SHORT, r->off);
	if (r->level[r->depth].left == 0)
		return fault(r, CBOR_FAULT_TRAILING, r->off);
	r->level[r->depth].item_off = r->off;
	if ((f = classify(r->p[r->off], &t->type, &head)) != CBOR_FAULT_NONE)
		return fault(r, f, r->off);
	d = cbor_stream_decode(r->p + r->off, r->len - r->off, &callbacks, t);
	if (d.status == CBOR_DECODER_NEDATA)
		return fault(r, CBOR_FAULT_SHORT, r->off);
	t->size = head;
	if (is_string(t->type))
		t->size += t->arg;
	if (d.status != CBOR_DECODER_FINISHED || d.read != t->size)
		return fault(r, CBOR_FAULT_MALFORMED, r->off);
	if (t->type != CBOR_ITEM_BOOL && t->type != CBOR_ITEM_NULL &&
	    head != cbor_write_head_len(t->arg))
		return fault(r, CBOR_FAULT_LONG_FORM, r->off);
	if (t->type == CBOR_ITEM_TEXT && !utf8_is_valid(t->p, t->arg))
		return fault(r, CBOR_FAULT_UTF8, r->off);
	return is_container(t->type) ? check_container(r, t) : true;
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
take(struct cbor_read *r, const struct token *t)
{
	r->off += t->size;
	if (is_container(t->type) && t->arg > 0) {
		r->items += (uint32_t)t->arg;
		r->depth++;
		r->level[r->depth].left = t->arg;
		r->level[r->depth].is_map = t->type == CBOR_ITEM_MAP;
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
    struct token *t)
{
	if (!look(r, t))
		return false;
	if (t->type != type)
		return fault_want(r, CBOR_FAULT_TYPE, what, 1, 0);
	return true;
}

enum cbor_item
cbor_read_peek(struct cbor_read *r)
{
	enum cbor_item type;
	size_t head;

	if (r->fault != CBOR_FAULT_NONE || r->level[r->depth].left == 0)
		return CBOR_ITEM_END;
	if (r->off == r->len)
		return CBOR_ITEM_REFUSED;
	(void)classify(r->p[r->off], &type, &head);
	return type;
}

int
cbor_read_uint(struct cbor_read *r, uint64_t *out, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_UINT, "an unsigned integer", &t) &&
	    take(r, &t))
		*out = t.arg;
	return report(r, e);
}

int
cbor_read_uint_range(struct cbor_read *r, uint64_t lo, uint64_t hi,
    uint64_t *out, struct err *e)
{
	struct token t;

	assert(lo <= hi);
	if (look_for(r, CBOR_ITEM_UINT, "an unsigned integer", &t)) {
		if (t.arg < lo || t.arg > hi)
			fault_want(r, CBOR_FAULT_RANGE, "an integer of", lo,
			    hi);
		else if (take(r, &t))
			*out = t.arg;
	}
	return report(r, e);
}

int
cbor_read_int(struct cbor_read *r, int64_t *out, struct err *e)
{
	struct token t;

	if (!look(r, &t))
		return report(r, e);
	if (t.type != CBOR_ITEM_UINT && t.type != CBOR_ITEM_NINT)
		fault_want(r, CBOR_FAULT_TYPE, "an integer", 1, 0);
	else if (t.arg > INT64_MAX)
		fault_want(r, CBOR_FAULT_RANGE, "an integer of 64 bits", 1, 0);
	else if (take(r, &t))
		*out = t.type == CBOR_ITEM_UINT ? (int64_t)t.arg :
						  -1 - (int64_t)t.arg;
	return report(r, e);
}

int
cbor_read_bool(struct cbor_read *r, bool *out, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_BOOL, "true or false", &t) && take(r, &t))
		*out = t.arg != 0;
	return report(r, e);
}

int
cbor_read_null(struct cbor_read *r, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_NULL, "null", &t))
		(void)take(r, &t);
	return report(r, e);
}

int
cbor_read_bytes(struct cbor_read *r, const uint8_t **p, size_t *n,
    struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_BYTES, "a byte string", &t) && take(r, &t)) {
		*p = t.p;
		*n = t.arg;
	}
	return report(r, e);
}

int
cbor_read_bytes_fixed(struct cbor_read *r, void *out, size_t n, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_BYTES, "a byte string", &t)) {
		if (t.arg != n)
			fault_want(r, CBOR_FAULT_RANGE,
			    "a byte string of length", n, n);
		else if (take(r, &t) && n > 0)
			memcpy(out, t.p, n);
	}
	return report(r, e);
}

int
cbor_read_text(struct cbor_read *r, const char **p, size_t *n, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_TEXT, "text", &t) && take(r, &t)) {
		*p = (const char *)t.p;
		*n = t.arg;
	}
	return report(r, e);
}

int
cbor_read_array(struct cbor_read *r, size_t *n, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_ARRAY, "an array", &t) && take(r, &t))
		*n = t.arg;
	return report(r, e);
}

int
cbor_read_map(struct cbor_read *r, size_t *pairs, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_MAP, "a map", &t) && take(r, &t))
		*pairs = t.arg / 2;
	return report(r, e);
}

int
cbor_read_array_fixed(struct cbor_read *r, size_t n, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_ARRAY, "an array", &t)) {
		if (t.arg != n)
			fault_want(r, CBOR_FAULT_RANGE, "an array of length", n,
			    n);
		else
			(void)take(r, &t);
	}
	return report(r, e);
}

int
cbor_read_map_fixed(struct cbor_read *r, size_t pairs, struct err *e)
{
	struct token t;

	if (look_for(r, CBOR_ITEM_MAP, "a map", &t)) {
		if (t.arg / 2 != pairs)
			fault_want(r, CBOR_FAULT_RANGE, "a map of length",
			    pairs, pairs);
		else
			(void)take(r, &t);
	}
	return report(r, e);
}

int
cbor_read_key(struct cbor_read *r, uint64_t key, struct err *e)
{
	struct token t;

	if (look(r, &t)) {
		if (!is_at_key(r) || t.type != CBOR_ITEM_UINT || t.arg != key)
			fault_want(r, CBOR_FAULT_KEY, "map key", key, key);
		else
			(void)take(r, &t);
	}
	return report(r, e);
}

int
cbor_read_item(struct cbor_read *r, const uint8_t **p, size_t *n, struct err *e)
{
	struct token t;
	size_t off = r->off;
	unsigned depth = r->depth;
	bool ok;

	/* Ends: each turn takes an item, of which there are CBOR_READ_ITEMS. */
	do {
		ok = look(r, &t) && take(r, &t);
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
