/*
 * amber_answer.c - what an answer's head says, and the answer's end.  What
 * its receipt proves is amber_receipt.c's business.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "base/err.h"
#include "base/secret.h"
#include "client/amber.h"
#include "client/amber_answer.h"
#include "transport/http_parser.h"

static void
field_text(struct http_fields fields, const char *name, char *out,
    size_t size)
{
	const struct http_field *f = http_head_only(fields, name);

	snprintf(out, size, "%.*s",
	    f == NULL || f->value_len >= size ? 0 : (int)f->value_len,
	    f == NULL ? "" : f->value);
}

/* key="text" or key=token in a Proxy-Status member. */
static void
member_text(const char *s, size_t n, const char *key, char *out, size_t size)
{
	const char *at = memmem(s, n, key, strlen(key)), *end = s + n;
	size_t len = 0;
	bool quoted;

	out[0] = '\0';
	if (at == NULL)
		return;
	at += strlen(key);
	quoted = at < end && *at == '"';
	if (quoted)
		at++;
	while (at + len < end && len < size - 1 &&
	    at[len] != (quoted ? '"' : ';'))
		len++;
	memcpy(out, at, len);
	out[len] = '\0';
}

/* Ours is the last member of the last field: only that one is the relay's. */
static void
take_proxy_status(struct amber_answer *r, struct http_fields fields)
{
	const struct http_field *f, *last = NULL;
	const char *s;
	size_t i = 0, n;

	while ((f = http_head_find(fields, "Proxy-Status", &i)) != NULL)
		last = f;
	if (last == NULL)
		return;
	s = last->value;
	n = last->value_len;
	member_text(s, n, "error=", r->token, sizeof(r->token));
	member_text(s, n, "details=", r->details, sizeof(r->details));
	r->is_relays = r->token[0] != '\0';
}

/* The last field of that name is the relay's. */
static void
take_times(struct amber_times *t, struct http_fields fields)
{
	const struct { const char *key; double *to; } rows[] = {
		{ "dns=", &t->dns_s }, { "connect=", &t->tcp_s },
		{ "tls=", &t->tls_s }, { "first-byte=", &t->server_s },
		{ "body=", &t->body_s }, { "fetch=", &t->fetch_s },
		{ "seal=", &t->seal_s }, { "commit=", &t->commit_s },
	};
	const struct http_field *f = http_head_only(fields, "Amber-Timing");
	const char *at, *end = f == NULL ? NULL : f->value + f->value_len;
	uint64_t us;
	size_t i, n;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*rows[i].to = -1;
		n = strlen(rows[i].key);
		if (f != NULL &&
		    (at = memmem(f->value, f->value_len, rows[i].key, n)) !=
			NULL &&
		    decimal_prefix(at + n, (size_t)(end - at) - n,
			INT64_MAX, &us) > 0)
			*rows[i].to = (double)us / 1e6;
	}
}

/* The head is for showing, and who sees this field can open the record. */
static void
drop_key(struct amber_answer *r)
{
	static const char name[] = "\r\nAmber-Record-Key:";
	char *at = r->head, *next;

	while ((at = strcasestr(at, name)) != NULL &&
	    (next = strstr(at + 2, "\r\n")) != NULL) {
		memmove(at, next, strlen(next) + 1);
		sodium_memzero(at + strlen(at), (size_t)(next - at));
	}
	r->head_len = strlen(r->head);
}

int
amber_answer_read(struct amber_answer *r, const struct http_message *m,
    struct err *e)
{
	char text[16];

	r->status = m->status;
	if ((r->head = strndup((const char *)m->raw, m->raw_len)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a head");
	drop_key(r);
	take_proxy_status(r, m->fields);
	field_text(m->fields, "Amber-Reason", r->reason, sizeof(r->reason));
	field_text(m->fields, "Retry-After", text, sizeof(text));
	r->retry_after_s = (unsigned)strtoul(text, NULL, 10);
	take_times(&r->times, m->fields);
	return 0;
}

void
amber_answer_free(struct amber_answer **rp)
{
	struct amber_answer *r = *rp;

	if (r == NULL)
		return;
	free(r->head);
	free(r->body);
	free(r->receipt);
	WIPE(r->record_key);
	free(r);
	*rp = NULL;
}

char *
amber_answer_field(const struct amber_answer *r, const char *name)
{
	size_t n = strlen(name), len;
	const char *at;

	for (at = strstr(r->head, "\r\n"); at != NULL && at[2] != '\r';
	    at = strstr(at + 2, "\r\n")) {
		if (strncasecmp(at + 2, name, n) != 0 || at[2 + n] != ':')
			continue;
		at += 3 + n;
		at += strspn(at, " \t");
		len = strcspn(at, "\r");
		while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
			len--;
		return strndup(at, len);
	}
	return NULL;
}
