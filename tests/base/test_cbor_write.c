/*
 * test_cbor_write.c - the writer against RFC 8949's examples, round trips
 * through the reader, failures that stick, and asserts that hold.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "tests/base/cbor_echo.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

/* RFC 8949 appendix A, those that are deterministic and without tags,
 * floats and other simple values. */
static const char *const examples[] = {
	"00",
	"01",
	"0a",
	"17",
	"1818",
	"1819",
	"1864",
	"1903e8",
	"1a000f4240",
	"1b000000e8d4a51000",
	"1bffffffffffffffff",
	"3bffffffffffffffff",
	"20",
	"29",
	"3863",
	"3903e7",
	"f4",
	"f5",
	"f6",
	"40",
	"4401020304",
	"60",
	"6161",
	"6449455446",
	"62225c",
	"62c3bc",
	"63e6b0b4",
	"64f0908591",
	"80",
	"83010203",
	"8301820203820405",
	"98190102030405060708090a0b0c0d0e0f101112131415161718181819",
	"a0",
	"a201020304",
	"a26161016162820203",
	"826161a161626163",
	"a56161614161626142616361436164614461656145",
};

/* The others of appendix A: the reader refuses each. */
static const struct {
	const char	*hex;
	enum cbor_fault	 want;
} refused[] = {
	{ "c249010000000000000000", CBOR_FAULT_TAG },
	{ "c349010000000000000000", CBOR_FAULT_TAG },
	{ "f90000", CBOR_FAULT_SIMPLE },
	{ "f93e00", CBOR_FAULT_SIMPLE },
	{ "fa47c35000", CBOR_FAULT_SIMPLE },
	{ "fb7e37e43c8800759c", CBOR_FAULT_SIMPLE },
	{ "f97e00", CBOR_FAULT_SIMPLE },
	{ "f7", CBOR_FAULT_SIMPLE },
	{ "f0", CBOR_FAULT_SIMPLE },
	{ "f8ff", CBOR_FAULT_SIMPLE },
	{ "c074323031332d30332d32315432303a30343a30305a", CBOR_FAULT_TAG },
	{ "c11a514b67b0", CBOR_FAULT_TAG },
	{ "d74401020304", CBOR_FAULT_TAG },
	{ "d818456449455446", CBOR_FAULT_TAG },
	{ "d82076687474703a2f2f7777772e6578616d706c652e636f6d",
	    CBOR_FAULT_TAG },
	{ "5f42010243030405ff", CBOR_FAULT_INDEFINITE },
	{ "7f657374726561646d696e67ff", CBOR_FAULT_INDEFINITE },
	{ "9fff", CBOR_FAULT_INDEFINITE },
	{ "9f018202039f0405ffff", CBOR_FAULT_INDEFINITE },
	{ "83018202039f0405ff", CBOR_FAULT_INDEFINITE },
	{ "83019f0203ff820405", CBOR_FAULT_INDEFINITE },
	{ "bf61610161629f0203ffff", CBOR_FAULT_INDEFINITE },
	{ "826161bf61626163ff", CBOR_FAULT_INDEFINITE },
	{ "bf6346756ef563416d7421ff", CBOR_FAULT_INDEFINITE },
};

static void
copies_to_itself(const uint8_t *p, size_t n)
{
	struct bytes out = BYTES_INIT(n);	/* and not a byte more */
	struct cbor_write w;
	struct cbor_read r;
	struct err e = ERR_INIT;

	cbor_read_begin(&r, p, n);
	cbor_write_begin(&w, &out);
	if (cbor_echo(&r, &w, &e) != 0 || cbor_read_end(&r, &e) != 0 ||
	    cbor_write_end(&w, &e) != 0)
		fail_msg("%s", e.msg);
	assert_int_equal(out.len, n);
	assert_memory_equal(out.p, p, n);
	bytes_free(&out);
}

static void
test_examples(void **state)
{
	struct cbor_read r;
	uint8_t *p;
	size_t i, n;

	(void)state;
	for (i = 0; i < TEST_COUNT(examples); i++) {
		p = test_unhex(examples[i], &n);
		copies_to_itself(p, n);
		free(p);
	}
	for (i = 0; i < TEST_COUNT(refused); i++) {
		p = test_unhex(refused[i].hex, &n);
		cbor_read_begin(&r, p, n);
		(void)cbor_read_item(&r, NULL, NULL, NULL);
		assert_int_equal(cbor_read_fault(&r), refused[i].want);
		free(p);
	}
}

