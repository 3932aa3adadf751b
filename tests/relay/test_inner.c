/*
 * test_inner.c - a client's TLS, straight into an inner session: requests
 * through admission, policy, a real origin and an archive, and back as an
 * answer whose receipt verifies.
 */
#include <sys/mman.h>

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/relay_world.h"
#include "tests/test_util.h"

#include "archive/receipt.h"
#include "archive/seal.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/inner_inside.h"
#include "relay/service.h"
#include "relay/token_file.h"
#include "transport/tls_context.h"
#include "transport/tls_stream.h"

/* One client and its session. */
struct peer {
	struct relay_world		*w;
	struct inner		*inner;
	struct tls_stream	*tls;
	struct bytes		 got;		/* plaintext */
	bool			 has_end, is_aborted, is_busy, is_established;
	size_t			 most_read;	/* bytes a turn, 0: all */
};

static void
on_event(void *arg)
{
	struct peer *p = arg;

	event_base_loopbreak(p->w->rig.base);
}

static void
on_established(void *arg)
{
	((struct peer *)arg)->is_established = true;
}

static void
on_busy(bool busy, void *arg)
{
	((struct peer *)arg)->is_busy = busy;
}

static void
on_abort(void *arg)
{
	((struct peer *)arg)->is_aborted = true;
	on_event(arg);
}

static void
peer_open(struct peer *p, struct relay_world *w)
{
	struct inner_cbs cbs = { on_event, on_event, on_established, on_busy,
		on_abort, p };

	memset(p, 0, sizeof(*p));
	p->w = w;
	bytes_init(&p->got, 32 << 20);
	assert_int_equal(inner_new(&p->inner, &w->s, &cbs, NULL), 0);
	assert_int_equal(tls_stream_new(&p->tls, w->pin, NULL, NULL), 0);
}

static void
peer_close(struct peer *p)
{
	inner_free(&p->inner);
	tls_stream_free(&p->tls);
	bytes_free(&p->got);
}

/* Plaintext out of what the session sent. */
static void
peer_read(struct peer *p)
{
	struct err e = ERR_INIT;
	uint8_t buf[16384];
	size_t got;
	int r;

	while ((r = tls_stream_read(p->tls, buf, sizeof(buf), &got, &e)) == 0)
		assert_int_equal(bytes_append(&p->got, buf, got, NULL), 0);
	if (r == ERR_EOF)
		p->has_end = true;
	else if (r != ERR_AGAIN)
		fail_msg("client's TLS: %s", e.msg);
}

/* Moves ciphertext both ways until nothing moves. */
static void
peer_move(struct peer *p)
{
	uint8_t buf[8192];
	size_t n, used, done;
	bool end = false, moved = true;

	while (moved && !p->is_aborted) {
		moved = false;
		if ((n = tls_stream_drain(p->tls, buf, sizeof(buf))) > 0) {
			for (done = 0; done < n; done += used)
				if ((used = inner_feed(p->inner, buf + done,
				    n - done)) == 0)
					fail_msg("the session is full");
			moved = true;
		}
		n = inner_read(p->inner, buf, p->most_read != 0 &&
		    p->most_read < sizeof(buf) ? p->most_read : sizeof(buf),
		    &end);
		for (done = 0; done < n; done += used) {
			assert_int_equal(tls_stream_feed(p->tls, buf + done,
			    n - done, &used, NULL), 0);
			peer_read(p);
		}
		if (n > 0)
			moved = true;
		peer_read(p);
	}
	if (end)
		p->has_end = true;
}

static void
peer_send(struct peer *p, const char *text, size_t n)
{
	size_t used;
	int r;

	peer_move(p);
	while (n > 0) {
		r = tls_stream_write(p->tls, text, n, &used, NULL);
		assert_true(r == 0 || r == ERR_AGAIN);
		text += used;
		n -= used;
		peer_move(p);
	}
}

