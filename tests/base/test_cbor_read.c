/*
 * test_cbor_read.c - the strict reader: what it takes, what it refuses and
 * by which fault, and its caps.  test_cbor_cost.c: what hostile input costs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cbor_read.h"
#include "tests/test_util.h"

/* A whole input as one item, by cbor_read_item() and cbor_read_end(). */
static const struct {
	const char	*name;
	enum cbor_fault	 want;
	size_t		 off;		/* of the fault */
	const char	*hex;
} items[] = {
	{ "zero",		CBOR_FAULT_NONE, 0, "00" },
	{ "nothing",		CBOR_FAULT_SHORT, 0, "" },
	{ "trailing byte",	CBOR_FAULT_TRAILING, 1, "a000" },
	{ "trailing item",	CBOR_FAULT_TRAILING, 1, "0000" },
	{ "trailing junk",	CBOR_FAULT_TRAILING, 1, "00ff" },

	{ "uint without byte",	CBOR_FAULT_SHORT, 0, "18" },
	{ "uint64, cut",	CBOR_FAULT_SHORT, 0, "1b00000001000000" },
	{ "bytes, cut",		CBOR_FAULT_SHORT, 0, "4401020f" },
	{ "text, cut",		CBOR_FAULT_SHORT, 0, "6261" },
	{ "array, none there",	CBOR_FAULT_SHORT, 0, "8200" },
	{ "array, cut inside",	CBOR_FAULT_SHORT, 3, "83000018" },
	{ "map, value missing",	CBOR_FAULT_SHORT, 0, "a100" },
	{ "map, value cut",	CBOR_FAULT_SHORT, 2, "a10041" },
	{ "length 2^64-1",	CBOR_FAULT_SHORT, 0, "5bffffffffffffffff" },
	{ "length 2^64-9",	CBOR_FAULT_SHORT, 0, "5bfffffffffffffff700" },
	{ "text 2^64-9",	CBOR_FAULT_SHORT, 0, "7bfffffffffffffff700" },
	{ "length 2^63",	CBOR_FAULT_SHORT, 0, "5b800000000000000000" },

	{ "reserved 1c",	CBOR_FAULT_MALFORMED, 0, "1c" },
	{ "reserved 3d",	CBOR_FAULT_MALFORMED, 0, "3d" },
	{ "reserved 5e",	CBOR_FAULT_MALFORMED, 0, "5e" },
	{ "reserved 7c",	CBOR_FAULT_MALFORMED, 0, "7c" },
	{ "reserved 9d",	CBOR_FAULT_MALFORMED, 0, "9d" },
	{ "reserved be",	CBOR_FAULT_MALFORMED, 0, "be" },
	{ "reserved dc",	CBOR_FAULT_MALFORMED, 0, "dc" },
	{ "reserved fe",	CBOR_FAULT_MALFORMED, 0, "fe" },
	{ "endless uint",	CBOR_FAULT_MALFORMED, 0, "1f" },
	{ "endless nint",	CBOR_FAULT_MALFORMED, 0, "3f" },
	{ "endless tag",	CBOR_FAULT_MALFORMED, 0, "df" },

	{ "endless bytes",	CBOR_FAULT_INDEFINITE, 0, "5f420102ff" },
	{ "endless text",	CBOR_FAULT_INDEFINITE, 0, "7f6161ff" },
	{ "endless array",	CBOR_FAULT_INDEFINITE, 0, "9fff" },
	{ "endless map",	CBOR_FAULT_INDEFINITE, 0, "bf6161019fff" },
	{ "nested endless",	CBOR_FAULT_INDEFINITE, 5, "83018202039f04ff" },
	{ "break alone",	CBOR_FAULT_INDEFINITE, 0, "ff" },
	{ "break as item",	CBOR_FAULT_INDEFINITE, 1, "81ff" },

	{ "23 in two bytes",	CBOR_FAULT_LONG_FORM, 0, "1817" },
	{ "24 in two bytes",	CBOR_FAULT_NONE, 0, "1818" },
	{ "255 in three",	CBOR_FAULT_LONG_FORM, 0, "1900ff" },
	{ "256 in three",	CBOR_FAULT_NONE, 0, "190100" },
	{ "65535 in five",	CBOR_FAULT_LONG_FORM, 0, "1a0000ffff" },
	{ "65536 in five",	CBOR_FAULT_NONE, 0, "1a00010000" },
	{ "2^32-1 in nine",	CBOR_FAULT_LONG_FORM, 0, "1b00000000ffffffff" },
	{ "2^32 in nine",	CBOR_FAULT_NONE, 0, "1b0000000100000000" },
	{ "-24 in two bytes",	CBOR_FAULT_LONG_FORM, 0, "3817" },
	{ "-256 in three",	CBOR_FAULT_LONG_FORM, 0, "3900ff" },
	{ "-65536 in five",	CBOR_FAULT_LONG_FORM, 0, "3a0000ffff" },
	{ "-2^32 in nine",	CBOR_FAULT_LONG_FORM, 0, "3b00000000ffffffff" },
	{ "-2^64",		CBOR_FAULT_NONE, 0, "3bffffffffffffffff" },
	{ "long bytes length",	CBOR_FAULT_LONG_FORM, 0, "580101" },
	{ "longest length 0",	CBOR_FAULT_LONG_FORM, 0, "5b0000000000000000" },
	{ "long text length",	CBOR_FAULT_LONG_FORM, 0, "79000161" },
	{ "long array count",	CBOR_FAULT_LONG_FORM, 0, "980100" },
	{ "long map count",	CBOR_FAULT_LONG_FORM, 0, "b8010000" },
	{ "long int in map",	CBOR_FAULT_LONG_FORM, 1, "a1180500" },

	{ "depth 8",		CBOR_FAULT_NONE, 0, "818181818181818100" },
	{ "depth 8, empty",	CBOR_FAULT_NONE, 0, "8181818181818180" },
	{ "depth 9, empty",	CBOR_FAULT_DEPTH, 8, "818181818181818180" },
	{ "depth 9",		CBOR_FAULT_DEPTH, 8, "81818181818181818100" },
	{ "depth 9 by maps", CBOR_FAULT_DEPTH, 16,
	    "a100a100a100a100a100a100a100a100a10000" },
	{ "two times depth 8", CBOR_FAULT_NONE, 0,
	    "8281818181818181008181818181818100" },

	{ "huge count",		CBOR_FAULT_ITEMS, 0, "9a08000000" },
	{ "huge map",		CBOR_FAULT_ITEMS, 0, "ba08000000" },
	{ "count 2^64-1",	CBOR_FAULT_ITEMS, 0, "9bffffffffffffffff" },
	{ "map of 2^63",	CBOR_FAULT_ITEMS, 0, "bb8000000000000000" },
	{ "map of 2^64-1",	CBOR_FAULT_ITEMS, 0, "bbffffffffffffffff" },

	{ "keys in order",	CBOR_FAULT_NONE, 0, "a3000101010301" },
	{ "keys reversed",	CBOR_FAULT_ORDER, 3, "a201010001" },
	{ "key twice",		CBOR_FAULT_DUPLICATE, 3, "a200010001" },
	{ "key twice, later",	CBOR_FAULT_DUPLICATE, 5, "a30001010101f5" },
	{ "24 after -1",	CBOR_FAULT_ORDER, 3, "a220f51818f5" },
	{ "-1 after 24",	CBOR_FAULT_NONE, 0, "a21818f520f5" },
	{ "z before aa",	CBOR_FAULT_NONE, 0, "a2617af5626161f5" },
	{ "aa before z",	CBOR_FAULT_ORDER, 5, "a2626161f5617af5" },
	{ "text before bytes",	CBOR_FAULT_ORDER, 4, "a26161f54161f5" },
	{ "bytes before text",	CBOR_FAULT_NONE, 0, "a24161f56161f5" },
	{ "arrays as keys",	CBOR_FAULT_NONE, 0, "a28100f58101f5" },
	{ "the same arrays",	CBOR_FAULT_DUPLICATE, 4, "a28100f58100f5" },
	{ "arrays reversed",	CBOR_FAULT_ORDER, 4, "a28101f58100f5" },
	{ "maps as keys",	CBOR_FAULT_ORDER, 5, "a2a100f500a10000f4" },
	{ "empty map as key",	CBOR_FAULT_NONE, 0, "a28000a000" },
	{ "order per map",	CBOR_FAULT_NONE, 0, "a201a2000001000200" },
	{ "inner duplicate",	CBOR_FAULT_DUPLICATE, 5, "a201a2000000000200" },

	{ "UTF-8",		CBOR_FAULT_NONE, 0, "63e6b0b4" },
	{ "Latin-1",		CBOR_FAULT_UTF8, 0, "61fc" },
	{ "overlong",		CBOR_FAULT_UTF8, 0, "62c080" },
	{ "surrogate",		CBOR_FAULT_UTF8, 0, "63eda080" },
	{ "sequence cut",	CBOR_FAULT_UTF8, 0, "62e6b0" },
	{ "not text as a key",	CBOR_FAULT_UTF8, 1, "a161ff00" },
	{ "ff as bytes",	CBOR_FAULT_NONE, 0, "41ff" },

	{ "tag 0",		CBOR_FAULT_TAG, 0, "c06161" },
	{ "tag 2, bignum",	CBOR_FAULT_TAG, 0, "c249010000000000000000" },
	{ "tag 6",		CBOR_FAULT_TAG, 0, "c600" },
	{ "tag 18, Sign1",	CBOR_FAULT_TAG, 0, "d28440a04040" },
	{ "tag 20",		CBOR_FAULT_TAG, 0, "d400" },
	{ "tag 21",		CBOR_FAULT_TAG, 0, "d500" },
	{ "tag 32",		CBOR_FAULT_TAG, 0, "d8206161" },
	{ "tag 55799",		CBOR_FAULT_TAG, 0, "d9d9f700" },
	{ "tag in array",	CBOR_FAULT_TAG, 2, "8200c100" },

	{ "false",		CBOR_FAULT_NONE, 0, "f4" },
	{ "true",		CBOR_FAULT_NONE, 0, "f5" },
	{ "null",		CBOR_FAULT_NONE, 0, "f6" },
	{ "undefined",		CBOR_FAULT_SIMPLE, 0, "f7" },
	{ "simple 0",		CBOR_FAULT_SIMPLE, 0, "e0" },
	{ "simple 19",		CBOR_FAULT_SIMPLE, 0, "f3" },
	{ "simple 255",		CBOR_FAULT_SIMPLE, 0, "f8ff" },
	{ "true in two bytes",	CBOR_FAULT_SIMPLE, 0, "f815" },
	{ "half",		CBOR_FAULT_SIMPLE, 0, "f90000" },
	{ "single",		CBOR_FAULT_SIMPLE, 0, "fa47c35000" },
	{ "double",		CBOR_FAULT_SIMPLE, 0, "fb3ff199999999999a" },
	{ "half, cut",		CBOR_FAULT_SIMPLE, 0, "f900" },
};

