/*
 * test_caps.c - what a client may send: each cap of the config at the limit
 * and one past it, through the whole relay, and what it answers.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/relay/relay_stage.h"
#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"
#include "client/amber.h"
#include "loadtest/origin.h"
#include "relay/admission.h"

/* A request of exactly this much; 0: as it comes. */
struct ask {
	size_t	body;		/* bytes */
	size_t	fields;		/* with Host and Content-Length */
	size_t	head;		/* bytes, with the request line */
};

static const struct {
	const char	*config;
	struct ask	 ask;
	unsigned	 status;
	const char	*reason;	/* Amber-Reason */
} rows[] = {
	{ "request_body = 1000\n", { .body = 1000 }, 200, "" },
	{ "request_body = 1000\n", { .body = 1001 }, 413, "" },
	{ "request_body = 0\n", { .body = 0 }, 200, "" },
	{ "request_body = 0\n", { .body = 1 }, 413, "" },
	{ "", { .body = 1 << 20 }, 200, "" },
	{ "", { .body = (1 << 20) + 1 }, 413, "" },
	{ "request_memory = 700\n", { .body = 700 }, 200, "" },
	{ "request_memory = 700\n", { .body = 701 }, 503, "memory" },
	{ "fields = 20\n", { .fields = 20 }, 200, "" },
	{ "fields = 20\n", { .fields = 21 }, 431, "" },
	{ "", { .fields = 128 }, 200, "" },
	{ "", { .fields = 129 }, 431, "" },
	{ "head = 2KiB\n", { .head = 2048 }, 200, "" },
	{ "head = 2KiB\n", { .head = 2049 }, 431, "" },
	{ "", { .head = 64 << 10 }, 200, "" },
	{ "", { .head = (64 << 10) + 1 }, 431, "" },
};

/* The lines that make it so, beside those that the library adds. */
static void
make_fields(const struct ask *k, const char *url, struct bytes *out)
{
	char fixed[512];
	size_t i, len;

	for (i = k->body > 0 ? 2 : 1; i < k->fields; i++)
		assert_int_equal(bytes_printf(out, NULL, "X-%zu: y\r\n", i),
		    0);
	if (k->head > 0) {
		len = (size_t)snprintf(fixed, sizeof(fixed),
		    "GET %s HTTP/1.1\r\nHost: %.*s\r\nX: \r\n\r\n", url,
		    (int)strcspn(url + 8, "/"), url + 8);
		assert_int_equal(bytes_append_str(out, "X: ", NULL), 0);
		for (i = len; i < k->head; i++)
			assert_int_equal(bytes_append_byte(out, 'y', NULL),
			    0);
		assert_int_equal(bytes_append_str(out, "\r\n", NULL), 0);
	}
	assert_int_equal(bytes_terminate(out, NULL), 0);
}

static void
ask(const struct relay_stage *st, struct amber *a, size_t row)
{
	const struct ask *k = &rows[row].ask;
	struct bytes fields = BYTES_INIT(1 << 20);
	uint8_t *body = calloc(1, k->body + 1);
	char url[128];
	struct amber_request q = { .method = k->body > 0 ? "POST" : "GET",
		.url = url, .body = body, .body_len = k->body,
		.has_body = k->body > 0 };
	struct amber_answer *r;
	struct err e;

	assert_non_null(body);
	(void)snprintf(url, sizeof(url), "https://origin.example:%u/ok",
	    origin_port(st->w.rig.origin));
	make_fields(k, url, &fields);
	q.fields = (const char *)fields.p;
	if (amber_fetch(a, &q, &r, &e) != 0)
		fail_msg("row %zu: %s", row, e.msg);
	if (r->status != rows[row].status ||
	    strcmp(r->reason, rows[row].reason) != 0)
		fail_msg("row %zu: %u %s", row, r->status, r->reason);
	assert_int_equal(r->has_record, r->status == 200);
	assert_int_equal(r->is_relays, r->status != 200);
	if (r->status == 503)
		assert_true(r->retry_after_s > 0);
	amber_answer_free(&r);
	bytes_free(&fields);
	free(body);
}

static void
is_given_back(struct relay_stage *st, void *arg)
{
	struct admission_counts c;

	(void)arg;
	admission_counts(st->w.s.admission, &c);
	assert_int_equal(c.request_bytes, 0);
	assert_int_equal(c.in_use, 0);
}

static void
test_caps(void **state)
{
	struct relay_stage st;
	struct amber_opts o;
	struct amber *a;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		relay_stage_open(&st, rows[i].config, NULL);
		amber_opts_init(&o);
		o.relay = st.url;
		o.pin = st.pin;
		o.max_ms = 60000;
		if (amber_new(&a, &o, &e) != 0)
			fail_msg("%s", e.msg);
		ask(&st, a, i);
		amber_free(&a);
		relay_stage_do(&st, is_given_back, NULL);
		relay_stage_close(&st);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caps),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