/* Is there a whole answer?  Its head's length, or 0. */
static size_t
answer_len(const struct peer *p, size_t *body, bool is_head)
{
	const char *text = (const char *)p->got.p, *end, *f;

	*body = 0;
	if (p->got.len == 0 || (end = memmem(text, p->got.len, "\r\n\r\n",
	    4)) == NULL)
		return 0;
	f = memmem(text, (size_t)(end - text), "\r\nContent-Length: ", 18);
	if (f != NULL && !is_head && memcmp(text + 9, "204", 3) != 0 &&
	    memcmp(text + 9, "304", 3) != 0)
		*body = strtoul(f + 18, NULL, 10);
	if (p->got.len < (size_t)(end + 4 - text) + *body)
		return 0;
	return (size_t)(end + 4 - text);
}

/* Sends a request and waits for the whole answer; its status. */
static unsigned
ask(struct peer *p, const char *request, size_t *head, size_t *body)
{
	bool is_head = strncmp(request, "HEAD", 4) == 0;
	char *text;

	bytes_clear(&p->got);
	peer_send(p, request, strlen(request));
	while ((*head = answer_len(p, body, is_head)) == 0 &&
	    !p->is_aborted && !p->has_end) {
		event_base_loop(p->w->rig.base, EVLOOP_ONCE);
		peer_move(p);
	}
	if (*head == 0)
		return 0;
	assert_int_equal(bytes_terminate(&p->got, NULL), 0);
	text = (char *)p->got.p;
	assert_memory_equal(text, "HTTP/1.1 ", 9);
	return (unsigned)strtoul(text + 9, NULL, 10);
}

/* The value of a field of the answer, copied; NULL when it is not there. */
static char *
field_of(const struct peer *p, size_t head, const char *name)
{
	char key[64];
	const char *f, *end;

	snprintf(key, sizeof(key), "\r\n%s: ", name);
	f = memmem(p->got.p, head, key, strlen(key));
	if (f == NULL)
		return NULL;
	f += strlen(key);
	end = strstr(f, "\r\n");
	return strndup(f, (size_t)(end - f));
}

static void
field_is(const struct peer *p, size_t head, const char *name,
    const char *want)
{
	char *value = field_of(p, head, name);

	if (value == NULL || want == NULL) {
		if (value != want)
			fail_msg("%s: %s", name, value == NULL ? "-" : value);
	} else if (strstr(value, want) == NULL)
		fail_msg("%s: %s", name, value);
	free(value);
}

/* The receipt in an answer proves this very record, and its key opens it. */
static void
check_receipt(const struct peer *p, size_t head)
{
	char *text = field_of(p, head, "Amber-Receipt");
	char *key = field_of(p, head, "Amber-Record-Key");
	uint8_t receipt[RECEIPT_MAX], rs[SEAL_KEY_LEN];
	struct receipt r;
	struct err e = ERR_INIT;
	size_t n;

	assert_non_null(text);
	assert_non_null(key);
	assert_true(base64_decode(receipt, sizeof(receipt), text,
	    strlen(text), &n));
	if (receipt_verify(&r, NULL, (const char *)receipt, n,
	    identity_vkey(p->w->id), &e) != 0)
		fail_msg("%s", e.msg);
	assert_memory_equal(r.head.puzzle, p->w->epoch.epoch.puzzle,
	    SEAL_ID_LEN);
	assert_int_equal(sodium_base642bin(rs, sizeof(rs), key, strlen(key),
	    NULL, &n, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING), 0);
	assert_int_equal(seal_check_rs(&r.head, rs, &e), 0);
	free(text);
	free(key);
}

/* A request for a path at the rig's origin. */
static char *
request(const struct relay_world *w, const char *method, const char *path,
    const char *fields)
{
	static char text[4096];

	snprintf(text, sizeof(text), "%s https://origin.example:%u%s "
	    "HTTP/1.1\r\nHost: x.example\r\n%s\r\n", method,
	    origin_port(w->rig.origin), path, fields);
	return text;
}