static void
test_items(void **state)
{
	struct cbor_read r;
	struct err e;
	char where[64];
	const uint8_t *at;
	uint8_t *p;
	size_t i, n, len;
	int c;

	(void)state;
	for (i = 0; i < TEST_COUNT(items); i++) {
		p = test_unhex(items[i].hex, &n);
		err_clear(&e);
		at = NULL;
		len = 0;
		cbor_read_begin(&r, p, n);
		(void)cbor_read_item(&r, &at, &len, &e);
		c = cbor_read_end(&r, &e);
		if (cbor_read_fault(&r) != items[i].want)
			fail_msg("%s: fault %d, not %d (%s)", items[i].name,
			    (int)cbor_read_fault(&r), (int)items[i].want,
			    e.msg);
		if (items[i].want == CBOR_FAULT_NONE) {
			assert_int_equal(c, 0);
			assert_ptr_equal(at, p);
			assert_int_equal(len, n);
			assert_int_equal(cbor_read_offset(&r), n);
			assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_END);
		} else {
			snprintf(where, sizeof(where),
			    "CBOR at byte %zu: ", items[i].off);
			assert_int_equal(c, ERR_FORMAT);
			test_err_is(&e, ERR_FORMAT, where);
		}
		free(p);
	}
}

/* Every prefix of a good item is short, and no prefix reads beyond it: each
 * is a block of its own for the address sanitizer. */
