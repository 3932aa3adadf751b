/*
 * test_exchange_query.c - the outer request's target and the answer's head:
 * one spelling, at each limit and one past it, there and back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/test_util.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_query.h"

#define ID	"AAECAwQFBgcICQoLDA0ODw"	/* 00 01 .. 0f */
#define MAX62	"4611686018427387903"

static const struct {
	const char	*in;
	int		 want;
} rows[] = {
	{ "/x1/" ID "/0?c=0", 0 },
	{ "/x1/" ID "/7?c=3&w=0", 0 },
	{ "/x1/" ID "/7?c=3&w=25000", 0 },
	{ "/x1/" ID "/7?c=3&w=25001", ERR_FORMAT },
	{ "/x1/" ID "/7?c=3&w=4294967296", ERR_FORMAT },
	{ "/x1/" ID "/7?c=3&u=0&d=AA", 0 },
	{ "/x1/" ID "/7?d=AA&u=0&c=3", 0 },
	{ "/x1/" ID "/7?c=3&e=0", 0 },
	{ "/x1/" ID "/7?c=3&u=5&d=AA&e=6&w=1&x=1", 0 },
	{ "/x1/" ID "/" MAX62 "?c=" MAX62, 0 },
	{ "/x1/" ID "/4611686018427387904?c=0", ERR_FORMAT },
	{ "/x1/" ID "/18446744073709551616?c=0", ERR_FORMAT },
	{ "/x1/" ID "/99999999999999999999999?c=0", ERR_FORMAT },
	{ "/x1/" ID "/0?c=4611686018427387904", ERR_FORMAT },
	/* absolute form, as sent to a proxy */
	{ "http://relay.example/x1/" ID "/0?c=0", 0 },
	{ "HTTPS://relay.example:8080/x1/" ID "/0?c=0", 0 },
	{ "http://relay.example", ERR_NOENT },
	{ "ftp://relay.example/x1/" ID "/0?c=0", ERR_NOENT },
	/* elsewhere */
	{ "", ERR_NOENT },
	{ "/", ERR_NOENT },
	{ "*", ERR_NOENT },
	{ "/x1", ERR_NOENT },
	{ "/x2/" ID "/0?c=0", ERR_NOENT },
	{ "/X1/" ID "/0?c=0", ERR_NOENT },
	{ "//x1/" ID "/0?c=0", ERR_NOENT },
	/* session */
	{ "/x1/", ERR_FORMAT },
	{ "/x1/" ID, ERR_FORMAT },
	{ "/x1/" ID "/", ERR_FORMAT },
	{ "/x1/AAECAwQFBgcICQoLDA0OD/0?c=0", ERR_FORMAT },	/* 21 */
	{ "/x1/" ID "A/0?c=0", ERR_FORMAT },
	{ "/x1/" ID "==/0?c=0", ERR_FORMAT },
	{ "/x1/AAECAwQFBgcICQoLDA0ODx/0?c=0", ERR_FORMAT },	/* spare bits */
	{ "/x1/AAECAwQFBgcICQoLDA0O+w/0?c=0", ERR_FORMAT },
	{ "/x1/AAECAwQFBgcICQoLDA0O_w/0?c=0", 0 },
	{ "/x1/AAECAwQFBgcICQoLDA0O%2/0?c=0", ERR_FORMAT },
	/* number */
	{ "/x1/" ID "/?c=0", ERR_FORMAT },
	{ "/x1/" ID "/0", ERR_FORMAT },
	{ "/x1/" ID "/0?", ERR_FORMAT },
	{ "/x1/" ID "/00?c=0", ERR_FORMAT },
	{ "/x1/" ID "/-1?c=0", ERR_FORMAT },
	{ "/x1/" ID "/+1?c=0", ERR_FORMAT },
	{ "/x1/" ID "/1x?c=0", ERR_FORMAT },
	{ "/x1/" ID "/0x1?c=0", ERR_FORMAT },
	{ "/x1/" ID "/1/?c=0", ERR_FORMAT },
	/* query */
	{ "/x1/" ID "/0?w=1", ERR_FORMAT },
	{ "/x1/" ID "/0?c=", ERR_FORMAT },
	{ "/x1/" ID "/0?c", ERR_FORMAT },
	{ "/x1/" ID "/0?c=01", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&", ERR_FORMAT },
	{ "/x1/" ID "/0?&c=0", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&c=0", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&w=1&w=1", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&y=1", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&x=0", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&x=11", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&x=", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&cc=0", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0;w=1", ERR_FORMAT },
	{ "/x1/" ID "/0?c=%30", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0#f", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=0", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&d=AA", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=0&d=", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=0&d=A", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=0&d=AB", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=0&d=AA==", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=0&d=A%41", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=0&d=A A", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=x&d=AA", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&u=4611686018427387904&d=AA", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&e=4611686018427387904", ERR_FORMAT },
	{ "/x1/" ID "/0?c=0&e=", ERR_FORMAT },
};

static void
test_rows(void **state)
{
	struct exchange_query q;
	struct err e = ERR_INIT;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		r = exchange_query_parse(&q, rows[i].in, strlen(rows[i].in),
		    &e);
		if (r != rows[i].want)
			fail_msg("%s: %d (%s)", rows[i].in, r, e.msg);
	}
}

static void
test_values(void **state)
{
	const char in[] = "/x1/" ID "/9?c=8&u=7&d=AQID&e=10&w=6&x=1";
	static const uint8_t id[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	    12, 13, 14, 15 };
	struct exchange_query q;

	(void)state;
	assert_int_equal(exchange_query_parse(&q, in, sizeof(in) - 1, NULL),
	    0);
	assert_memory_equal(q.id, id, sizeof(id));
	assert_int_equal(q.n, 9);
	assert_int_equal(q.c, 8);
	assert_true(q.has_data && q.has_end && q.has_kill);
	assert_int_equal(q.u, 7);
	assert_int_equal(q.data_len, 3);
	assert_memory_equal(q.data, "\1\2\3", 3);
	assert_int_equal(q.e, 10);
	assert_int_equal(q.wait_ms, 6);
	assert_false(exchange_query_is_poll(&q));
	assert_int_equal(exchange_query_parse(&q, "/x1/" ID "/0?c=0", 32,
	    NULL), 0);
	assert_int_equal(q.wait_ms, EXCHANGE_WAIT_DEFAULT_MS);
	assert_true(exchange_query_is_poll(&q));
}

static bool
is_same(const struct exchange_query *a, const struct exchange_query *b)
{
	return memcmp(a->id, b->id, sizeof(a->id)) == 0 && a->n == b->n &&
	    a->c == b->c && a->has_data == b->has_data &&
	    a->has_end == b->has_end && a->has_kill == b->has_kill &&
	    a->u == b->u && a->e == b->e && a->wait_ms == b->wait_ms &&
	    a->data_len == b->data_len &&
	    memcmp(a->data, b->data, a->data_len) == 0;
}

/* What is printed is read back; 4,096 bytes fit, 4,097 do not, and the
 * longest target fits a request line. */
static void
test_round_trip(void **state)
{
	struct bytes out = BYTES_INIT(16384);
	struct exchange_query q, back;
	uint64_t seed = 5;
	size_t i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		memset(&q, 0, sizeof(q));
		test_random_fill(&seed, q.id, sizeof(q.id));
		q.n = test_random(&seed) & EXCHANGE_NUMBER_MAX;
		q.c = i == 0 ? EXCHANGE_NUMBER_MAX : i;
		q.wait_ms = (uint32_t)(test_random(&seed) % 25001);
		q.has_data = i % 2 == 0;
		if (q.has_data) {
			q.u = EXCHANGE_NUMBER_MAX - i;
			q.data_len = i == 0 ? EXCHANGE_DATA_MAX :
			    (uint32_t)(i % EXCHANGE_DATA_MAX + 1);
			test_random_fill(&seed, q.data, q.data_len);
		}
		q.has_end = i % 3 == 0;
		q.e = q.has_end ? EXCHANGE_NUMBER_MAX - i : 0;
		q.has_kill = i % 5 == 0;
		bytes_clear(&out);
		assert_int_equal(exchange_query_print(&q, &out, NULL), 0);
		assert_true(out.len + sizeof("GET  HTTP/1.1\r\n") - 1 <=
		    EXCHANGE_LINE_MAX);
		memset(&back, 0xff, sizeof(back));
		assert_int_equal(exchange_query_parse(&back,
		    (const char *)out.p, out.len, NULL), 0);
		assert_true(is_same(&q, &back));
	}
	/* one byte more: 5,463 characters and one group */
	bytes_clear(&out);
	assert_int_equal(bytes_append_str(&out, "/x1/" ID "/0?c=0&u=0&d=",
	    NULL), 0);
	for (i = 0; i < (4097 * 4 + 2) / 3; i++)
		assert_int_equal(bytes_append_byte(&out, 'A', NULL), 0);
	assert_int_equal(exchange_query_parse(&back, (const char *)out.p,
	    out.len, NULL), ERR_FORMAT);
	bytes_free(&out);
}

