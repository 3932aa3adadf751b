/*
 * cbor_head.c - a head by libcbor's stateless decoder.  The initial byte is
 * judged here before, so that what libcbor's releases treat differently (0.8
 * calls tags 6..20 malformed) makes no difference.  Its "required" is not
 * used at all: on 0.8 it wraps for huge lengths.
 *
 * It must not allocate or look beyond its input.
 */
#include <cbor.h>
#include <string.h>

#include "base/cbor_head.h"
#include "base/cbor_write.h"
#include "base/utf8.h"

static void
on_uint8(void *arg, uint8_t v)
{
	((struct cbor_head *)arg)->arg = v;
}

static void
on_uint16(void *arg, uint16_t v)
{
	((struct cbor_head *)arg)->arg = v;
}

static void
on_uint32(void *arg, uint32_t v)
{
	((struct cbor_head *)arg)->arg = v;
}

static void
on_uint64(void *arg, uint64_t v)
{
	((struct cbor_head *)arg)->arg = v;
}

static void
on_count(void *arg, size_t n)
{
	((struct cbor_head *)arg)->arg = n;
}

static void
on_string(void *arg, cbor_data p, size_t n)
{
	((struct cbor_head *)arg)->arg = n;
	((struct cbor_head *)arg)->p = p;
}

static void
on_bool(void *arg, bool v)
{
	((struct cbor_head *)arg)->arg = v;
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

enum cbor_fault
cbor_head_classify(uint8_t initial, enum cbor_item *type, size_t *len)
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
	*len = info < 24 ? 1 : 1 + ((size_t)1 << (info & 3));
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

static bool
is_string(enum cbor_item type)
{
	return type == CBOR_ITEM_BYTES || type == CBOR_ITEM_TEXT;
}

enum cbor_fault
cbor_head_decode(struct cbor_head *h, const uint8_t *p, size_t len)
{
	struct cbor_decoder_result d;
	struct cbor_head got;
	enum cbor_fault f;
	size_t head;

	memset(&got, 0, sizeof(got));
	if ((f = cbor_head_classify(p[0], &got.type, &got.size)) !=
	    CBOR_FAULT_NONE)
		return f;
	d = cbor_stream_decode(p, len, &callbacks, &got);
	if (d.status == CBOR_DECODER_NEDATA)
		return CBOR_FAULT_SHORT;
	head = got.size;
	if (is_string(got.type))
		got.size += got.arg;
	if (d.status != CBOR_DECODER_FINISHED || d.read != got.size)
		return CBOR_FAULT_MALFORMED;
	if (got.type != CBOR_ITEM_BOOL && got.type != CBOR_ITEM_NULL &&
	    head != cbor_write_head_len(got.arg))
		return CBOR_FAULT_LONG_FORM;
	if (got.type == CBOR_ITEM_TEXT && !utf8_is_valid(got.p, got.arg))
		return CBOR_FAULT_UTF8;
	*h = got;
	return CBOR_FAULT_NONE;
}