static void
test_prefixes(void **state)
{
	static const char hex[] =
	    "a401820a1903e802a16161f503581d"
	    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c"
	    "046a68656c6c6f20776f726c";
	struct cbor_read r;
	uint8_t *p, *part;
	size_t n, i;

	(void)state;
	p = test_unhex(hex, &n);
	for (i = 0; i < n; i++) {
		part = malloc(i + 1);
		assert_non_null(part);
		memcpy(part + 1, p, i);
		cbor_read_begin(&r, part + 1, i);
		assert_int_equal(cbor_read_item(&r, NULL, NULL, NULL),
		    ERR_FORMAT);
		assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_SHORT);
		free(part);
	}
	cbor_read_begin(&r, p, n);
	assert_int_equal(cbor_read_item(&r, NULL, NULL, NULL), 0);
	assert_int_equal(cbor_read_end(&r, NULL), 0);
	free(p);
}

/* One typed call on an input. */
enum call {
	UINT,
	RANGE_3_9,
	INT,
	BOOL,
	NUL,
	BYTES,
	FIXED_2,
	TEXT,
	ARRAY,
	MAP,
	ARRAY_2,
	MAP_2,
	KEY_7
};

static const struct {
	const char	*name;
	enum call	 call;
	const char	*hex;
	enum cbor_fault	 want;
	const char	*part;		/* of the message */
} calls[] = {
	{ "0",			UINT,	"00",	CBOR_FAULT_NONE, NULL },
	{ "2^64-1", UINT, "1bffffffffffffffff", CBOR_FAULT_NONE, NULL },
	{ "-1 as uint", UINT, "20", CBOR_FAULT_TYPE, "expected an unsigned" },
	{ "text as uint",	UINT,	"6161",	CBOR_FAULT_TYPE, NULL },
	{ "tag as uint",	UINT,	"c100",	CBOR_FAULT_TAG, NULL },
	{ "lo",			RANGE_3_9, "03", CBOR_FAULT_NONE, NULL },
	{ "hi",			RANGE_3_9, "09", CBOR_FAULT_NONE, NULL },
	{ "below lo",		RANGE_3_9, "02", CBOR_FAULT_RANGE,
	    "an integer of 3 to 9" },
	{ "above hi",		RANGE_3_9, "0a", CBOR_FAULT_RANGE, "3 to 9" },
	{ "type before range",	RANGE_3_9, "22", CBOR_FAULT_TYPE, NULL },
	{ "INT64_MAX", INT, "1b7fffffffffffffff", CBOR_FAULT_NONE, NULL },
	{ "one past", INT, "1b8000000000000000", CBOR_FAULT_RANGE, "64 bits" },
	{ "INT64_MIN", INT, "3b7fffffffffffffff", CBOR_FAULT_NONE, NULL },
	{ "one before", INT, "3b8000000000000000", CBOR_FAULT_RANGE,
	    "64 bits" },
	{ "bytes as int",	INT,	"4100",	CBOR_FAULT_TYPE, "an integer" },
	{ "true",		BOOL,	"f5",	CBOR_FAULT_NONE, NULL },
	{ "null as bool",	BOOL,	"f6",	CBOR_FAULT_TYPE, "true or" },
	{ "null",		NUL,	"f6",	CBOR_FAULT_NONE, NULL },
	{ "false as null",	NUL,	"f4",	CBOR_FAULT_TYPE, "null" },
	{ "bytes",		BYTES,	"420102", CBOR_FAULT_NONE, NULL },
	{ "text as bytes", BYTES, "6161", CBOR_FAULT_TYPE, "a byte string" },
	{ "two bytes",		FIXED_2, "420102", CBOR_FAULT_NONE, NULL },
	{ "one byte", FIXED_2, "4101", CBOR_FAULT_RANGE, "of length 2" },
	{ "three bytes",	FIXED_2, "43010203", CBOR_FAULT_RANGE, NULL },
	{ "text",		TEXT,	"626162", CBOR_FAULT_NONE, NULL },
	{ "bytes as text",	TEXT,	"4161",	CBOR_FAULT_TYPE, "text" },
	{ "array",		ARRAY,	"820000", CBOR_FAULT_NONE, NULL },
	{ "map as array",	ARRAY,	"a10000", CBOR_FAULT_TYPE, "an array" },
	{ "map",		MAP,	"a10000", CBOR_FAULT_NONE, NULL },
	{ "array as map",	MAP,	"820000", CBOR_FAULT_TYPE, "a map" },
	{ "array of 2",		ARRAY_2, "820000", CBOR_FAULT_NONE, NULL },
	{ "array of 1",		ARRAY_2, "8100", CBOR_FAULT_RANGE,
	    "an array of length 2" },
	{ "array of 3",		ARRAY_2, "83000000", CBOR_FAULT_RANGE, NULL },
	{ "map of 2",		MAP_2,	"a200000100", CBOR_FAULT_NONE, NULL },
	{ "map of 1", MAP_2, "a10000", CBOR_FAULT_RANGE, "a map of length 2" },
	{ "map of 3", MAP_2, "a3000001000200", CBOR_FAULT_RANGE, NULL },
	{ "key outside a map",	KEY_7,	"07",	CBOR_FAULT_KEY, "map key 7" },
};

