/*
 * fetch.c - the life of an operation, from a whole request to its answer.
 */
#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "relay/answer.h"
#include "relay/config.h"
#include "relay/fetch_private.h"
#include "relay/token_file.h"

enum {
	ANSWER_HEAD_MAX = 160 << 10,
	TEXT_MAX = 512,
	RELEASE_STEP = 256 << 10,	/* bytes of memory given back at once */
};

static void
fetch_destroy(struct fetch *f)
{
	assert(!f->is_borrowed);
	upstream_cancel(&f->op);
	admission_drop(&f->permit);
	if (f->request_bytes > 0)
		admission_give_request(f->s->admission, f->request_bytes);
	fetch_record_free(f);
	upstream_result_free(&f->res);
	bytes_free(&f->url);
	bytes_free(&f->up_head);
	bytes_free(&f->body);
	bytes_free(&f->head);
	bytes_free(&f->text);
	if (f->kick != NULL)
		event_free(f->kick);
	if (f->timer != NULL)
		event_free(f->timer);
	f->s->fetches--;
	free(f);
}

void
fetch_free(struct fetch **fp)
{
	struct fetch *f = *fp;

	*fp = NULL;
	if (f == NULL)
		return;
	f->has_owner = false;
	/* The archive reads our bytes: it ends the fetch when it is done. */
	if (!f->is_borrowed)
		fetch_destroy(f);
}

/* Hands the answer over.  The owner may free f: last. */
static void
deliver(struct fetch *f)
{
	f->answer.head = f->head.p;
	f->answer.head_len = f->head.len;
	f->has_answered = true;
	if (f->has_owner)
		f->on_answer(f, &f->answer, f->arg);
}

static void
count(struct fetch *f, unsigned status)
{
	if (status < sizeof(f->s->answers) / sizeof(f->s->answers[0]))
		f->s->answers[status]++;
}

/* One of our own answers; o->status is set, texts are added here. */
static void
answer_own(struct fetch *f, struct answer_opts *o)
{
	struct err e = ERR_INIT;
	bool is_head = strcmp(f->method, "HEAD") == 0;

	o->close = f->close;
	bytes_clear(&f->head);
	bytes_clear(&f->text);
	if (answer_text(&f->text, o->status, o->token, o->details, &e) != 0)
		log_err(&e, "answer");	/* then without a text */
	o->body_len = f->text.len;
	f->answer.body = f->text.p;
	f->answer.body_len = is_head ? 0 : f->text.len;
	if (answer_head(&f->head, o, &e) != 0) {
		/* Without memory for a head the session gets nothing. */
		log_err(&e, "answer");
		bytes_clear(&f->head);
		f->answer.body_len = 0;
	}
	count(f, o->status);
	deliver(f);
}

/* Without going upstream: answered from the loop. */
static void
fetch_on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	deliver(arg);
}

static void
answer_now(struct fetch *f, struct answer_opts *o)
{
	static const struct timeval now = { 0, 0 };
	bool had_owner = f->has_owner;

	f->has_owner = false;		/* prepared now, told later */
	answer_own(f, o);
	f->has_owner = had_owner;
	(void)evtimer_add(f->kick, &now);
}

/* ---- after the record ---- */

static void
answer_unarchived(struct fetch *f, bool is_full, const char *why)
{
	struct answer_opts o = { .status = is_full ? 507 : 500,
		.token = "proxy_internal_error",
		.details = why,
		.reason = is_full ? "storage" : NULL };

	if (f->has_answered)
		return;
	/* Nothing of the server's answer goes out without its record. */
	answer_own(f, &o);
}

static void
answer_archived(struct fetch *f, const struct archive_done *d)
{
	struct answer_record rec = { d->index, d->receipt, d->receipt_len,
		d->rs };
	const struct upstream_result *res = f->res;
	const struct answer_times times = fetch_record_times(res, d);
	struct answer_opts o = { .record = &rec,
		.times = &times,
		.received = res->message == NULL ? 0 : res->message->status };
	struct err e = ERR_INIT;

	if (f->has_answered)
		return;		/* too late: it was told 500 */
	if (res->answer != 0) {
		o.status = res->answer;
		o.token = res->token;
		o.details = res->details;
		answer_own(f, &o);
		return;
	}
	o.close = f->close;
	o.message = res->message;
	o.body_len = res->body.len;
	if (answer_head(&f->head, &o, &e) != 0) {
		log_err(&e, "answer");
		answer_unarchived(f, false, "the answer's head");
		return;
	}
	f->answer.body = res->body.p;
	f->answer.body_len = res->body.len;
	count(f, res->message->status);
	deliver(f);
}