static void
test_fetch(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	for (i = 0; i < 3; i++) {
		assert_int_equal(ask(&p, request(&w, "GET", "/ok", ""), &head,
		    &body), 200);
		assert_true(p.is_established);
		assert_false(p.is_busy);
		assert_memory_equal(p.got.p + head, "hello\n", 6);
		field_is(&p, head, "Via", "1.1 amber");
		field_is(&p, head, "Proxy-Status",
		    "amber; received-status=200");
		field_is(&p, head, "Content-Type", "text/plain");
		check_receipt(&p, head);
	}
	field_is(&p, head, "Amber-Record", "3");	/* after the manifest */
	peer_close(&p);
	relay_world_close(&w);
}

/* What goes upstream, as the origin saw it. */
static void
test_request_head(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body;
	char *echo;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(ask(&p, request(&w, "POST", "/echo?a=b",
	    "Accept: x/y\r\nCookie: c=d\r\nConnection: close, X-Hop, Cookie"
	    "\r\nX-Hop: 1\r\nTE: trailers\r\nProxy-Authorization: Bearer t\r\n"
	    "Amber-Redact: X-Own\r\nX-Own: secret\r\nExpect: 100-continue\r\n"
	    "Content-Length: 4\r\n\r\nbody"), &head, &body), 100);
	/* The interim answer came first; then the real one. */
	bytes_consume(&p.got, head);
	while ((head = answer_len(&p, &body, false)) == 0) {
		event_base_loop(w.rig.base, EVLOOP_ONCE);
		peer_move(&p);
	}
	assert_int_equal(bytes_terminate(&p.got, NULL), 0);
	echo = (char *)p.got.p + head;
	assert_memory_equal(echo, "POST /echo?a=b HTTP/1.1\r\nHost: "
	    "origin.example:", 46);
	assert_non_null(strstr(echo, "\r\nAccept: x/y\r\n"));
	assert_non_null(strstr(echo, "\r\nCookie: c=d\r\n"));
	assert_non_null(strstr(echo, "\r\nVia: 1.1 amber\r\n"));
	assert_non_null(strstr(echo, "\r\nContent-Length: 4\r\n"));
	assert_non_null(strstr(echo, "\r\nX-Own: secret\r\n"));
	assert_null(strstr(echo, "X-Hop"));
	assert_null(strstr(echo, "TE:"));
	assert_null(strstr(echo, "Bearer"));
	assert_null(strstr(echo, "Amber-"));
	assert_null(strstr(echo, "Expect"));
	assert_null(strstr(echo, "Connection"));
	assert_memory_equal(echo + body - 4, "body", 4);
	field_is(&p, head, "Connection", "close");
	peer_close(&p);
	relay_world_close(&w);
}

static const struct {
	const char	*request;	/* %u: the origin's port */
	unsigned	 status;
	const char	*token;
	bool		 is_recorded;
} refusals[] = {
	{ "GET https://origin.example:%u/silent-close HTTP/1.1\r\n\r\n", 502,
	    "connection_terminated", true },
	{ "GET https://unknown.example:%u/ HTTP/1.1\r\n\r\n", 502,
	    "dns_error", true },
	{ "GET https://10.0.0.1:%u/ HTTP/1.1\r\n\r\n", 403,
	    "destination_ip_prohibited", true },
	{ "GET https://origin.example:1/?%u HTTP/1.1\r\n\r\n", 403,
	    "destination_ip_prohibited", true },
	{ "TRACE https://origin.example:%u/ HTTP/1.1\r\n\r\n", 501, "", false },
	{ "GET http://origin.example:%u/ HTTP/1.1\r\n\r\n", 400,
	    "http_request_error", false },
	{ "GET https://2130706433:%u/ HTTP/1.1\r\n\r\n", 400,
	    "http_request_error", false },
	{ "GET /%u HTTP/1.1\r\n\r\n", 400, "http_request_error", false },
	{ "GET https://origin.example:%u/ HTTP/1.1\r\n"
	    "Via: 1.0 fred, 1.1 amber (x)\r\n\r\n", 403,
	    "proxy_loop_detected", false },
	{ "GET https://origin.example:%u/ HTTP/1.1\r\n"
	    "Amber-Redact: a b\r\n\r\n", 400, "http_request_error", false },
};