static int
do_call(enum call call, struct cbor_read *r, struct err *e)
{
	const uint8_t *p;
	const char *text;
	uint8_t two[2];
	uint64_t u;
	int64_t v;
	size_t n;
	bool b;

	switch (call) {
	case UINT:
		return cbor_read_uint(r, &u, e);
	case RANGE_3_9:
		return cbor_read_uint_range(r, 3, 9, &u, e);
	case INT:
		return cbor_read_int(r, &v, e);
	case BOOL:
		return cbor_read_bool(r, &b, e);
	case NUL:
		return cbor_read_null(r, e);
	case BYTES:
		return cbor_read_bytes(r, &p, &n, e);
	case FIXED_2:
		return cbor_read_bytes_fixed(r, two, sizeof(two), e);
	case TEXT:
		return cbor_read_text(r, &text, &n, e);
	case ARRAY:
		return cbor_read_array(r, &n, e);
	case MAP:
		return cbor_read_map(r, &n, e);
	case ARRAY_2:
		return cbor_read_array_fixed(r, 2, e);
	case MAP_2:
		return cbor_read_map_fixed(r, 2, e);
	case KEY_7:
		return cbor_read_key(r, 7, e);
	}
	return -1;
}

static void
test_calls(void **state)
{
	struct cbor_read r;
	struct err e;
	uint8_t *p;
	size_t i, n;
	int c;

	(void)state;
	for (i = 0; i < TEST_COUNT(calls); i++) {
		p = test_unhex(calls[i].hex, &n);
		err_clear(&e);
		cbor_read_begin(&r, p, n);
		c = do_call(calls[i].call, &r, &e);
		if (cbor_read_fault(&r) != calls[i].want)
			fail_msg("%s: fault %d, not %d (%s)", calls[i].name,
			    (int)cbor_read_fault(&r), (int)calls[i].want,
			    e.msg);
		if (calls[i].want == CBOR_FAULT_NONE) {
			assert_int_equal(c, 0);
		} else {
			assert_int_equal(c, ERR_FORMAT);
			test_err_is(&e, ERR_FORMAT, calls[i].part);
			/* A refused item is not taken. */
			assert_int_equal(cbor_read_offset(&r), 0);
		}
		free(p);
	}
}

