/*
 * answer.c - building heads.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"
#include "relay/answer.h"
#include "transport/http_parser.h"
#include "transport/url.h"

enum {
	TARGET_MAX = 64 << 10,
	RECORD_KEY_LEN = 32,
	DETAILS_MAX = 160,
};

static const char via[] = "1.1 " ANSWER_PSEUDONYM;

/* Ours to set, whatever the other side says. */
static bool
is_replaced(const struct http_field *f)
{
	return http_head_is_name(f, "Host") ||
	    http_head_is_name(f, "Content-Length") ||
	    http_head_is_name(f, "Expect");
}

static int
copy_fields(struct bytes *out, struct http_fields fields, struct err *e)
{
	size_t i;
	int r;

	for (i = 0; i < fields.n; i++)
		if (http_head_is_forwarded(fields, i) &&
		    !is_replaced(&fields.v[i]) &&
		    (r = http_head_copy(out, &fields.v[i], e)) != 0)
			return r;
	return http_head_field(out, "Via", via, sizeof(via) - 1, e);
}

int
answer_upstream_head(struct bytes *out, const struct answer_request *rq,
    struct err *e)
{
	struct bytes target = BYTES_INIT(TARGET_MAX);
	const char *host = rq->to->authority;
	int r;

	if ((r = url_append_target(rq->to, rq->method, &target, e)) != 0 ||
	    (r = http_head_request(out, rq->method, target.p, target.len,
		 e)) != 0 ||
	    (r = http_head_field(out, "Host", host, strlen(host), e)) != 0 ||
	    (r = copy_fields(out, rq->fields, e)) != 0)
		goto out;
	if (rq->has_body &&
	    (r = http_head_fieldf(out, e, "Content-Length", "%zu",
		 rq->body_len)) != 0)
		goto out;
	r = http_head_end(out, e);
out:
	bytes_free(&target);
	return r;
}

/* A quoted string of RFC 8941: printable ASCII, no quotes or backslashes. */
static void
clean(char out[DETAILS_MAX], const char *s)
{
	size_t n;

	for (n = 0; s[n] != '\0' && n < DETAILS_MAX - 1; n++)
		out[n] = s[n] < 0x20 || s[n] > 0x7e || s[n] == '"' ||
			s[n] == '\\' ?
		    '\'' :
		    s[n];
	out[n] = '\0';
}

static int
add_proxy_status(struct bytes *out, const struct answer_opts *o,
    struct err *e)
{
	char details[DETAILS_MAX], received[40] = "";

	if (o->received != 0)
		snprintf(received, sizeof(received), "; received-status=%u",
		    o->received);
	if (o->token == NULL)
		return http_head_fieldf(out, e, "Proxy-Status", "%s%s",
		    ANSWER_PSEUDONYM, received);
	clean(details, o->details == NULL ? "" : o->details);
	return http_head_fieldf(out, e, "Proxy-Status",
	    "%s; error=%s; details=\"%s\"%s", ANSWER_PSEUDONYM, o->token,
	    details, received);
}

/* A value in base64 of either kind. */
static int
add_base64(struct bytes *out, const char *name, const uint8_t *p, size_t n,
    int variant, struct err *e)
{
	size_t size = sodium_base64_encoded_len(n, variant);
	char *text;
	int r;

	if ((text = malloc(size)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a field");
	sodium_bin2base64(text, size, p, n, variant);
	r = http_head_field(out, name, text, strlen(text), e);
	sodium_memzero(text, size);
	free(text);
	return r;
}

static int
add_record(struct bytes *out, const struct answer_record *rec, struct err *e)
{
	int r;

	if ((r = http_head_fieldf(out, e, "Amber-Record", "%llu",
		 (unsigned long long)rec->index)) != 0 ||
	    (r = add_base64(out, "Amber-Receipt", rec->receipt,
		 rec->receipt_len, sodium_base64_VARIANT_ORIGINAL, e)) != 0)
		return r;
	return add_base64(out, "Amber-Record-Key", rec->rs, RECORD_KEY_LEN,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING, e);
}

/* Those stages that there were. */
static int
add_times(struct bytes *out, const struct answer_times *t, struct err *e)
{
	const struct { const char *name; int64_t us; } rows[] = {
		{ "dns", t->dns }, { "connect", t->connect },
		{ "tls", t->tls }, { "first-byte", t->first_byte },
		{ "body", t->body }, { "fetch", t->fetch },
		{ "seal", t->seal }, { "commit", t->commit },
	};
	char text[8 * 32] = "";
	size_t i, n = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].us >= 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%s%s=%lld", n > 0 ? ", " : "", rows[i].name,
			    (long long)rows[i].us);
	return http_head_field(out, "Amber-Timing", text, n, e);
}

