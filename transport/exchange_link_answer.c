/*
 * exchange_link_answer.c - answers on a link: whose they are, and what they
 * come to.  It must not touch the socket.
 */
#include <string.h>

#include "base/decimal.h"
#include "transport/exchange_link_inside.h"
#include "transport/exchange_route.h"
#include "transport/exchange_slice.h"
#include "transport/http_parser.h"

int
link_lost(struct link_end *end, enum exchange_loss how,
    enum exchange_fault fault)
{
	end->what = LINK_LOST;
	end->how = how;
	end->fault = fault;
	return -1;
}

/* The peer went away; is it the race of a kept connection? */
int
link_broken(const struct exchange_link *k, struct link_end *end)
{
	if (end->err.code == 0)
		(void)err_set(&end->err, ERR_PEER, "%s closed the connection "
		    "before an answer", exchange_route_name(k->route));
	return link_lost(end, k->is_reused && !k->has_begun ?
	    EXCHANGE_LOSS_RACE : EXCHANGE_LOSS_BROKEN,
	    EXCHANGE_FAULT_NONE);
}

int
link_on_body(const uint8_t *p, size_t n, void *arg, struct err *e)
{
	struct exchange_link *k = arg;

	if (!k->is_ours || k->answer.status != 200)
		return 0;		/* counted by the parser */
	if (k->body == NULL || n > k->body->size - k->body->len)
		return err_set(e, ERR_FORMAT, "body longer than announced");
	k->hooks.on_body(n, k->hooks.arg);
	memcpy(k->body->p + k->body->len, p, n);
	k->body->len += (uint32_t)n;
	return 0;
}

/* Judges an answer by its head. */
static int
link_head(struct exchange_link *k, struct err *e)
{
	const struct http_message *m = http_parser_message(k->parser);
	const struct http_field *f = http_head_only(m->fields, "Amber-Stream");

	k->is_ours = false;
	if (f == NULL || exchange_answer_parse(&k->answer, f->value,
	    f->value_len, NULL) != 0 || k->answer.status != m->status)
		return 0;
	if (m->status == 200 && m->framing == HTTP_LENGTH &&
	    m->length != k->answer.l)
		return 0;
	k->is_ours = true;
	if (m->status != 200 || k->answer.l == 0)
		return 0;
	return exchange_slice_new(&k->body, k->answer.l, e);
}

static void
link_read_retry_after(struct exchange_link *k)
{
	const struct http_field *f = http_head_only(
	    http_parser_message(k->parser)->fields, "Retry-After");
	uint64_t s;

	if (f != NULL && decimal_parse(f->value, f->value_len, 99999, &s))
		k->answer.retry_after_s = (unsigned)s;
}

/* An answer is complete. */
static int
link_judge(struct exchange_link *k, bool has_more, struct link_end *end)
{
	const struct http_message *m = http_parser_message(k->parser);

	if (!k->is_ours || (k->answer.status == 200 && m->body !=
	    k->answer.l)) {
		(void)link_foreign_err(k, &end->err);
		return link_lost(end, EXCHANGE_LOSS_FOREIGN,
		    EXCHANGE_FAULT_FOREIGN);
	}
	if (k->answer.status == 503)
		link_read_retry_after(k);
	k->answer.slice = k->body;
	end->what = LINK_ANSWERED;
	end->is_kept = m->keep_alive && !has_more && !k->has_eof;
	return -1;
}

/* Feeds an answer's bytes; 0: go on. */
int
link_parse(struct exchange_link *k, const uint8_t *p, size_t n,
    struct link_end *end)
{
	enum http_event ev = HTTP_EV_MORE;
	size_t at = 0, used;

	if (n > 0 && !k->is_asked && k->stage == LINK_OPEN)
		return link_broken(k, end);	/* nobody asked */
	k->has_begun |= n > 0;
	for (;;) {
		if (http_parser_feed(k->parser, p + at, n - at, &used, &ev,
		    &end->err) != 0) {
			err_ctx(&end->err, "%s answers, but not as a relay",
			    exchange_route_name(k->route));
			return link_lost(end, EXCHANGE_LOSS_FOREIGN,
			    EXCHANGE_FAULT_FOREIGN);
		}
		at += used;
		if (ev == HTTP_EV_MORE)
			return 0;
		if (ev == HTTP_EV_DONE)
			return link_judge(k, at < n, end);
		if (ev == HTTP_EV_HEAD && link_head(k, &end->err) != 0)
			return link_lost(end, EXCHANGE_LOSS_BROKEN,
			    EXCHANGE_FAULT_RESOURCE);
		if (ev == HTTP_EV_HEAD && !k->is_ours)
			link_see_foreign(k);	/* its body may never end */
	}
}

int
link_parse_eof(struct exchange_link *k, struct link_end *end)
{
	enum http_event ev = HTTP_EV_MORE;

	if (k->is_asked && k->has_begun &&
	    http_parser_eof(k->parser, &ev, NULL) == 0 && ev == HTTP_EV_DONE)
		return link_judge(k, false, end);
	return link_broken(k, end);
}
