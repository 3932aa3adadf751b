/*
 * cbor_echo.c - from the reader to the writer by their typed calls, not by
 * cbor_read_item(), whose work they check.
 */
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "tests/base/cbor_echo.h"

static int
copy_string(struct cbor_read *r, struct cbor_write *w, struct err *e)
{
	const uint8_t *p = NULL;
	const char *text = NULL;
	size_t n = 0, half;
	int c;

	if (cbor_read_peek(r) == CBOR_ITEM_TEXT) {
		if ((c = cbor_read_text(r, &text, &n, e)) == 0)
			cbor_write_text(w, text, n);
		return c;
	}
	if ((c = cbor_read_bytes(r, &p, &n, e)) != 0)
		return c;
	half = n / 2;
	cbor_write_bytes_head(w, n);
	cbor_write_raw(w, p, half);
	cbor_write_raw(w, p + half, n - half);
	return 0;
}

/* Recursion ends: the reader refuses depth 9. */
static int
copy_items(struct cbor_read *r, struct cbor_write *w, size_t n, struct err *e)
{
	int c = 0;

	for (; n > 0 && c == 0; n--)
		c = cbor_echo(r, w, e);
	return c;
}

int
cbor_echo(struct cbor_read *r, struct cbor_write *w, struct err *e)
{
	const uint8_t *p = NULL;
	uint64_t u = 0;
	size_t n = 0;
	bool b = false;
	int c;

	switch (cbor_read_peek(r)) {
	case CBOR_ITEM_UINT:
		if ((c = cbor_read_uint(r, &u, e)) == 0)
			cbor_write_uint(w, u);
		return c;
	case CBOR_ITEM_BYTES:
	case CBOR_ITEM_TEXT:
		return copy_string(r, w, e);
	case CBOR_ITEM_ARRAY:
		if ((c = cbor_read_array(r, &n, e)) != 0)
			return c;
		cbor_write_array(w, n);
		return copy_items(r, w, n, e);
	case CBOR_ITEM_MAP:
		if ((c = cbor_read_map(r, &n, e)) != 0)
			return c;
		cbor_write_map(w, n);
		return copy_items(r, w, 2 * n, e);
	case CBOR_ITEM_BOOL:
		if ((c = cbor_read_bool(r, &b, e)) == 0)
			cbor_write_bool(w, b);
		return c;
	case CBOR_ITEM_NULL:
		if ((c = cbor_read_null(r, e)) == 0)
			cbor_write_null(w);
		return c;
	case CBOR_ITEM_NINT:		/* may be below INT64_MIN */
	case CBOR_ITEM_REFUSED:
	case CBOR_ITEM_END:
		break;
	}
	if ((c = cbor_read_item(r, &p, &n, e)) == 0)
		cbor_write_item(w, p, n);
	return c;
}
