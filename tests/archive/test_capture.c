/*
 * test_capture.c - the capture's map: what goes in comes out, each field's
 * limit and one past it, and hostile CBOR.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/capture.h"
#include "base/bytes.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static char long_text[CAPTURE_URL_MAX + 1];

static void
same(struct capture_bytes a, struct capture_bytes b)
{
	assert_int_equal(a.p == NULL, b.p == NULL);
	assert_int_equal(a.n, b.n);
	if (a.n > 0)
		assert_memory_equal(a.p, b.p, a.n);
}

static void
same_text(struct capture_text a, struct capture_text b)
{
	same(capture_span(a.p, a.n), capture_span(b.p, b.n));
}

static void
same_capture(const struct capture *a, const struct capture *b)
{
	assert_int_equal(a->start_ms, b->start_ms);
	same_text(a->method, b->method);
	same_text(a->url, b->url);
	same(a->request_head, b->request_head);
	same(a->request_body, b->request_body);
	assert_int_equal(a->outcome, b->outcome);
	assert_int_equal(a->status, b->status);
	same(a->response_head, b->response_head);
	same(a->response_body, b->response_body);
	same(a->trailers, b->trailers);
	assert_int_equal(a->ninterim, b->ninterim);
	for (size_t i = 0; i < a->ninterim; i++)
		same(a->interim[i], b->interim[i]);
	same_text(a->peer, b->peer);
	same_text(a->tls.version, b->tls.version);
	same_text(a->tls.cipher, b->tls.cipher);
	same_text(a->tls.alpn, b->tls.alpn);
	assert_int_equal(a->tls.nchain, b->tls.nchain);
	for (size_t i = 0; i < a->tls.nchain; i++)
		same(a->tls.chain[i], b->tls.chain[i]);
	assert_memory_equal(&a->times, &b->times, sizeof(a->times));
	same_text(a->error, b->error);
	same_text(a->software, b->software);
	assert_int_equal(a->flags, b->flags);
}

static void
round_trip(const struct capture *c)
{
	struct bytes b = BYTES_INIT(1 << 20), again = BYTES_INIT(1 << 20);
	struct capture d;
	size_t len = 0;

	assert_int_equal(capture_encoded_len(c, &len, NULL), 0);
	assert_int_equal(capture_encode(c, &b, NULL), 0);
	assert_int_equal(b.len, len);
	assert_int_equal(capture_decode(&d, b.p, b.len, NULL), 0);
	same_capture(c, &d);
	assert_int_equal(capture_encode(&d, &again, NULL), 0);
	assert_int_equal(again.len, b.len);
	assert_memory_equal(again.p, b.p, b.len);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(capture_decode(&d, b.p, cut, NULL),
		    ERR_FORMAT);
	bytes_free(&b);
	bytes_free(&again);
}

static void
test_round_trips(void **state)
{
	struct capture c;

	(void)state;
	sample_capture_small(&c);
	round_trip(&c);
	sample_capture_full(&c);
	round_trip(&c);
	/* There, and empty, is not absent. */
	c.request_body = capture_span("", 0);
	c.peer = capture_str("");
	round_trip(&c);
}

/* The smallest capture, as bytes by hand. */
static void
test_bytes(void **state)
{
	struct bytes b = BYTES_INIT(1024);
	struct capture c;

	(void)state;
	capture_init(&c);
	c.start_ms = 1000;
	c.method = capture_str("GET");
	c.url = capture_str("https://a/");
	c.times.ms[CAPTURE_TOTAL] = 5;
	c.software = capture_str("s");
	assert_int_equal(capture_encode(&c, &b, NULL), 0);
	test_hex_is(b.p, b.len,
	    "a8 01 01 02 1903e8 03 63474554 04 6a68747470733a2f2f612f"
	    " 07 00 0f a1 05 05 11 6173 12 00");
	bytes_free(&b);
}

#define BASE	"01 01 02 00 03 61 47 04 61 75"
#define TAIL	"0f a1 05 05 11 61 73 12 00"