static const struct {
	int64_t		 v;
	const char	*hex;
} ints[] = {
	{ 0, "00" }, { 23, "17" }, { 24, "1818" }, { 255, "18ff" },
	{ 256, "190100" },
	{ 65535, "19ffff" },
	{ 65536, "1a00010000" },
	{ 4294967295, "1affffffff" },
	{ 4294967296, "1b0000000100000000" },
	{ INT64_MAX, "1b7fffffffffffffff" },
	{ -1, "20" },
	{ -24, "37" },
	{ -25, "3818" },
	{ -256, "38ff" },
	{ -257, "390100" },
	{ -65536, "39ffff" },
	{ -65537, "3a00010000" },
	{ -65538, "3a00010001" },
	{ -4294967296, "3affffffff" },
	{ -4294967297, "3b0000000100000000" },
	{ INT64_MIN, "3b7fffffffffffffff" },
};

static void
test_ints(void **state)
{
	struct bytes out = BYTES_INIT(16);
	struct cbor_write w;
	struct cbor_read r;
	int64_t back;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(ints); i++) {
		cbor_write_begin(&w, &out);
		cbor_write_int(&w, ints[i].v);
		assert_int_equal(cbor_write_end(&w, NULL), 0);
		test_hex_is(out.p, out.len, ints[i].hex);
		if (ints[i].v >= 0)
			assert_int_equal(cbor_write_head_len(
					     (uint64_t)ints[i].v),
			    out.len);
		cbor_read_begin(&r, out.p, out.len);
		assert_int_equal(cbor_read_int(&r, &back, NULL), 0);
		assert_true(back == ints[i].v);
		bytes_clear(&out);
	}
	cbor_write_begin(&w, &out);
	cbor_write_uint(&w, UINT64_MAX);
	assert_int_equal(cbor_write_end(&w, NULL), 0);
	test_hex_is(out.p, out.len, "1bffffffffffffffff");
	bytes_free(&out);
}

/* Every call once, and lengths on both sides of each head's size. */
static void
test_structure(void **state)
{
	static const size_t lens[] = { 0, 23, 24, 255, 256, 65535, 65536 };
	struct bytes out = BYTES_INIT(1 << 20);
	struct cbor_write w;
	uint8_t *body;
	size_t i, n;

	(void)state;
	cbor_write_begin(&w, &out);
	cbor_write_map(&w, 5);
	cbor_write_uint(&w, 1);
	cbor_write_array(&w, 3);
	cbor_write_bool(&w, true);
	cbor_write_null(&w);
	cbor_write_int(&w, -5);
	cbor_write_uint(&w, 2);
	cbor_write_map(&w, 0);
	cbor_write_uint(&w, 3);
	cbor_write_bytes_head(&w, 2);
	cbor_write_raw(&w, "\x01", 1);
	cbor_write_raw(&w, NULL, 0);
	cbor_write_raw(&w, "\x02", 1);
	cbor_write_uint(&w, 4);
	cbor_write_str(&w, "ab");
	cbor_write_uint(&w, 5);
	cbor_write_item(&w, "\x82\x07\x08", 3);
	assert_int_equal(cbor_write_end(&w, NULL), 0);
	test_hex_is(out.p, out.len, "a50183f5f62402a0034201020462616205820708");

	body = calloc(1, 65536);
	assert_non_null(body);
	memset(body, 'x', 65536);
	for (i = 0; i < TEST_COUNT(lens); i++) {
		bytes_clear(&out);
		cbor_write_begin(&w, &out);
		cbor_write_array(&w, 3);
		cbor_write_bytes(&w, body, lens[i]);
		cbor_write_text(&w, (const char *)body, lens[i]);
		cbor_write_array(&w, 0);
		assert_int_equal(cbor_write_end(&w, NULL), 0);
		n = cbor_write_head_len(lens[i]) + lens[i];
		assert_int_equal(out.len, 1 + 2 * n + 1);
		copies_to_itself(out.p, out.len);
	}
	free(body);
	bytes_free(&out);
}

/* A random item of at most what is left of depth and items. */
static void
write_random(struct cbor_write *w, uint64_t *seed, unsigned depth)
{
	uint8_t body[80];
	uint64_t v = test_random(seed);
	size_t n = (size_t)(v % sizeof(body)), i;

	test_random_fill(seed, body, n);
	switch ((v >> 32) % (depth < CBOR_WRITE_DEPTH ? 8 : 6)) {
	case 0:
		cbor_write_uint(w, test_random(seed) >> (v % 64));
		return;
	case 1:
		cbor_write_int(w,
		    -1 - (int64_t)(test_random(seed) >> (1 + v % 63)));
		return;
	case 2:
		cbor_write_bytes(w, body, n);
		return;
	case 3:
		for (i = 0; i < n; i++)
			body[i] &= 0x7f;
		cbor_write_text(w, (const char *)body, n);
		return;
	case 4:
		cbor_write_bool(w, (v & 1) != 0);
		return;
	case 5:
		cbor_write_null(w);
		return;
	case 6:
		n %= 6;
		cbor_write_array(w, n);
		for (i = 0; i < n; i++)
			write_random(w, seed, depth + 1);
		return;
	case 7:
		n %= 6;
		cbor_write_map(w, n);
		for (i = 0; i < n; i++) {
			cbor_write_uint(w, (i + 1) << (v % 8));
			write_random(w, seed, depth + 1);
		}
		return;
	}
}