static void
test_refusals(void **state)
{
	struct relay_world w;
	char text[512];
	struct peer p;
	size_t head, body, i;
	unsigned status;

	(void)state;
	relay_world_open(&w, "");
	for (i = 0; i < TEST_COUNT(refusals); i++) {
		peer_open(&p, &w);
		snprintf(text, sizeof(text), refusals[i].request,
		    origin_port(w.rig.origin));
		status = ask(&p, text, &head, &body);
		if (status != refusals[i].status)
			fail_msg("%s: %u", text, status);
		field_is(&p, head, "Proxy-Status", refusals[i].token);
		if (refusals[i].is_recorded)
			check_receipt(&p, head);
		else
			field_is(&p, head, "Amber-Receipt", NULL);
		peer_close(&p);
	}
	relay_world_close(&w);
}

/* The answer's own fields: hop by hop ones and ours do not pass. */
static void
test_answer_head(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body;
	char *value;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(ask(&p, request(&w, "GET", "/cookies", ""), &head,
	    &body), 200);
	field_is(&p, head, "Set-Cookie", "session=s3cr3t");
	field_is(&p, head, "Proxy-Authenticate", NULL);
	value = field_of(&p, head, "Amber-Record");
	assert_string_equal(value, "1");	/* not the origin's 99 */
	free(value);
	assert_int_equal(ask(&p, request(&w, "HEAD", "/size/12345", ""),
	    &head, &body), 200);
	field_is(&p, head, "Content-Length", "12345");
	assert_int_equal(p.got.len, head);
	assert_int_equal(ask(&p, request(&w, "GET", "/no-content", ""), &head,
	    &body), 204);
	field_is(&p, head, "Content-Length", "5");	/* as it came */
	assert_int_equal(p.got.len, head);
	check_receipt(&p, head);
	/* As 204; and all its fields, to the byte. */
	assert_int_equal(ask(&p, request(&w, "GET", "/not-modified",
	    "If-None-Match: \"v1\"\r\n"), &head, &body), 304);
	field_is(&p, head, "Content-Length", "5");
	field_is(&p, head, "ETag", "\"v1\"");
	field_is(&p, head, "X-Odd", "\xc3\xa4\xc2\x9b" "1m\x9b");
	assert_int_equal(p.got.len, head);
	check_receipt(&p, head);
	assert_int_equal(ask(&p, request(&w, "GET", "/gzip-bomb", ""), &head,
	    &body), 200);
	field_is(&p, head, "Content-Encoding", "gzip");
	assert_int_equal(body, 289);
	assert_memory_equal(p.got.p + head, "\x1f\x8b\x08", 3);
	check_receipt(&p, head);
	peer_close(&p);
	relay_world_close(&w);
}

static void
test_large(void **state)
{
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(ask(&p, request(&w, "GET", "/limit-chunked", ""),
	    &head, &body), 200);
	assert_int_equal(body, 10 << 20);
	for (i = 0; i < body; i++)
		if (p.got.p[head + i] != origin_pattern(i))
			fail_msg("byte %zu", i);
	check_receipt(&p, head);
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.in_use, 0);
	assert_int_equal(c.response_bytes, 0);
	assert_int_equal(ask(&p, request(&w, "GET", "/over", ""), &head,
	    &body), 502);
	field_is(&p, head, "Proxy-Status", "http_response_body_size");
	check_receipt(&p, head);
	peer_close(&p);
	relay_world_close(&w);
}

/* Bytes of p's answer's body that are in memory. */
static size_t
resident(const struct peer *p)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct fetch_answer *a = &p->inner->answer;
	uintptr_t from = (uintptr_t)a->body / page * page, end;
	unsigned char in[(12 << 20) / 4096];
	size_t i, n = 0;

	end = (uintptr_t)a->body + a->body_len;
	assert_true((end - from) / page < sizeof(in));
	assert_int_equal(mincore((void *)from, end - from, in), 0);
	for (i = 0; i < (end - from + page - 1) / page; i++)
		n += in[i] & 1U ? page : 0;
	return n;
}