/* {1: [true, null, -5], 2: {}, 3: h'0102', 4: "ab", 5: 7} */
static const char mixed[] = "a50183f5f62402a00342010204626162"
			    "0507";

static void
test_values(void **state)
{
	struct cbor_read r;
	struct err e = ERR_INIT;
	const uint8_t *bytes = NULL;
	const char *text = NULL;
	uint8_t *p, two[2] = { 0, 0 };
	uint64_t u = 0;
	int64_t v = 0;
	size_t n, len = 99;
	bool b = false;

	(void)state;
	p = test_unhex(mixed, &n);
	cbor_read_begin(&r, p, n);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_MAP);
	assert_int_equal(cbor_read_map(&r, &len, &e), 0);
	assert_int_equal(len, 5);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_UINT);
	assert_int_equal(cbor_read_key(&r, 1, &e), 0);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_ARRAY);
	assert_int_equal(cbor_read_array_fixed(&r, 3, &e), 0);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_BOOL);
	assert_int_equal(cbor_read_bool(&r, &b, &e), 0);
	assert_true(b);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_NULL);
	assert_int_equal(cbor_read_null(&r, &e), 0);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_NINT);
	assert_int_equal(cbor_read_int(&r, &v, &e), 0);
	assert_int_equal(v, -5);
	assert_int_equal(cbor_read_key(&r, 2, &e), 0);
	assert_int_equal(cbor_read_map(&r, &len, &e), 0);
	assert_int_equal(len, 0);
	assert_int_equal(cbor_read_key(&r, 3, &e), 0);
	assert_int_equal(cbor_read_bytes_fixed(&r, two, 2, &e), 0);
	assert_memory_equal(two, "\x01\x02", 2);
	assert_int_equal(cbor_read_key(&r, 4, &e), 0);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_TEXT);
	assert_int_equal(cbor_read_text(&r, &text, &len, &e), 0);
	assert_int_equal(len, 2);
	assert_ptr_equal(text, p + 14);		/* in the input itself */
	assert_int_equal(cbor_read_key(&r, 5, &e), 0);
	assert_int_equal(cbor_read_uint_range(&r, 7, 7, &u, &e), 0);
	assert_int_equal(u, 7);
	assert_int_equal(cbor_read_end(&r, &e), 0);
	free(p);

	p = test_unhex("824020", &n);
	cbor_read_begin(&r, p, 2);
	(void)cbor_read_array(&r, &len, &e);
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_SHORT);
	cbor_read_begin(&r, p + 1, 1);
	assert_int_equal(cbor_read_bytes(&r, &bytes, &len, &e), 0);
	assert_int_equal(len, 0);
	assert_non_null(bytes);
	free(p);
}