static void
fetch_on_archived(const struct archive_done *d, void *arg)
{
	struct fetch *f = arg;
	struct service *s = f->s;

	f->is_borrowed = false;
	(void)evtimer_del(f->timer);
	if (d->status == 0) {
		metrics_observe(&s->stages[SERVICE_SEAL],
		    (double)d->seal_ns / 1e9);
		metrics_observe(&s->stages[SERVICE_COMMIT],
		    (double)d->commit_ns / 1e9);
	}
	fetch_record_free(f);
	admission_finish(&f->permit);
	if (d->status != 0)
		log_warn_err(d->err, "a record was not archived");
	if (d->is_full)
		admission_set_closed(s->admission, ADMISSION_STORAGE);
	if (!f->has_owner)
		fetch_destroy(f);
	else if (d->status != 0)
		answer_unarchived(f, d->is_full, "not archived");
	else
		answer_archived(f, d);
}

static void
fetch_on_late(evutil_socket_t fd, short what, void *arg)
{
	struct fetch *f = arg;

	(void)fd;
	(void)what;
	/* The permit stays with the committer. */
	answer_unarchived(f, false, "not archived in time");
}

/* ---- after upstream ---- */

static void
observe_stages(struct fetch *f)
{
	static const enum service_stage to[CAPTURE_PHASES] = {
		[CAPTURE_DNS] = SERVICE_DNS,
		[CAPTURE_CONNECT] = SERVICE_CONNECT,
		[CAPTURE_TLS] = SERVICE_TLS,
		[CAPTURE_FIRST_BYTE] = SERVICE_FIRST_BYTE,
		[CAPTURE_TOTAL] = SERVICE_FETCH,
	};
	size_t i;

	for (i = 0; i < CAPTURE_PHASES; i++)
		if (f->res->times.ms[i] >= 0)
			metrics_observe(&f->s->stages[to[i]],
			    (double)f->res->times.ms[i] / 1000);
	if (f->res->body_ms >= 0)
		metrics_observe(&f->s->stages[SERVICE_BODY],
		    (double)f->res->body_ms / 1000);
}

static void
fetch_on_upstream(struct upstream_result *res, void *arg)
{
	struct fetch *f = arg;
	struct service *s = f->s;
	struct archive_cb cb = { fetch_on_archived, f };
	struct timeval late = clock_timeval_ms(s->config->publish_ms);
	uint64_t keep = res->body.len + 2 * s->config->head;
	struct err e = ERR_INIT;

	f->op = NULL;
	f->res = res;
	observe_stages(f);
	if (keep < f->permit.bytes)
		admission_shrink(&f->permit, keep);
	if (fetch_record_fill(f,
		clock_wall_ms(s->clock) - res->times.ms[CAPTURE_TOTAL],
		&e) != 0 ||
	    archive_append(s->archive, f->epoch, &f->cap, &cb, &e) != 0) {
		log_err(&e, "a record was not archived");
		admission_finish(&f->permit);
		answer_unarchived(f, false, "not archived");
		return;
	}
	f->is_borrowed = true;
	(void)evtimer_add(f->timer, &late);
}

/* ---- before upstream ---- */

static bool
is_known_method(const char *method)
{
	static const char *const rows[] = { "GET", "HEAD", "POST", "PUT",
		"PATCH", "DELETE", "OPTIONS" };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i], method) == 0)
			return true;
	return false;
}

static bool
may_enter(struct fetch *f, struct http_fields fields)
{
	struct token_file *t = f->s->tokens;
	const struct http_field *field;
	int i;

	if (t == NULL)
		return true;
	if ((field = http_head_only(fields, "Proxy-Authorization")) == NULL ||
	    (i = token_file_check(t, field->value, field->value_len)) < 0)
		return false;
	token_file_use(t, (size_t)i);
	return true;
}

/* Access first: who may not enter learns nothing more.  True: refused. */
static bool
refuse_request(struct fetch *f, const struct fetch_request *rq)
{
	struct answer_opts o = { .status = 0 };
	struct err e = ERR_INIT;

	if (!may_enter(f, rq->fields)) {
		o.status = 407;
		o.token = "http_request_denied";
		o.details = "a token is needed";
		o.wants_auth = true;
	} else if (!is_known_method(rq->method)) {
		o.status = 501;
		o.token = "http_request_error";
		o.details = "that method is not forwarded";
	} else if (url_parse(&f->to, (const char *)f->url.p, f->url.len,
		       &e) != 0) {
		o.status = 400;
		o.token = "http_request_error";
		o.details = e.msg;
	} else if (answer_is_loop(rq->fields)) {
		o.status = 403;
		o.token = "proxy_loop_detected";
		o.details = "the request came through this relay";
	} else if (fetch_record_redact(f, rq->fields, &e) != 0) {
		o.status = 400;
		o.token = "http_request_error";
		o.details = e.msg;
	}
	if (o.status == 0)
		return false;
	answer_now(f, &o);
	return true;
}