/* What is sent is not held any longer: neither counted nor in memory. */
static void
test_release(void **state)
{
	const size_t most = 9 << 20, size = 10 << 20, step = 512 << 10;
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	uint8_t buf[8192];
	size_t got = 0, n;
	bool end;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	peer_send(&p, request(&w, "GET", "/limit", ""),
	    strlen(request(&w, "GET", "/limit", "")));
	while (p.inner->state != INNER_ANSWER)
		event_base_loop(w.rig.base, EVLOOP_ONCE);
	admission_counts(w.s.admission, &c);
	assert_true(c.response_bytes >= size);
	assert_true(resident(&p) >= size);
	while (got < most) {
		n = inner_read(p.inner, buf, sizeof(buf), &end);
		assert_true(n > 0);
		got += n;
	}
	admission_counts(w.s.admission, &c);
	assert_true(c.response_bytes < size - most + step);
	assert_true(resident(&p) < size - most + step);
	peer_close(&p);
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.response_bytes, 0);
	relay_world_close(&w);
}

static void
test_tokens(void **state)
{
	uint8_t hash[32];
	char line[128], hex[65];
	struct relay_world w;
	struct peer p;
	size_t head, body;

	(void)state;
	crypto_hash_sha256(hash, (const uint8_t *)"sesame", 6);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(line, sizeof(line), "ada %s\n", hex);
	relay_world_open(&w, "");
	assert_int_equal(token_file_parse(&w.s.tokens, line, strlen(line),
	    NULL), 0);
	peer_open(&p, &w);
	assert_int_equal(ask(&p, request(&w, "GET", "/ok", ""), &head, &body),
	    407);
	field_is(&p, head, "Proxy-Authenticate", "Bearer");
	assert_int_equal(ask(&p, request(&w, "GET", "/ok",
	    "Proxy-Authorization: Bearer wrong\r\n"), &head, &body), 407);
	assert_int_equal(ask(&p, request(&w, "GET", "/ok",
	    "Proxy-Authorization: Bearer sesame\r\n"), &head, &body), 200);
	assert_int_equal(token_file_uses(w.s.tokens, 0), 1);
	peer_close(&p);
	relay_world_close(&w);
}

static const struct { enum service_stage stage; uint64_t count; } stages[] = {
	{ SERVICE_DNS, 1 }, { SERVICE_CONNECT, 1 }, { SERVICE_TLS, 1 },
	/* The second request goes over the first one's connection. */
	{ SERVICE_FIRST_BYTE, 2 }, { SERVICE_BODY, 2 }, { SERVICE_FETCH, 2 },
	{ SERVICE_SEAL, 2 }, { SERVICE_COMMIT, 2 },
};

/* Every stage is measured apart, for metrics and for the client. */
static void
test_stages(void **state)
{
	double parts = 0;
	struct relay_world w;
	struct peer p;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(ask(&p, request(&w, "GET", "/ok?delay=30", ""),
	    &head, &body), 200);
	field_is(&p, head, "Amber-Timing", "dns=");
	field_is(&p, head, "Amber-Timing", ", tls=");
	assert_int_equal(ask(&p, request(&w, "GET", "/size/200000", ""),
	    &head, &body), 200);
	field_is(&p, head, "Amber-Timing", "first-byte=");
	field_is(&p, head, "Amber-Timing", ", body=");
	field_is(&p, head, "Amber-Timing", ", seal=");
	field_is(&p, head, "Amber-Timing", ", commit=");
	assert_int_equal(TEST_COUNT(stages), SERVICE_STAGES);
	for (i = 0; i < TEST_COUNT(stages); i++)
		if (w.s.stages[stages[i].stage].count != stages[i].count)
			fail_msg("stage %zu: %llu", i,
			    (unsigned long long)w.s.stages[stages[i].stage]
				.count);
	for (i = SERVICE_DNS; i < SERVICE_FETCH; i++)
		parts += w.s.stages[i].sum;
	/* Each is cut to a millisecond. */
	assert_true(w.s.stages[SERVICE_FIRST_BYTE].sum >= 0.030);
	assert_true(parts <= w.s.stages[SERVICE_FETCH].sum + 1e-9);
	assert_true(w.s.stages[SERVICE_SEAL].sum > 0);
	assert_true(w.s.stages[SERVICE_COMMIT].sum > 0);
	peer_close(&p);
	relay_world_close(&w);
}

