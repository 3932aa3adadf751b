/*
 * load_check.c - see load_check.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "client/amber.h"
#include "client/amber_receipt.h"
#include "loadtest/load_check.h"
#include "loadtest/origin_pattern.h"
#include "transport/http_message.h"
#include "transport/url.h"

enum { TARGET_MAX = 4096 };

static int
print_line(const struct load_request *rq, const struct url *u,
    bool is_straight, struct bytes *out, struct err *e)
{
	struct bytes target = BYTES_INIT(TARGET_MAX);
	int r;

	if (!is_straight)
		return http_head_request(out, rq->method, rq->url,
		    strlen(rq->url), e);
	if ((r = url_append_target(u, rq->method, &target, e)) == 0)
		r = http_head_request(out, rq->method, target.p, target.len,
		    e);
	bytes_free(&target);
	return r;
}

int
load_check_print(const struct load_request *rq, bool is_straight,
    struct bytes *out, struct err *e)
{
	struct url u;
	int r;

	if ((r = url_parse(&u, rq->url, strlen(rq->url), e)) != 0 ||
	    (r = print_line(rq, &u, is_straight, out, e)) != 0 ||
	    (r = http_head_field(out, "Host", u.authority,
		 strlen(u.authority), e)) != 0)
		return r;
	if (rq->has_body && (r = http_head_fieldf(out, e, "Content-Length",
		"%zu", rq->body_len)) != 0)
		return r;
	if ((r = http_head_end(out, e)) != 0)
		return r;
	return rq->body_len == 0 ? 0 :
	    bytes_append(out, rq->body, rq->body_len, e);
}

/* ---- the body ---- */

void
load_check_begin(struct load_check_body *b, const struct load_request *rq)
{
	*b = (struct load_check_body){ .how = rq->check, .size = rq->size };
}

void
load_check_head(struct load_check_body *b, const struct http_message *m)
{
	if (b->how == LOAD_CHECK_TAIL && m->framing == HTTP_LENGTH &&
	    m->length >= b->size)
		b->skip = m->length - b->size;
	if (m->status != 200)
		b->how = LOAD_CHECK_NONE;
}

void
load_check_bytes(struct load_check_body *b, const void *p, size_t n)
{
	const uint8_t *at = p;
	uint64_t past = b->got < b->skip ? b->skip - b->got : 0;

	if (past > n)
		past = n;
	if (b->how != LOAD_CHECK_NONE && n > past &&
	    !origin_pattern_is(at + past, n - (size_t)past,
		b->got + past - b->skip))
		b->is_wrong = true;
	b->got += n;
}

static void
judge_body(struct load_answer *a, const struct load_check_body *b,
    const struct http_message *m)
{
	a->body = b->got;
	if (b->how == LOAD_CHECK_NONE || a->is_relays)
		return;
	/* an answer to HEAD announces its size and has no bytes */
	if (m->framing == HTTP_NO_BODY && m->has_length &&
	    m->length == b->size && b->got == 0)
		return;
	if (!b->is_wrong && b->got == b->skip + b->size)
		return;
	a->fault = LOAD_FAULT_BODY;
	if (b->is_wrong)
		(void)err_set(&a->why, ERR_CORRUPT, "the body has wrong "
		    "bytes");
	else
		(void)err_set(&a->why, ERR_CORRUPT, "the body has %llu "
		    "bytes, not %llu", (unsigned long long)b->got,
		    (unsigned long long)(b->skip + b->size));
}

/* ---- the relay's own fields ---- */

static void
take_word(const struct http_field *f, char out[LOAD_WORD])
{
	if (f != NULL && f->value_len < LOAD_WORD)
		(void)snprintf(out, LOAD_WORD, "%.*s", (int)f->value_len,
		    f->value);
}

/* The relay's member is the last one of the last field. */
static void
take_token(struct load_answer *a, struct http_fields fields)
{
	static const char key[] = "error=";
	const struct http_field *f, *last = NULL;
	const char *at = NULL;
	size_t i = 0, n;

	while ((f = http_head_find(fields, "Proxy-Status", &i)) != NULL)
		last = f;
	if (last != NULL)
		at = memmem(last->value, last->value_len, key,
		    sizeof(key) - 1);
	if (at == NULL)
		return;
	at += sizeof(key) - 1;
	for (n = 0; at + n < last->value + last->value_len &&
	    at[n] != ';' && n < LOAD_WORD - 1; n++)
		a->token[n] = at[n];
	a->is_relays = true;
}

static void
take_receipt(struct load_answer *a, struct http_fields fields,
    const struct vkey *pin)
{
	struct amber_answer *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		a->fault = LOAD_FAULT_RECEIPT;
		(void)err_set(&a->why, ERR_NOMEM, "no memory for a receipt");
		return;
	}
	r->is_relays = a->is_relays;
	if (amber_receipt_take(r, fields, pin, &a->why) != 0)
		a->fault = LOAD_FAULT_RECEIPT;
	a->has_record = r->has_record;
	amber_answer_free(&r);
}

void
load_check_answer(struct load_answer *a, const struct load_check_body *b,
    const struct http_message *m, const struct vkey *pin)
{
	char after[LOAD_WORD] = "";

	a->status = m->status;
	if (pin != NULL) {
		take_token(a, m->fields);
		take_word(http_head_only(m->fields, "Amber-Reason"),
		    a->reason);
		take_word(http_head_only(m->fields, "Retry-After"), after);
		a->retry_after_s = (unsigned)strtoul(after, NULL, 10);
	}
	judge_body(a, b, m);
	if (pin != NULL && a->fault == LOAD_FAULT_NONE)
		take_receipt(a, m->fields, pin);
}