/* An OPTIONS that may be forwarded no further is for the relay itself (RFC
 * 9110 section 7.6.2): how it is, and in which epochs it seals. */
static bool
tell_about(struct fetch *f, struct http_fields fields)
{
	const struct http_field *hops = http_head_only(fields,
	    "Max-Forwards");
	enum admission_refusal closed = admission_closed(f->s->admission);
	const struct answer_about about = {
		.state = closed == ADMISSION_OK ? "ready" :
						  admission_word(closed),
		.epochs = f->s->epochs,
		.nepochs = f->s->nepochs };
	struct answer_opts o = { .status = 200,
		.details = about.state,
		.about = &about };

	if (strcmp(f->method, "OPTIONS") != 0 || hops == NULL ||
	    hops->value_len != 1 || hops->value[0] != '0')
		return false;
	answer_now(f, &o);
	return true;
}

static bool
refuse_admission(struct fetch *f)
{
	enum admission_refusal why = admission_take(f->s->admission,
	    &f->permit);
	struct answer_opts o = { .status = 503,
		.token = "connection_limit_reached" };

	if (why == ADMISSION_OK)
		return false;
	o.reason = admission_word(why);
	o.details = o.reason;
	o.retry_after_s = admission_retry_after_s(f->s->admission);
	answer_now(f, &o);
	return true;
}

static int
start_upstream(struct fetch *f, const struct fetch_request *rq,
    struct err *e)
{
	struct answer_request head = { f->method, &f->to, rq->fields,
		rq->has_body, f->body.len };
	struct upstream_request up = { .session = rq->session, .to = &f->to,
		.method = f->method };
	int r;

	if ((r = answer_upstream_head(&f->up_head, &head, e)) != 0)
		return r;
	up.head = f->up_head.p;
	up.head_len = f->up_head.len;
	up.body = f->body.p;
	up.body_len = f->body.len;
	return upstream_start(f->s->upstream, &up, fetch_on_upstream, f,
	    &f->op, e);
}

static void
begin(struct fetch *f, const struct fetch_request *rq)
{
	struct answer_opts o = { .status = 500,
		.token = "proxy_internal_error",
		.details = "the request could not be sent" };
	struct err e = ERR_INIT;

	if (refuse_request(f, rq) || tell_about(f, rq->fields) ||
	    refuse_admission(f))
		return;
	f->epoch = f->s->epoch;
	if (start_upstream(f, rq, &e) != 0) {
		log_err(&e, "upstream");
		admission_drop(&f->permit);
		answer_now(f, &o);
	}
}

/* The request's bytes become ours. */
static int
take_request(struct fetch *f, const struct fetch_request *rq, struct err *e)
{
	int r;

	snprintf(f->method, sizeof(f->method), "%s", rq->method);
	bytes_init(&f->url, URL_TEXT_MAX + 1);
	bytes_init(&f->up_head, 2 * f->s->config->head + 4096);
	bytes_init(&f->head, ANSWER_HEAD_MAX + 2 * f->s->config->head);
	bytes_init(&f->text, TEXT_MAX);
	if ((r = bytes_append(&f->url, rq->target, rq->target_len, e)) != 0 ||
	    (r = bytes_terminate(&f->url, e)) != 0)
		return r;
	f->body = *rq->body;
	*rq->body = (struct bytes)BYTES_INIT(f->body.cap);
	f->request_bytes = f->body.len;
	return 0;
}

int
fetch_start(struct fetch **out, struct service *s,
    const struct fetch_request *rq,
    void (*on_answer)(struct fetch *f, const struct fetch_answer *a,
	void *arg),
    void *arg, struct err *e)
{
	struct fetch *f;
	int r;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	f->s = s;
	f->on_answer = on_answer;
	f->arg = arg;
	f->close = rq->close;
	f->has_owner = true;
	s->fetches++;
	f->kick = evtimer_new(s->base, fetch_on_kick, f);
	f->timer = evtimer_new(s->base, fetch_on_late, f);
	if (f->kick == NULL || f->timer == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a request");
	else
		r = take_request(f, rq, e);
	if (r != 0) {
		fetch_destroy(f);
		return r;
	}
	begin(f, rq);
	*out = f;
	return 0;
}

void
fetch_sent(struct fetch *f, size_t n)
{
	uint64_t held = f->permit.owner == NULL ? 0 : f->permit.bytes;
	size_t step;

	/* With a text of our own what is held goes when the fetch does. */
	if (f->res == NULL || f->answer.body != f->res->body.p ||
	    f->permit.has_permit)
		return;
	f->sent += n;
	step = (f->sent - f->released) / RELEASE_STEP * RELEASE_STEP;
	if (step == 0)
		return;
	f->released += step;
	bytes_release(&f->res->body, f->released);
	if (held > 0)
		admission_give(&f->permit, step < held ? step : held);
}