static void
test_round_trips(void **state)
{
	struct bytes out = BYTES_INIT(1 << 20);
	struct cbor_write w;
	uint64_t seed = 8949;
	size_t total = 0;
	int i, j;

	(void)state;
	for (i = 0; i < 3000; i++) {
		bytes_clear(&out);
		cbor_write_begin(&w, &out);
		cbor_write_array(&w, 4);
		for (j = 0; j < 4; j++)
			write_random(&w, &seed, 1);
		assert_int_equal(cbor_write_end(&w, NULL), 0);
		copies_to_itself(out.p, out.len);
		total += out.len;
	}
	assert_true(total > 100000);	/* they were not all trivial */
	bytes_free(&out);
}

/* What write_all() writes, to be failed at each of its steps. */
static void
write_all(struct cbor_write *w)
{
	cbor_write_map(w, 5);
	cbor_write_int(w, 0);
	cbor_write_bool(w, true);
	cbor_write_uint(w, 1);
	cbor_write_text(w, "text", 4);
	cbor_write_uint(w, 2);
	cbor_write_array(w, 2);
	cbor_write_bytes(w, "0123456789", 10);
	cbor_write_item(w, "\xf6", 1);
	cbor_write_uint(w, 3);
	cbor_write_bytes_head(w, 4);
	cbor_write_raw(w, "01", 2);
	cbor_write_raw(w, "23", 2);
	cbor_write_uint(w, 4);
	cbor_write_null(w);
}

static void
test_cap(void **state)
{
	struct bytes out;
	struct cbor_write w;
	struct err e;
	size_t cap, len;

	(void)state;
	bytes_init(&out, 1000);
	cbor_write_begin(&w, &out);
	write_all(&w);
	assert_int_equal(cbor_write_end(&w, NULL), 0);
	len = out.len;
	bytes_free(&out);
	for (cap = 3; cap <= 3 + len; cap++) {
		bytes_init(&out, cap);
		assert_int_equal(bytes_append(&out, "abc", 3, NULL), 0);
		cbor_write_begin(&w, &out);
		write_all(&w);
		err_clear(&e);
		if (cap < 3 + len) {
			assert_int_equal(cbor_write_end(&w, &e), ERR_LIMIT);
			test_err_is(&e, ERR_LIMIT, "do not fit");
			assert_int_equal(out.len, 3);
		} else {
			assert_int_equal(cbor_write_end(&w, &e), 0);
			assert_int_equal(out.len, 3 + len);
		}
		assert_memory_equal(out.p, "abc", 3);
		bytes_free(&out);
	}
}

static void
test_no_memory(void **state)
{
	struct bytes out = BYTES_INIT(1000);
	struct cbor_write w;
	struct err e = ERR_INIT;

	(void)state;
	test_alloc_fail_at(1);
	cbor_write_begin(&w, &out);
	write_all(&w);
	assert_int_equal(cbor_write_end(&w, &e), ERR_NOMEM);
	assert_int_not_equal(test_alloc_has_failed(), 0);
	test_alloc_fail_at(0);
	assert_int_equal(out.len, 0);
	bytes_free(&out);
}