static const struct {
	const char	*name, *hex;
} hostile[] = {
	{ "nothing", "" },
	{ "not a map", "80" },
	{ "empty map", "a0" },
	{ "trailing byte", "a8" BASE "07 00" TAIL "00" },
	{ "indefinite map", "bf" BASE "07 00" TAIL "ff" },
	{ "giant map", "bb7fffffffffffffff" BASE "07 00" TAIL },
	{ "version 2", "a8 01 02 02 00 03 61 47 04 61 75 07 00" TAIL },
	{ "no version", "a7 02 00 03 61 47 04 61 75 07 00" TAIL },
	{ "no start", "a7 01 01 03 61 47 04 61 75 07 00" TAIL },
	{ "no method", "a7 01 01 02 00 04 61 75 07 00" TAIL },
	{ "no URL", "a7 01 01 02 00 03 61 47 07 00" TAIL },
	{ "no outcome", "a7" BASE TAIL },
	{ "no times", "a7" BASE "07 00 11 61 73 12 00" },
	{ "no software", "a7" BASE "07 00 0f a1 05 05 12 00" },
	{ "no flags", "a7" BASE "07 00 0f a1 05 05 11 61 73" },
	{ "unknown key 19", "a9" BASE "07 00" TAIL "13 00" },
	{ "key 0", "a9 00 00" BASE "07 00" TAIL },
	{ "key twice", "a9 01 01" BASE "07 00" TAIL },
	{ "keys out of order", "a8 02 00 01 01 03 61 47 04 61 75 07 00" TAIL },
	{ "negative start", "a8 01 01 02 20 03 61 47 04 61 75 07 00" TAIL },
	{ "start past int64",
	    "a8 01 01 02 1bffffffffffffffff 03 61 47 04 61 75 07 00" TAIL },
	{ "wide integer", "a8 01 1801 02 00 03 61 47 04 61 75 07 00" TAIL },
	{ "method as bytes", "a8 01 01 02 00 03 41 47 04 61 75 07 00" TAIL },
	{ "URL not UTF-8", "a8 01 01 02 00 03 61 47 04 61 ff 07 00" TAIL },
	{ "indefinite text", "a8 01 01 02 00 03 7f6147ff 04 61 75 07 00" TAIL },
	{ "head as text", "a9" BASE "05 61 47 07 00" TAIL },
	{ "outcome 9", "a8" BASE "07 09" TAIL },
	{ "status 99", "a9" BASE "07 00 08 1863" TAIL },
	{ "status 1000", "a9" BASE "07 00 08 1903e8" TAIL },
	{ "empty interim", "a9" BASE "07 00 0c 80" TAIL },
	{ "9 interim heads", "a9" BASE "07 00 0c 89 404040404040404040" TAIL },
	{ "interim of text", "a9" BASE "07 00 0c 81 60" TAIL },
	{ "empty TLS", "a9" BASE "07 00 0e a0" TAIL },
	{ "TLS key 5", "a9" BASE "07 00 0e a1 05 60" TAIL },
	{ "TLS version as number", "a9" BASE "07 00 0e a1 01 01" TAIL },
	{ "empty chain", "a9" BASE "07 00 0e a1 04 80" TAIL },
	{ "empty times", "a8" BASE "07 00 0f a0 11 61 73 12 00" },
	{ "no total time", "a8" BASE "07 00 0f a1 01 05 11 61 73 12 00" },
	{ "times key 6", "a8" BASE "07 00 0f a2 05 05 06 00 11 61 73 12 00" },
	{ "flags 8", "a8" BASE "07 00 0f a1 05 05 11 61 73 12 08" },
	{ "tag", "c0 a8" BASE "07 00" TAIL },
	{ "deep nesting", "a9" BASE "06 8181818181818181818100 07 00" TAIL },
	{ "giant string", "a9" BASE "06 5bffffffffffffffff 07 00" TAIL },
};