static const struct {
	const char	*in;
	int		 want;
} fields[] = {
	{ "o=0, l=0, u=0, q=0", 0 },
	{ "o=1, l=32768, u=3, q=4, end", 0 },
	{ "o=" MAX62 ", l=1, u=" MAX62 ", q=" MAX62, 0 },
	{ "o=4611686018427387904, l=0, u=0, q=0", ERR_FORMAT },
	{ "o=0, l=32769, u=0, q=0", ERR_FORMAT },
	{ "error=400", 0 },
	{ "error=503", 0 },
	{ "error=200", ERR_FORMAT },
	{ "error=600", ERR_FORMAT },
	{ "error=", ERR_FORMAT },
	{ "error=404x", ERR_FORMAT },
	{ "error=o=1, l=2, u=3, q=4", ERR_FORMAT },
	{ "eo=1, l=2, u=3, q=4", ERR_FORMAT },
	/* Numbers that would wrap to small ones. */
	{ "o=0, l=0, u=0, q=222222222222222222220", ERR_FORMAT },
	{ "o=0, l=0, u=0, q=18446744073709551616", ERR_FORMAT },
	{ "o=0, l=0, u=0, q=9999999999999999999", ERR_FORMAT },
	{ "", ERR_FORMAT },
	{ "o=0", ERR_FORMAT },
	{ "o=0,l=0,u=0,q=0", ERR_FORMAT },
	{ "l=0, o=0, u=0, q=0", ERR_FORMAT },
	{ "o=00, l=0, u=0, q=0", ERR_FORMAT },
	{ "o=-1, l=0, u=0, q=0", ERR_FORMAT },
	{ "o=, l=0, u=0, q=0", ERR_FORMAT },
	{ "o=0, l=0, u=0, q=0, ", ERR_FORMAT },
	{ "o=0, l=0, u=0, q=0, END", ERR_FORMAT },
	{ "o=0, l=0, u=0, q=0, end, end", ERR_FORMAT },
	{ " o=0, l=0, u=0, q=0", ERR_FORMAT },
};

