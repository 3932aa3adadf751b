/*
 * fuzz_cbor_read.c - the strict reader, three ways: a whole item at once,
 * piece by piece into the writer, and by calls that do not fit the input.
 *
 * The first two must agree on every fault and its place; what reads well
 * must be written back to the same bytes; and nothing handed out may lie
 * outside the input.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/err.h"
#include "tests/base/cbor_echo.h"
#include "tests/fuzz/fuzz_check.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* What a string's call hands out; *n is also a container's count. */
struct got {
	const uint8_t	*bytes;
	const char	*text;
	size_t		 n;
};

static void
one_call(struct cbor_read *r, unsigned which, uint64_t key, struct got *got)
{
	uint8_t four[4];
	uint64_t u;
	int64_t v;
	bool b;

	switch (which) {
	case 0:
		(void)cbor_read_uint(r, &u, NULL);
		return;
	case 1:
		(void)cbor_read_uint_range(r, 1, 9, &u, NULL);
		return;
	case 2:
		(void)cbor_read_int(r, &v, NULL);
		return;
	case 3:
		(void)cbor_read_bool(r, &b, NULL);
		return;
	case 4:
		(void)cbor_read_null(r, NULL);
		return;
	case 5:
		(void)cbor_read_bytes(r, &got->bytes, &got->n, NULL);
		return;
	case 6:
		(void)cbor_read_bytes_fixed(r, four, sizeof(four), NULL);
		return;
	case 7:
		(void)cbor_read_text(r, &got->text, &got->n, NULL);
		return;
	case 8:
		(void)cbor_read_array(r, &got->n, NULL);
		return;
	case 9:
		(void)cbor_read_map(r, &got->n, NULL);
		return;
	case 10:
		(void)cbor_read_array_fixed(r, 2, NULL);
		return;
	case 11:
		(void)cbor_read_map_fixed(r, 2, NULL);
		return;
	case 12:
		(void)cbor_read_key(r, key, NULL);
		return;
	default:
		(void)cbor_read_item(r, &got->bytes, &got->n, NULL);
		return;
	}
}

/* Calls chosen by the input's own bytes, from its end. */
static void
drunk(const uint8_t *p, size_t len)
{
	const char *text = (const char *)p;
	struct cbor_read r;
	struct got got;
	size_t i, at;

	cbor_read_begin(&r, p, len);
	for (i = 0; i < len && i < 64; i++) {
		got = (struct got){ p, text, 0 };
		at = cbor_read_offset(&r);
		one_call(&r, p[len - 1 - i] % 14, i, &got);
		fuzz_check(got.bytes >= p && got.text >= text);
		fuzz_check(got.n <= len - (size_t)(got.bytes - p));
		fuzz_check(got.n <= len - (size_t)(got.text - text));
		fuzz_check(cbor_read_offset(&r) >= at &&
		    cbor_read_offset(&r) <= len);
		fuzz_check(cbor_read_fault(&r) == CBOR_FAULT_NONE ||
		    cbor_read_peek(&r) == CBOR_ITEM_END);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct bytes out = BYTES_INIT(len);
	struct cbor_read whole, parts;
	struct cbor_write w;
	struct err e1 = ERR_INIT, e2 = ERR_INIT;
	const uint8_t *at = NULL;
	size_t n = 0;
	int r;

	cbor_read_begin(&whole, p, len);
	(void)cbor_read_item(&whole, &at, &n, &e1);
	r = cbor_read_end(&whole, &e1);
	fuzz_check((r == 0) == (cbor_read_fault(&whole) == CBOR_FAULT_NONE));

	cbor_read_begin(&parts, p, len);
	cbor_write_begin(&w, &out);
	if (cbor_echo(&parts, &w, &e2) == 0)
		(void)cbor_read_end(&parts, &e2);
	fuzz_check(cbor_read_fault(&parts) == cbor_read_fault(&whole));
	fuzz_check(strcmp(e1.msg, e2.msg) == 0);
	if (r == 0) {
		fuzz_check(at == p && n == len);
		fuzz_check(cbor_write_end(&w, &e2) == 0);
		fuzz_check(out.len == len && memcmp(out.p, p, len) == 0);
	} else
		fuzz_check(e1.code == ERR_FORMAT && e1.msg[0] != '\0');
	bytes_free(&out);
	drunk(p, len);
	return 0;
}