/* As many items as the reader takes, and one more. */
static void
test_item_cap(void **state)
{
	struct bytes out = BYTES_INIT(1 << 20);
	struct cbor_write w;
	struct err e = ERR_INIT;
	size_t i;

	(void)state;
	cbor_write_begin(&w, &out);
	cbor_write_array(&w, CBOR_READ_ITEMS - 3);
	cbor_write_item(&w, "\x82\x00\x00", 3);
	for (i = 0; i < CBOR_READ_ITEMS - 4; i++)
		cbor_write_null(&w);
	assert_int_equal(cbor_write_end(&w, &e), 0);
	copies_to_itself(out.p, out.len);

	bytes_clear(&out);
	cbor_write_begin(&w, &out);
	cbor_write_array(&w, CBOR_READ_ITEMS - 3);
	cbor_write_item(&w, "\x83\x00\x00\x00", 4);
	assert_int_equal(cbor_write_end(&w, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "65536 CBOR items");

	cbor_write_begin(&w, &out);
	cbor_write_map(&w, SIZE_MAX);
	assert_int_equal(cbor_write_end(&w, &e), ERR_LIMIT);
	cbor_write_begin(&w, &out);
	cbor_write_array(&w, CBOR_READ_ITEMS);
	assert_int_equal(cbor_write_end(&w, &e), ERR_LIMIT);
	assert_int_equal(out.len, 0);
	bytes_free(&out);
}

/* Our own bugs: each must end the process by its assert. */
enum bug {
	BUG_NONE,
	BUG_ORDER,
	BUG_TWICE,
	BUG_TEXT_ORDER,
	BUG_ITEM_ORDER,
	BUG_DEPTH,
	BUG_DEPTH_EMPTY,
	BUG_UTF8,
	BUG_TOO_MANY,
	BUG_TWO_ITEMS,
	BUG_UNFILLED,
	BUG_NO_VALUE,
	BUG_NOTHING,
	BUG_RAW_MORE,
	BUG_RAW_LESS,
	BUG_RAW_BETWEEN,
	BUG_ITEM_LONG,
	BUG_ITEM_TRAILING,
	BUG_ITEM_NONE,
	BUG_LAST
};

static void
write_keys(struct cbor_write *w, uint64_t a, uint64_t b)
{
	cbor_write_map(w, 2);
	cbor_write_uint(w, a);
	cbor_write_null(w);
	cbor_write_uint(w, b);
	cbor_write_null(w);
}

static void
write_bug(struct cbor_write *w, enum bug bug)
{
	unsigned i;

	switch (bug) {
	case BUG_NONE:
		write_keys(w, 1, 2);
		break;
	case BUG_ORDER:
		write_keys(w, 2, 1);
		break;
	case BUG_TWICE:
		write_keys(w, 2, 2);
		break;
	case BUG_TEXT_ORDER:
		cbor_write_map(w, 2);
		cbor_write_str(w, "aa");
		cbor_write_null(w);
		cbor_write_str(w, "z");
		cbor_write_null(w);
		break;
	case BUG_ITEM_ORDER:
		cbor_write_map(w, 2);
		cbor_write_item(w, "\x81\x01", 2);
		cbor_write_null(w);
		cbor_write_array(w, 1);
		cbor_write_uint(w, 0);
		cbor_write_null(w);
		break;
	case BUG_DEPTH:
	case BUG_DEPTH_EMPTY:
		for (i = 0; i < CBOR_WRITE_DEPTH; i++)
			cbor_write_array(w, 1);
		cbor_write_array(w, bug == BUG_DEPTH ? 1 : 0);
		break;
	case BUG_UTF8:
		cbor_write_str(w, "\xff");
		break;
	case BUG_TOO_MANY:
	case BUG_TWO_ITEMS:
		if (bug == BUG_TOO_MANY)
			cbor_write_array(w, 1);
		cbor_write_null(w);
		cbor_write_null(w);
		break;
	case BUG_UNFILLED:
		cbor_write_array(w, 2);
		cbor_write_null(w);
		break;
	case BUG_NO_VALUE:
		cbor_write_map(w, 1);
		cbor_write_null(w);
		break;
	case BUG_NOTHING:
		break;
	case BUG_RAW_MORE:
		cbor_write_bytes_head(w, 1);
		cbor_write_raw(w, "ab", 2);
		break;
	case BUG_RAW_LESS:
		cbor_write_bytes_head(w, 3);
		cbor_write_raw(w, "ab", 2);
		break;
	case BUG_RAW_BETWEEN:
		cbor_write_array(w, 2);
		cbor_write_bytes_head(w, 1);
		cbor_write_null(w);
		break;
	case BUG_ITEM_LONG:
		cbor_write_item(w, "\x18\x17", 2);
		break;
	case BUG_ITEM_TRAILING:
		cbor_write_item(w, "\xf6\xf6", 2);
		break;
	case BUG_ITEM_NONE:
	case BUG_LAST:
		cbor_write_item(w, "", 0);
		break;
	}
}

/* In a child; silent, and without a core. */
static int
run_bug(void *arg)
{
	static const struct rlimit none = { 0, 0 };
	struct bytes out = BYTES_INIT(1000);
	struct cbor_write w;
	int fd;

	setrlimit(RLIMIT_CORE, &none);
	if ((fd = open("/dev/null", O_WRONLY)) != -1)
		dup2(fd, STDERR_FILENO);
	signal(SIGABRT, SIG_DFL);
	cbor_write_begin(&w, &out);
	write_bug(&w, *(const enum bug *)arg);
	return cbor_write_end(&w, NULL) == 0 ? 0 : 1;
}

static void
test_asserts(void **state)
{
	enum bug bug = BUG_NONE;
	int status, i;

	(void)state;
	test_child_exits(run_bug, &bug, 0);
	for (i = BUG_NONE + 1; i < BUG_LAST; i++) {
		bug = (enum bug)i;
		status = test_child(run_bug, &bug, 60);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
			fail_msg("bug %d was not asserted: status %x", i,
			    (unsigned)status);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_ints),
		cmocka_unit_test(test_structure),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_item_cap),
		cmocka_unit_test(test_asserts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
