/*
 * http_parser.c - heads and chunks go through llhttp (http_llhttp.c); where a
 * head, a line or a trailer section ends, how a body is framed, and every cap
 * are decided here, byte by byte, so that cutting the input elsewhere changes
 * nothing.
 *
 * It must not act on a message (no policy, no forwarding), and never gives
 * llhttp a byte beyond the section it is in.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/http_head.h"
#include "transport/http_parser.h"
#include "transport/http_parser_inside.h"

int
http_parser_fail(struct http_parser *p, enum http_fault f, int code,
    struct err *e)
{
	p->fault = f;
	p->fault_code = code;
	return err_set(e, code, "HTTP %s: %s",
	    p->kind == HTTP_REQUESTS ? "request" : "response",
	    http_fault_name(f));
}

int
http_parser_deliver(struct http_parser *p, const uint8_t *at, size_t n)
{
	int r;

	p->got += n;
	p->left -= n;
	p->m.body += n;
	if (n == 0 || p->sink.on_body == NULL)
		return 0;
	if ((r = p->sink.on_body(at, n, p->sink.arg, p->e)) == 0)
		return 0;
	p->fault = HTTP_SINK_FAILED;
	p->fault_code = r;
	return r;
}

void
http_limits_init(struct http_limits *l)
{
	l->start = 64 * 1024;
	l->head = 64 * 1024;
	l->fields = 128;
	l->field = 64 * 1024;
	l->chunking = 1024 * 1024;
	l->trailers = 64 * 1024;
	l->body = 10 * 1024 * 1024;
}

/* Everything but what spans interim heads. */
static void
parser_restart(struct http_parser *p)
{
	http_llhttp_init(p);
	http_section_clear(&p->head);
	http_section_clear(&p->trail);
	memset(&p->m, 0, sizeof(p->m));
	p->m.kind = p->kind;
	p->m.method = "";
	p->m.target = p->m.reason = "";
	p->is_stale = false;
}

int
http_parser_new(struct http_parser **out, enum http_kind kind,
    const struct http_limits *limits, const struct http_sink *sink,
    struct err *e)
{
	struct http_parser *p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an HTTP parser");
	p->kind = kind;
	p->limits = *limits;
	if (sink != NULL)
		p->sink = *sink;
	http_section_init(&p->head, limits->head);
	http_section_init(&p->trail, limits->trailers);
	http_parser_next(p, false);
	*out = p;
	return 0;
}

void
http_parser_free(struct http_parser **pp)
{
	struct http_parser *p = *pp;

	if (p == NULL)
		return;
	http_section_free(&p->head);
	http_section_free(&p->trail);
	free(p);
	*pp = NULL;
}

void
http_parser_next(struct http_parser *p, bool answers_head)
{
	parser_restart(p);
	p->phase = PH_HEAD;
	p->fault = HTTP_OK;
	p->fault_code = 0;
	p->answers_head = answers_head;
	p->blank_cr = false;
	p->last_chunk = p->is_complete = false;
	p->interims = 0;
	p->blank = p->chunking = 0;
	p->left = 0;
}

/* Which fault it is to break a cap of a section. */
static enum http_fault
parser_over(const struct http_parser *p, const struct http_section *s,
    enum http_section_cap cap)
{
	const bool is_head = s == &p->head;

	if (cap == HTTP_SECTION_ALL)
		return is_head ? HTTP_BIG_HEAD : HTTP_BIG_TRAILERS;
	if (!is_head)
		return HTTP_BIG_TRAILER;
	if (cap == HTTP_SECTION_COUNT)
		return HTTP_BIG_COUNT;
	return s->lines == 0 ? HTTP_BIG_START : HTTP_BIG_FIELD;
}

/* Collects and feeds what comes of one line; *end after the empty one. */
static int
feed_line(struct http_parser *p, struct http_section *s, const uint8_t *data,
    size_t n, size_t *used, bool *end, struct err *e)
{
	const struct http_limits *l = &p->limits;
	const bool is_head = s == &p->head;
	const struct http_section_caps caps = {
		.all = is_head ? l->head - p->blank : l->trailers,
		.line = is_head && s->lines == 0 ? l->start : l->field,
		.fields = l->fields + is_head,	/* the start line is none */
	};
	enum http_section_cap over;
	size_t k, took;
	int r;

	*end = false;
	k = http_section_scan(s, &caps, data, n, &over);
	*used = k;
	if (k > 0) {
		if ((r = bytes_append(&s->raw, data, k, e)) != 0)
			return http_parser_fail(p, HTTP_SINK_FAILED, r, e);
		if ((r = http_llhttp_execute(p, data, k, &took, e)) != 0)
			return r;
		if (took != k)
			return http_parser_fail(p, HTTP_BAD_FIELD, ERR_FORMAT,
			    e);
	}
	if (over != HTTP_SECTION_FITS)
		return http_parser_fail(p, parser_over(p, s, over), ERR_LIMIT,
		    e);
	if (k > 0)
		*end = http_section_added(s, k) && (!is_head || s->lines > 1);
	return 0;
}