static void
test_keys(void **state)
{
	struct cbor_read r;
	struct err e = ERR_INIT;
	uint64_t u;
	uint8_t *p;
	size_t n;

	(void)state;
	p = test_unhex("a201020304", &n);
	cbor_read_begin(&r, p, n);
	assert_int_equal(cbor_read_map_fixed(&r, 2, &e), 0);
	assert_int_equal(cbor_read_key(&r, 1, &e), 0);
	/* A value where a key was asked for, with the key's number. */
	assert_int_equal(cbor_read_key(&r, 2, &e), ERR_FORMAT);
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_KEY);
	test_err_is(&e, ERR_FORMAT, "at byte 2: expected map key 2");

	cbor_read_begin(&r, p, n);
	(void)cbor_read_map_fixed(&r, 2, &e);
	(void)cbor_read_key(&r, 1, &e);
	(void)cbor_read_uint(&r, &u, &e);
	assert_int_equal(cbor_read_key(&r, 4, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "at byte 3: expected map key 4");
	free(p);
}

static void
test_ends(void **state)
{
	struct cbor_read r;
	struct err e = ERR_INIT;
	uint64_t u = 0;
	uint8_t *p;
	size_t n;

	(void)state;
	p = test_unhex("82010203", &n);
	cbor_read_begin(&r, p, n);
	assert_int_equal(cbor_read_end(&r, &e), ERR_FORMAT);
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_UNREAD);

	cbor_read_begin(&r, p, n);
	assert_int_equal(cbor_read_array_fixed(&r, 2, &e), 0);
	assert_int_equal(cbor_read_uint(&r, &u, &e), 0);
	assert_int_equal(cbor_read_end(&r, &e), ERR_FORMAT);
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_UNREAD);
	test_err_is(&e, ERR_FORMAT, "at byte 2: more items than expected");

	/* Read on behind the end: what is there is not part of the item. */
	cbor_read_begin(&r, p, n);
	(void)cbor_read_array_fixed(&r, 2, &e);
	(void)cbor_read_uint(&r, &u, &e);
	(void)cbor_read_uint(&r, &u, &e);
	assert_int_equal(u, 2);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_END);
	assert_int_equal(cbor_read_uint(&r, &u, &e), ERR_FORMAT);
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_TRAILING);
	assert_int_equal(u, 2);

	cbor_read_begin(&r, p, 1);
	assert_int_equal(cbor_read_end(&r, &e), ERR_FORMAT);
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_UNREAD);
	cbor_read_begin(&r, p, 0);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_REFUSED);
	assert_int_equal(cbor_read_end(&r, &e), ERR_FORMAT);
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_SHORT);
	free(p);
}

/* Every call after a fault returns it again, touches nothing, and says it
 * again to whoever asks. */