static int
add_about(struct bytes *out, const struct answer_about *a, struct err *e)
{
	const struct answer_epoch *ep;
	char hex[2 * sizeof(ep->puzzle) + 1];
	size_t i;
	int r;

	r = http_head_fieldf(out, e, "Amber-State", "%s", a->state);
	for (i = 0; i < a->nepochs && r == 0; i++) {
		ep = &a->epochs[i];
		sodium_bin2hex(hex, sizeof(hex), ep->puzzle,
		    sizeof(ep->puzzle));
		r = http_head_fieldf(out, e, "Amber-Epoch",
		    "n=%llu, from=%lld, until=%lld, puzzle=%s",
		    (unsigned long long)ep->number, (long long)ep->not_before,
		    (long long)ep->not_after, hex);
	}
	return r;
}

/* The length verbatim where there is no body by rule, else the true one. */
static int
add_length(struct bytes *out, const struct answer_opts *o, struct err *e)
{
	const struct http_message *m = o->message;

	if (m == NULL || m->framing != HTTP_NO_BODY)
		return http_head_fieldf(out, e, "Content-Length", "%zu",
		    o->body_len);
	if (m->has_length)
		return http_head_fieldf(out, e, "Content-Length", "%llu",
		    (unsigned long long)m->length);
	return 0;
}

static int
add_own_fields(struct bytes *out, const struct answer_opts *o, struct err *e)
{
	static const char type[] = "text/plain; charset=utf-8";
	static const char scheme[] = "Bearer";
	int r;

	if ((r = http_head_field(out, "Content-Type", type, sizeof(type) - 1,
		 e)) != 0)
		return r;
	if (o->retry_after_s != 0 &&
	    (r = http_head_fieldf(out, e, "Retry-After", "%u",
		 o->retry_after_s)) != 0)
		return r;
	if (o->reason != NULL &&
	    (r = http_head_field(out, "Amber-Reason", o->reason,
		 strlen(o->reason), e)) != 0)
		return r;
	if (o->wants_auth)
		return http_head_field(out, "Proxy-Authenticate", scheme,
		    sizeof(scheme) - 1, e);
	return 0;
}

/* The server's reason phrase, if it can stand in a head of ours. */
static int
add_passed(struct bytes *out, const struct http_message *m, struct err *e)
{
	char reason[256];
	int r;

	snprintf(reason, sizeof(reason), "%.*s",
	    m->reason_len < sizeof(reason) ? (int)m->reason_len : 0,
	    m->reason_len == 0 ? "" : m->reason);
	if ((r = http_head_status(out, m->status, reason, NULL)) != 0 &&
	    (r = http_head_status(out, m->status, NULL, e)) != 0)
		return r;
	return copy_fields(out, m->fields, e);
}

int
answer_head(struct bytes *out, const struct answer_opts *o, struct err *e)
{
	int r;

	if (o->message != NULL)
		r = add_passed(out, o->message, e);
	else if ((r = http_head_status(out, o->status, NULL, e)) == 0)
		r = add_own_fields(out, o, e);
	if (r != 0 || (r = add_length(out, o, e)) != 0)
		return r;
	if (o->close &&
	    (r = http_head_field(out, "Connection", "close", 5, e)) != 0)
		return r;
	if ((r = add_proxy_status(out, o, e)) != 0)
		return r;
	if ((o->record != NULL && (r = add_record(out, o->record, e)) != 0) ||
	    (o->times != NULL && (r = add_times(out, o->times, e)) != 0) ||
	    (o->about != NULL && (r = add_about(out, o->about, e)) != 0))
		return r;
	return http_head_end(out, e);
}

int
answer_text(struct bytes *out, unsigned status, const char *token,
    const char *details, struct err *e)
{
	char text[DETAILS_MAX];

	clean(text, details == NULL ? "" : details);
	if (token == NULL)
		return bytes_printf(out, e, "%u %s%s%s\n", status,
		    http_head_reason(status), text[0] != '\0' ? ": " : "",
		    text);
	return bytes_printf(out, e, "%u %s: %s\n", status, token, text);
}

bool
answer_is_loop(struct http_fields fields)
{
	static const size_t n = sizeof(ANSWER_PSEUDONYM) - 1;
	const struct http_field *f;
	const char *at, *end, *by;
	size_t i = 0, len;

	while ((f = http_head_find(fields, "Via", &i)) != NULL)
		/* RFC 9110 section 7.6.3: protocol, blanks, received-by. */
		for (at = f->value, end = at + f->value_len; at < end;
		    at += len + 1) {
			by = memchr(at, ',', (size_t)(end - at));
			len = (size_t)((by == NULL ? end : by) - at);
			for (by = at; by < at + len && *by == ' '; by++)
				;
			while (by < at + len && *by != ' ')
				by++;
			while (by < at + len && *by == ' ')
				by++;
			if ((size_t)(at + len - by) >= n &&
			    strncasecmp(by, ANSWER_PSEUDONYM, n) == 0 &&
			    (by + n == at + len || by[n] == ' '))
				return true;
		}
	return false;
}