static void
test_hostile(void **state)
{
	struct capture c;
	uint8_t *p;
	size_t n;

	(void)state;
	p = test_unhex("a8" BASE "07 00" TAIL, &n);
	assert_int_equal(capture_decode(&c, p, n, NULL), 0);
	free(p);
	for (size_t i = 0; i < TEST_COUNT(hostile); i++) {
		struct err e = ERR_INIT;

		p = test_unhex(hostile[i].hex, &n);
		if (capture_decode(&c, p, n, &e) != ERR_FORMAT)
			fail_msg("%s: accepted", hostile[i].name);
		test_err_is(&e, ERR_FORMAT, "capture");
		free(p);
	}
}

static void
refused(const struct capture *c, int code, const char *part)
{
	struct bytes b = BYTES_INIT(1 << 20);
	struct err e = ERR_INIT;
	size_t len;

	assert_int_equal(capture_encoded_len(c, &len, &e), code);
	test_err_is(&e, code, part);
	assert_int_equal(capture_encode(c, &b, &e), code);
	assert_int_equal(b.len, 0);
	bytes_free(&b);
}

static void
test_limits(void **state)
{
	struct bytes b = BYTES_INIT(1 << 20);
	struct capture c, ok;

	(void)state;
	memset(long_text, 'a', sizeof(long_text));
	sample_capture_small(&ok);
	c = ok;
	c.url = (struct capture_text){ long_text, CAPTURE_URL_MAX };
	c.method = (struct capture_text){ long_text, CAPTURE_METHOD_MAX };
	c.software = (struct capture_text){ long_text, CAPTURE_WORD_MAX };
	c.status = 999;
	round_trip(&ok);
	assert_int_equal(capture_encode(&c, &b, NULL), 0);
	assert_int_equal(capture_decode(&c, b.p, b.len, NULL), 0);
	bytes_free(&b);
	c = ok;
	c.url.p = NULL;
	refused(&c, ERR_ARG, "no URL");
	c = ok;
	c.url = (struct capture_text){ long_text, CAPTURE_URL_MAX + 1 };
	refused(&c, ERR_ARG, "URL of 65537 bytes");
	c = ok;
	c.url = capture_str("\xff");
	refused(&c, ERR_ARG, "URL is not UTF-8");
	c = ok;
	c.method = (struct capture_text){ long_text, CAPTURE_METHOD_MAX + 1 };
	refused(&c, ERR_ARG, "method");
	c = ok;
	c.peer = (struct capture_text){ long_text, CAPTURE_WORD_MAX + 1 };
	refused(&c, ERR_ARG, "peer");
	c = ok;
	c.status = 99;
	refused(&c, ERR_ARG, "status 99");
	c.status = 1000;
	refused(&c, ERR_ARG, "status 1000");
	c = ok;
	c.outcome = CAPTURE_OUTCOMES;
	refused(&c, ERR_ARG, "outcome");
	c = ok;
	c.times.ms[CAPTURE_TOTAL] = -1;
	refused(&c, ERR_ARG, "total");
	c = ok;
	c.flags = 8;
	refused(&c, ERR_ARG, "flags");
	c = ok;
	c.ninterim = CAPTURE_INTERIM_MAX + 1;
	refused(&c, ERR_ARG, "interim");
	c = ok;
	c.ninterim = 1;
	refused(&c, ERR_ARG, "interim head 0");
	c = ok;
	c.tls.nchain = CAPTURE_CHAIN_MAX + 1;
	refused(&c, ERR_ARG, "certificates");
	c = ok;
	c.start_ms = -1;
	refused(&c, ERR_ARG, "start");
	c = ok;
	/* Never read: its length alone is too much. */
	c.response_body = capture_span(long_text, CAPTURE_MAX);
	refused(&c, ERR_LIMIT, "at most");
}

/* A cap of the buffer is told, not overrun. */
static void
test_out_cap(void **state)
{
	struct bytes b = BYTES_INIT(40);
	struct err e = ERR_INIT;
	struct capture c;

	(void)state;
	sample_capture_small(&c);
	assert_int_equal(capture_encode(&c, &b, &e), ERR_LIMIT);
	bytes_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_out_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