static void
test_fields(void **state)
{
	struct exchange_answer a;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(fields); i++)
		if (exchange_answer_parse(&a, fields[i].in,
		    strlen(fields[i].in), NULL) != fields[i].want)
			fail_msg("%s", fields[i].in);
	assert_int_equal(exchange_answer_parse(&a,
	    "o=1, l=2, u=3, q=4, end", 23, NULL), 0);
	assert_true(a.status == 200 && a.o == 1 && a.l == 2 && a.u == 3 &&
	    a.q == 4 && a.has_end);
	assert_int_equal(exchange_answer_parse(&a, "error=410", 9, NULL), 0);
	assert_true(a.status == 410 && !a.has_end);
}

static void
test_heads(void **state)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\n"
	    "Content-Type: application/octet-stream\r\n"
	    "Content-Length: 5\r\n"
	    "Cache-Control: no-store, no-transform\r\n"
	    "Amber-Stream: o=10, l=5, u=7, q=9, end\r\n\r\n";
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\n"
	    "Content-Type: text/plain\r\n"
	    "Content-Length: 5\r\n"
	    "Cache-Control: no-store\r\n"
	    "Amber-Stream: error=503\r\n"
	    "Connection: close\r\n"
	    "Retry-After: 5\r\n\r\nfull\n";
	const struct exchange_answer a = { .status = 200, .has_end = true,
	    .l = 5, .o = 10, .u = 7, .q = 9 };
	const struct exchange_answer b = { .status = 503,
	    .retry_after_s = 5, .text = "full" };
	struct bytes out = BYTES_INIT(1024);
	struct bytes small = BYTES_INIT(100);

	(void)state;
	assert_int_equal(exchange_answer_print(&a, EXCHANGE_KEEP, &out, NULL),
	    0);
	assert_int_equal(out.len, sizeof(ok) - 1);
	assert_memory_equal(out.p, ok, out.len);
	bytes_clear(&out);
	assert_int_equal(exchange_answer_print(&b, EXCHANGE_CLOSE, &out,
	    NULL), 0);
	assert_int_equal(out.len, sizeof(busy) - 1);
	assert_memory_equal(out.p, busy, out.len);
	assert_int_equal(bytes_append_byte(&small, 'x', NULL), 0);
	assert_int_equal(exchange_answer_print(&b, EXCHANGE_KEEP, &small,
	    NULL), ERR_LIMIT);
	assert_int_equal(small.len, 1);
	bytes_free(&out);
	bytes_free(&small);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