/* Makes fields of a section that llhttp, too, finds complete. */
static int
parser_split(struct http_parser *p, struct http_section *s, size_t at,
    struct err *e)
{
	int r = ERR_FORMAT;

	if (p->is_complete && (r = http_section_split(s, at)) == 0) {
		p->is_complete = false;
		return 0;
	}
	return http_parser_fail(p,
	    r == ERR_NOMEM ? HTTP_SINK_FAILED : HTTP_BAD_FIELD, r, e);
}

/* The head is whole and well formed: make the message of it. */
static int
parser_end_head(struct http_parser *p, enum http_event *ev, struct err *e)
{
	const struct http_message_facts facts = {
		.major = p->ll.http_major,
		.minor = p->ll.http_minor,
		.status = p->ll.status_code,
		.method = llhttp_method_name((llhttp_method_t)p->ll.method),
		.has_length = (p->ll.flags & F_CONTENT_LENGTH) != 0,
		.is_chunked = (p->ll.flags & F_CHUNKED) != 0,
		.length = p->ll.content_length,
		.answers_head = p->answers_head,
	};
	struct http_message *m = &p->m;
	enum http_fault f;
	size_t start;
	int r;

	m->raw = p->head.raw.p;
	m->raw_len = p->head.raw.len;
	if ((f = http_message_start(m, &facts, &start)) != HTTP_OK)
		return http_parser_fail(p, f, ERR_FORMAT, e);
	if ((r = parser_split(p, &p->head, start, e)) != 0)
		return r;
	m->fields.v = p->head.v;
	m->fields.n = p->head.n;
	if ((f = http_message_frame(m, &facts)) != HTTP_OK)
		return http_parser_fail(p, f, ERR_FORMAT, e);
	if (m->status == 101)
		return http_parser_fail(p, HTTP_UPGRADED, ERR_FORMAT, e);
	if (p->kind == HTTP_RESPONSES && m->status < 200) {
		if (++p->interims > HTTP_INTERIMS_MAX)
			return http_parser_fail(p, HTTP_MANY_INTERIMS,
			    ERR_LIMIT, e);
		p->is_stale = true;
		*ev = HTTP_EV_INTERIM;
		return 0;
	}
	p->left = m->framing == HTTP_LENGTH ? m->length : 0;
	p->phase = PH_BODY;
	*ev = HTTP_EV_HEAD;
	return 0;
}

/* Empty lines before a request (RFC 9112 section 2.2) are skipped. */
static int
parser_skip_blank(struct http_parser *p, const uint8_t *data, size_t n,
    size_t *used, struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (p->blank_cr ? data[i] != '\n' : data[i] != '\r')
			break;
		if (p->blank == p->limits.head) {
			*used = i;
			return http_parser_fail(p, HTTP_BIG_HEAD, ERR_LIMIT, e);
		}
		p->blank++;
		p->blank_cr = !p->blank_cr;
	}
	*used = i;
	if (i < n && p->blank_cr)
		return http_parser_fail(p, HTTP_BAD_START, ERR_FORMAT, e);
	return 0;
}

static int
feed_head(struct http_parser *p, const uint8_t *data, size_t n, size_t *used,
    enum http_event *ev, struct err *e)
{
	size_t k = 0;
	bool end;
	int r;

	if (p->is_stale)
		parser_restart(p);
	if (p->kind == HTTP_REQUESTS && p->head.raw.len == 0) {
		if ((r = parser_skip_blank(p, data, n, used, e)) != 0 ||
		    *used > 0 || n == 0)
			return r;
	}
	if (p->head.raw.len == 0 && n > 0 && !http_head_is_token(data, 1))
		return http_parser_fail(p, HTTP_BAD_START, ERR_FORMAT, e);
	r = feed_line(p, &p->head, data, n, &k, &end, e);
	*used = k;
	if (r != 0)
		return r;
	return end ? parser_end_head(p, ev, e) : 0;
}

/* Chunk lines and chunks, up to the line of the last one. */
static int
feed_chunks(struct http_parser *p, const uint8_t *data, size_t n, size_t *used,
    struct err *e)
{
	/* So many bytes cannot hold more than the cap besides the chunk. */
	const uint64_t most = p->left + (p->limits.chunking - p->chunking);
	const size_t k = n < most ? n : (size_t)most;
	int r;