static void
test_sticks(void **state)
{
	static const uint8_t in[] = { 0x83, 0x18, 0x01, 0x02, 0x03 };
	struct cbor_read r, before;
	struct err e;
	uint64_t u = 77;
	int call;

	(void)state;
	cbor_read_begin(&r, in, sizeof(in));
	assert_int_equal(cbor_read_array_fixed(&r, 3, NULL), 0);
	assert_int_equal(cbor_read_uint(&r, &u, NULL), ERR_FORMAT);
	assert_int_equal(u, 77);
	before = r;
	for (call = UINT; call <= KEY_7; call++) {
		err_clear(&e);
		assert_int_equal(do_call((enum call)call, &r, &e), ERR_FORMAT);
		test_err_is(&e, ERR_FORMAT,
		    "CBOR at byte 1: not the shortest form");
		assert_memory_equal(&r, &before, sizeof(r));
	}
	assert_int_equal(cbor_read_item(&r, NULL, NULL, &e), ERR_FORMAT);
	assert_int_equal(cbor_read_end(&r, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "shortest");
	assert_int_equal(cbor_read_fault(&r), CBOR_FAULT_LONG_FORM);
	assert_int_equal(cbor_read_peek(&r), CBOR_ITEM_END);
}

/* What a peek calls an item, for all 256 initial bytes: what it refuses no
 * take accepts, and what it names has no fault of its own. */
static void
test_peeks(void **state)
{
	struct cbor_read r;
	enum cbor_item type;
	enum cbor_fault f;
	uint8_t in[300];
	unsigned b;

	(void)state;
	for (b = 0; b < 256; b++) {
		memset(in, 1, sizeof(in));
		in[0] = (uint8_t)b;
		cbor_read_begin(&r, in, sizeof(in));
		type = cbor_read_peek(&r);
		(void)cbor_read_item(&r, NULL, NULL, NULL);
		f = cbor_read_fault(&r);
		if (type == CBOR_ITEM_REFUSED)
			assert_true(f == CBOR_FAULT_MALFORMED ||
			    f == CBOR_FAULT_INDEFINITE || f == CBOR_FAULT_TAG ||
			    f == CBOR_FAULT_SIMPLE);
		else
			assert_true(f == CBOR_FAULT_NONE ||
			    f == CBOR_FAULT_SHORT || f == CBOR_FAULT_ITEMS ||
			    f == CBOR_FAULT_LONG_FORM ||
			    f == CBOR_FAULT_DUPLICATE);
	}
}

/* The cap on items, in one array, over two, and over a map. */
static void
test_item_cap(void **state)
{
	static const struct {
		const char	*head;		/* zeros follow */
		enum cbor_fault	 want;
	} rows[] = {
		{ "99ffff",		CBOR_FAULT_NONE },	/* 65,535 + 1 */
		{ "9a00010000",		CBOR_FAULT_ITEMS },
		{ "8299fffc80",		CBOR_FAULT_NONE },
		{ "8299fffd80",		CBOR_FAULT_NONE },
		{ "8299fffe80",		CBOR_FAULT_ITEMS },
		{ "8399fffc80",		CBOR_FAULT_NONE },
		{ "8399fffd80",		CBOR_FAULT_ITEMS },
		{ "b98000",		CBOR_FAULT_ITEMS },
	};
	struct cbor_read r;
	uint8_t *in, *head;
	size_t i, n;
	enum { LEN = 140000 };

	(void)state;
	in = malloc(LEN);
	assert_non_null(in);
	for (i = 0; i < TEST_COUNT(rows); i++) {
		memset(in, 0, LEN);
		head = test_unhex(rows[i].head, &n);
		memcpy(in, head, n);
		free(head);
		cbor_read_begin(&r, in, LEN);
		(void)cbor_read_item(&r, NULL, NULL, NULL);
		if (cbor_read_fault(&r) != rows[i].want)
			fail_msg("%s: fault %d", rows[i].head,
			    (int)cbor_read_fault(&r));
	}
	/* A map of 32,767 pairs: three-byte keys that ascend. */
	n = 3;
	memcpy(in, "\xb9\x7f\xff", n);
	for (i = 0; i < 0x7fff; i++) {
		in[n++] = 0x19;
		in[n++] = (uint8_t)((i + 256) >> 8);
		in[n++] = (uint8_t)((i + 256) & 0xff);
		in[n++] = 0xf6;
	}
	cbor_read_begin(&r, in, n);
	assert_int_equal(cbor_read_item(&r, NULL, NULL, NULL), 0);
	assert_int_equal(cbor_read_end(&r, NULL), 0);
	free(in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_sticks),
		cmocka_unit_test(test_peeks),
		cmocka_unit_test(test_item_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