/* What the relay says of itself, in front of a request. */
static void
test_about(void **state)
{
	static const char ask_about[] = "OPTIONS https://amber.invalid/ "
	    "HTTP/1.1\r\nHost: amber.invalid\r\nMax-Forwards: 0\r\n\r\n";
	char both[8192], epoch[256], hex[65];
	struct relay_world w;
	struct peer p;
	size_t head, body;

	(void)state;
	relay_world_open(&w, "");
	sodium_bin2hex(hex, sizeof(hex), w.epoch.epoch.puzzle, SEAL_ID_LEN);
	snprintf(epoch, sizeof(epoch), "n=1, from=%lld, until=%lld, "
	    "puzzle=%s", (long long)w.epoch.epoch.not_before,
	    (long long)w.epoch.epoch.not_after, hex);
	peer_open(&p, &w);
	admission_set_closed(w.s.admission, ADMISSION_WARMING);
	assert_int_equal(ask(&p, ask_about, &head, &body), 200);
	field_is(&p, head, "Amber-State", "warming");
	admission_set_closed(w.s.admission, ADMISSION_OK);
	snprintf(both, sizeof(both), "%s%s", ask_about,
	    request(&w, "GET", "/ok", ""));
	assert_int_equal(ask(&p, both, &head, &body), 200);
	field_is(&p, head, "Amber-State", "ready");
	field_is(&p, head, "Amber-Epoch", epoch);
	field_is(&p, head, "Amber-Record", NULL);
	field_is(&p, head, "Proxy-Status", "amber");
	/* The answer of the request behind it is a record's. */
	bytes_consume(&p.got, head + body);
	while ((head = answer_len(&p, &body, false)) == 0) {
		event_base_loop(w.rig.base, EVLOOP_ONCE);
		peer_move(&p);
	}
	assert_int_equal(bytes_terminate(&p.got, NULL), 0);
	check_receipt(&p, head);
	/* One that may be forwarded is, with all that follows from it. */
	assert_int_equal(ask(&p, request(&w, "OPTIONS", "/ok",
	    "Max-Forwards: 1\r\n"), &head, &body), 200);
	check_receipt(&p, head);
	peer_close(&p);
	relay_world_close(&w);
}

static const struct {
	enum admission_refusal why;
	const char *reason;
}
closed[] = {
	{ ADMISSION_WARMING, "warming" },
	{ ADMISSION_EXPIRED, "expired" },
	{ ADMISSION_STORAGE, "storage" },
};

static void
test_admission(void **state)
{
	struct peer busy, p;
	struct relay_world w;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "permits = 1\n");
	peer_open(&p, &w);
	for (i = 0; i < TEST_COUNT(closed); i++) {
		admission_set_closed(w.s.admission, closed[i].why);
		assert_int_equal(ask(&p, request(&w, "GET", "/ok", ""), &head,
		    &body), 503);
		field_is(&p, head, "Amber-Reason", closed[i].reason);
		field_is(&p, head, "Retry-After", "");
	}
	admission_set_closed(w.s.admission, ADMISSION_OK);
	peer_open(&busy, &w);
	peer_send(&busy, request(&w, "GET", "/ok?delay=2000", ""),
	    strlen(request(&w, "GET", "/ok?delay=2000", "")));
	assert_int_equal(ask(&p, request(&w, "GET", "/ok", ""), &head, &body),
	    503);
	field_is(&p, head, "Amber-Reason", "permits");
	/* The busy one goes away: its permit is free again. */
	peer_close(&busy);
	assert_int_equal(ask(&p, request(&w, "GET", "/ok", ""), &head, &body),
	    200);
	peer_close(&p);
	relay_world_close(&w);
}

