/*
 * amber_told.c - asking and reading; what follows from it is amber.c's.
 */
#include <sodium.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "client/amber_told.h"
#include "base/decimal.h"

int
amber_told_request(struct bytes *out, const char *token, struct err *e)
{
	/* No name under .invalid exists (RFC 6761): were it forwarded
	 * against RFC 9110 section 7.6.2, it would reach nobody. */
	static const char url[] = "https://amber.invalid/";
	int r;

	if ((r = http_head_request(out, "OPTIONS", url, sizeof(url) - 1,
		 e)) != 0 ||
	    (r = http_head_field(out, "Host", "amber.invalid", 13, e)) != 0 ||
	    (r = http_head_field(out, "Max-Forwards", "0", 1, e)) != 0)
		return r;
	if (token != NULL &&
	    (r = http_head_fieldf(out, e, "Proxy-Authorization", "Bearer %s",
		 token)) != 0)
		return r;
	return http_head_end(out, e);
}

/* "key=" and a decimal; moves *p. */
static bool
take_number(const char **p, const char *end, const char *key, uint64_t max,
    uint64_t *out)
{
	size_t n = strlen(key), len;

	if ((size_t)(end - *p) < n || memcmp(*p, key, n) != 0)
		return false;
	*p += n;
	len = decimal_prefix(*p, (size_t)(end - *p), max, out);
	*p += len;
	return len > 0;
}

static bool
take_epoch(struct amber_epoch *ep, const struct http_field *f)
{
	static const char key[] = ", puzzle=";
	const char *p = f->value, *end = p + f->value_len;
	char hex[2 * sizeof(ep->puzzle) + 1];
	uint64_t from, until;
	size_t n = 0;

	if (!take_number(&p, end, "n=", INT64_MAX, &ep->number) ||
	    !take_number(&p, end, ", from=", INT64_MAX, &from) ||
	    !take_number(&p, end, ", until=", INT64_MAX, &until) ||
	    (size_t)(end - p) != sizeof(key) - 1 + 2 * sizeof(ep->puzzle) ||
	    memcmp(p, key, sizeof(key) - 1) != 0)
		return false;
	p += sizeof(key) - 1;
	ep->not_before = (int64_t)from;
	ep->not_after = (int64_t)until;
	if (sodium_hex2bin(ep->puzzle, sizeof(ep->puzzle), p,
		(size_t)(end - p), NULL, &n, NULL) != 0 ||
	    n != sizeof(ep->puzzle))
		return false;
	/* Small letters alone: one spelling. */
	sodium_bin2hex(hex, sizeof(hex), ep->puzzle, sizeof(ep->puzzle));
	return memcmp(hex, p, sizeof(hex) - 1) == 0;
}

int
amber_told_take(struct amber_state *out, struct http_fields fields,
    struct err *e)
{
	const struct http_field *f = http_head_only(fields, "Amber-State");
	struct amber_state s = { .nepochs = 0 };
	size_t i = 0;

	memset(out, 0, sizeof(*out));
	if (f == NULL || f->value_len >= sizeof(s.word) ||
	    !http_head_is_token(f->value, f->value_len))
		return err_set(e, ERR_FORMAT,
		    "the relay does not say in which state it is");
	memcpy(s.word, f->value, f->value_len);
	while ((f = http_head_find(fields, "Amber-Epoch", &i)) != NULL)
		if (s.nepochs == AMBER_EPOCHS_MAX ||
		    !take_epoch(&s.epochs[s.nepochs++], f))
			return err_set(e, ERR_FORMAT,
			    "what the relay says of its epochs is malformed");
	*out = s;
	return 0;
}

const struct amber_epoch *
amber_told_find(const struct amber_state *s, const uint8_t puzzle[32])
{
	size_t i;

	for (i = 0; i < s->nepochs; i++)
		if (memcmp(s->epochs[i].puzzle, puzzle,
			sizeof(s->epochs[i].puzzle)) == 0)
			return &s->epochs[i];
	return NULL;
}