	if (n > 0 && k == 0)
		return http_parser_fail(p, HTTP_BIG_CHUNKING, ERR_LIMIT, e);
	if ((r = http_llhttp_execute(p, data, k, used, e)) != 0)
		return r;
	p->chunking += *used - p->got;
	if (p->last_chunk)
		p->phase = PH_TRAILERS;
	return 0;
}

static int
feed_body(struct http_parser *p, const uint8_t *data, size_t n, size_t *used,
    enum http_event *ev, struct err *e)
{
	struct http_message *m = &p->m;
	int r;

	if (m->framing == HTTP_CHUNKED)
		return feed_chunks(p, data, n, used, e);
	if (m->framing == HTTP_LENGTH && m->length > p->limits.body)
		return http_parser_fail(p, HTTP_BIG_BODY, ERR_LIMIT, e);
	if (m->framing == HTTP_UNTIL_CLOSE)
		p->left = p->limits.body - m->body;
	if (n > 0 && p->left == 0 && m->framing == HTTP_UNTIL_CLOSE)
		return http_parser_fail(p, HTTP_BIG_BODY, ERR_LIMIT, e);
	*used = n < p->left ? n : (size_t)p->left;
	p->e = e;
	r = http_parser_deliver(p, data, *used);
	p->e = NULL;
	if (r == 0 && p->left == 0 && m->framing != HTTP_UNTIL_CLOSE) {
		p->phase = PH_DONE;
		*ev = HTTP_EV_DONE;
	}
	return r;
}

static int
feed_trailers(struct http_parser *p, const uint8_t *data, size_t n,
    size_t *used, enum http_event *ev, struct err *e)
{
	struct http_message *m = &p->m;
	bool end;
	int r;

	if ((r = feed_line(p, &p->trail, data, n, used, &end, e)) != 0 || !end)
		return r;
	if ((r = parser_split(p, &p->trail, 0, e)) != 0)
		return r;
	m->raw_trailers = p->trail.raw.p;
	m->raw_trailers_len = p->trail.raw.len;
	m->trailers.v = p->trail.v;
	m->trailers.n = p->trail.n;
	if (http_head_count(m->trailers, "content-length") > 0 ||
	    http_head_count(m->trailers, "transfer-encoding") > 0)
		return http_parser_fail(p, HTTP_BAD_FIELD, ERR_FORMAT, e);
	p->phase = PH_DONE;
	*ev = HTTP_EV_DONE;
	return 0;
}

int
http_parser_feed(struct http_parser *p, const void *data, size_t n,
    size_t *used, enum http_event *ev, struct err *e)
{
	const uint8_t *at = data;
	enum phase was;
	size_t k;
	int r;

	*used = 0;
	*ev = HTTP_EV_MORE;
	if (p->fault != HTTP_OK)
		return http_parser_fail(p, p->fault, p->fault_code, e);
	if (p->phase == PH_DONE) {
		*ev = HTTP_EV_DONE;
		return 0;
	}
	if (n == 0)
		at = (const uint8_t *)"";
	do {
		k = 0;
		was = p->phase;
		if (p->phase == PH_HEAD)
			r = feed_head(p, at, n, &k, ev, e);
		else if (p->phase == PH_BODY)
			r = feed_body(p, at, n, &k, ev, e);
		else
			r = feed_trailers(p, at, n, &k, ev, e);
		if (r != 0)
			return r;
		*used += k;
		at += k;
		n -= k;
	} while (*ev == HTTP_EV_MORE && (n > 0 || p->phase != was));
	return 0;
}

int
http_parser_eof(struct http_parser *p, enum http_event *ev, struct err *e)
{
	size_t used;
	int r;

	*ev = HTTP_EV_MORE;
	if (p->fault != HTTP_OK)
		return http_parser_fail(p, p->fault, p->fault_code, e);
	if (p->phase == PH_HEAD && !http_parser_is_begun(p))
		return 0;
	/* a body of no bytes may still have to be told */
	if (p->phase == PH_BODY && p->m.framing != HTTP_CHUNKED &&
	    (r = http_parser_feed(p, NULL, 0, &used, ev, e)) != 0)
		return r;
	if (p->phase == PH_BODY && p->m.framing == HTTP_UNTIL_CLOSE)
		p->phase = PH_DONE;
	if (p->phase != PH_DONE)
		return http_parser_fail(p, HTTP_INCOMPLETE, ERR_EOF, e);
	*ev = HTTP_EV_DONE;
	return 0;
}

bool
http_parser_is_begun(const struct http_parser *p)
{
	return p->head.raw.len > 0 || p->blank > 0 || p->interims > 0;
}

const struct http_message *
http_parser_message(const struct http_parser *p)
{
	return &p->m;
}

enum http_fault
http_parser_fault(const struct http_parser *p)
{
	return p->fault;
}