static const struct { const char *text; unsigned status; } bad[] = {
	{ "GET https://a.b/ HTTP/2.5\r\n\r\n", 400 },
	{ "GET https://a.b/ HTTP/1.1\r\nBad Field: x\r\n\r\n", 400 },
	{ "POST https://a.b/ HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n",
	    413 },
	{ "POST https://a.b/ HTTP/1.1\r\nContent-Length: x\r\n\r\n",
	    400 },
};

static void
test_bad_requests(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body, i;
	unsigned status;

	(void)state;
	relay_world_open(&w, "");
	for (i = 0; i < TEST_COUNT(bad); i++) {
		peer_open(&p, &w);
		status = ask(&p, bad[i].text, &head, &body);
		if (status != bad[i].status)
			fail_msg("row %zu: %u", i, status);
		field_is(&p, head, "Connection", "close");
		while (!p.has_end)
			peer_move(&p);
		peer_close(&p);
	}
	relay_world_close(&w);
}

/* A body that comes too slowly: 408, and its memory is there for others. */
static void
test_slow_body(void **state)
{
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	size_t head, body;
	char *text;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	text = request(&w, "POST", "/echo",
	    "Content-Length: 4000\r\n\r\n12345678");
	peer_send(&p, text, strlen(text));
	admission_counts(w.s.admission, &c);
	assert_true(c.request_bytes >= 8);
	event_active(p.inner->timer, EV_TIMEOUT, 0);	/* its time is up */
	while ((head = answer_len(&p, &body, false)) == 0) {
		event_base_loop(w.rig.base, EVLOOP_ONCE);
		peer_move(&p);
	}
	assert_memory_equal(p.got.p, "HTTP/1.1 408 ", 13);
	while (!p.has_end)
		peer_move(&p);
	peer_close(&p);
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.request_bytes, 0);
	relay_world_close(&w);
}

/* Gone at any moment: permits and memory come back, nothing leaks (ASan). */
static void
test_aborts(void **state)
{
	static const char *const paths[] = { "/ok", "/size/3000000",
		"/silent-close" };
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	size_t turns, i, t;

	(void)state;
	relay_world_open(&w, "");
	for (i = 0; i < TEST_COUNT(paths); i++)
		for (turns = 0; turns < 25; turns++) {
			peer_open(&p, &w);
			peer_send(&p, request(&w, "GET", paths[i], ""),
			    strlen(request(&w, "GET", paths[i], "")));
			for (t = 0; t < turns; t++) {
				event_base_loop(w.rig.base, EVLOOP_NONBLOCK);
				if (t % 2)
					peer_move(&p);
				else
					usleep(300);
			}
			peer_close(&p);
		}
	/* What the archive still held ends on the loop. */
	for (t = 0; t < 1000 && w.s.fetches > 0; t++) {
		event_base_loop(w.rig.base, EVLOOP_NONBLOCK);
		usleep(2000);
	}
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.in_use, 0);
	assert_int_equal(c.response_bytes, 0);
	assert_int_equal(c.request_bytes, 0);
	relay_world_close(&w);
}

/* Whoever comes before the relay has its certificate is refused, not more. */
static void
test_too_early(void **state)
{
	const struct inner_cbs cbs = { on_event, on_event, on_established,
		on_busy, on_abort, NULL };
	struct tls_context *leaf;
	struct inner *i = NULL;
	struct relay_world w;
	struct err e = ERR_INIT;

	(void)state;
	relay_world_open(&w, "");
	leaf = w.s.leaf;
	w.s.leaf = NULL;
	assert_int_equal(inner_new(&i, &w.s, &cbs, &e), ERR_PHASE);
	assert_null(i);
	w.s.leaf = leaf;
	assert_int_equal(inner_new(&i, &w.s, &cbs, &e), 0);
	inner_free(&i);
	relay_world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_request_head),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_answer_head),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_about),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_admission),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_slow_body),
		cmocka_unit_test(test_aborts),
		cmocka_unit_test(test_too_early),
	};

	signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
