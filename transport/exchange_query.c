/*
 * exchange_query.c - see exchange_query.h.
 */
#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/decimal.h"
#include "base/err.h"
#include "transport/exchange_query.h"

#define PREFIX	"/x1/"

enum {
	PREFIX_LEN = sizeof(PREFIX) - 1,
	VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
	DATA_TEXT_MAX = (EXCHANGE_DATA_MAX * 4 + 2) / 3,
};

static int
malformed(struct err *e, const char *what)
{
	return err_set(e, ERR_FORMAT, "exchange: %s", what);
}

/* base64url into exactly *len <= max bytes. */
static bool
parse_base64(const char *p, size_t n, uint8_t *out, size_t max, size_t *len)
{
	/* no end is asked for: the whole text must be of the alphabet */
	return sodium_base642bin(out, max, p, n, NULL, len, NULL, VARIANT) ==
	    0;
}

/* Which parts of the query have been seen. */
struct seen {
	bool	c, d, u, e, w, x;
};

static int
parse_data(struct exchange_query *q, const char *p, size_t n, struct err *e)
{
	size_t len;

	if (n == 0 || n > DATA_TEXT_MAX ||
	    !parse_base64(p, n, q->data, sizeof(q->data), &len))
		return malformed(e, "d is not the base64url of 1..4096 bytes");
	q->data_len = (uint32_t)len;
	return 0;
}

/* One part, key=value. */
static int
parse_part(struct exchange_query *q, const char *p, size_t n,
    struct seen *seen, struct err *e)
{
	const uint64_t max = EXCHANGE_NUMBER_MAX;
	bool *s, ok;
	uint64_t w;

	if (n < 2 || p[1] != '=')
		return malformed(e, "part of the query that is no key=value");
	switch (p[0]) {
	case 'c':
		s = &seen->c;
		break;
	case 'd':
		s = &seen->d;
		break;
	case 'u':
		s = &seen->u;
		break;
	case 'e':
		s = &seen->e;
		break;
	case 'w':
		s = &seen->w;
		break;
	case 'x':
		s = &seen->x;
		break;
	default:
		return malformed(e, "unknown part of the query");
	}
	if (*s)
		return malformed(e, "repeated part of the query");
	*s = true;
	p += 2;
	n -= 2;
	switch (p[-2]) {
	case 'c':
		ok = decimal_parse(p, n, max, &q->c);
		break;
	case 'u':
		ok = decimal_parse(p, n, max, &q->u);
		break;
	case 'e':
		ok = decimal_parse(p, n, max, &q->e);
		break;
	case 'w':
		ok = decimal_parse(p, n, EXCHANGE_WAIT_MAX_MS, &w);
		q->wait_ms = ok ? (uint32_t)w : 0;
		break;
	case 'x':
		ok = n == 1 && p[0] == '1';
		break;
	default:
		return parse_data(q, p, n, e);
	}
	return ok ? 0 : malformed(e, "value out of its range");
}

static int
parse_query(struct exchange_query *q, const char *p, const char *end,
    struct err *e)
{
	struct seen seen = { false, false, false, false, false, false };
	const char *amp;
	int r;

	for (;; p = amp + 1) {
		amp = memchr(p, '&', (size_t)(end - p));
		if ((r = parse_part(q, p, (size_t)((amp == NULL ? end : amp) -
		    p), &seen, e)) != 0)
			return r;
		if (amp == NULL)
			break;
	}
	if (!seen.c)
		return malformed(e, "c is missing");
	if (seen.d != seen.u)
		return malformed(e, "d and u go together");
	q->has_data = seen.d;
	q->has_end = seen.e;
	q->has_kill = seen.x;
	return 0;
}

/* From an absolute form to the path (RFC 9112 section 3.2.2). */
static const char *
skip_origin(const char *p, const char *end)
{
	const size_t n = (size_t)(end - p);
	const char *slash;
	size_t skip = 0;

	if (n > 7 && strncasecmp(p, "http://", 7) == 0)
		skip = 7;
	else if (n > 8 && strncasecmp(p, "https://", 8) == 0)
		skip = 8;
	if (skip == 0)
		return p;
	slash = memchr(p + skip, '/', n - skip);
	return slash == NULL ? end : slash;
}

int
exchange_query_parse(struct exchange_query *q, const char *target, size_t n,
    struct err *e)
{
	const char *end = target + n, *p = skip_origin(target, end), *mark;
	size_t len;

	if (end - p < PREFIX_LEN || memcmp(p, PREFIX, PREFIX_LEN) != 0)
		return err_set(e, ERR_NOENT, "exchange: no such path");
	p += PREFIX_LEN;
	q->has_data = q->has_end = q->has_kill = false;
	q->n = q->c = q->u = q->e = 0;
	q->wait_ms = EXCHANGE_WAIT_DEFAULT_MS;
	q->data_len = 0;
	if (end - p <= EXCHANGE_ID_TEXT || p[EXCHANGE_ID_TEXT] != '/' ||
	    !parse_base64(p, EXCHANGE_ID_TEXT, q->id, sizeof(q->id), &len) ||
	    len != sizeof(q->id))
		return malformed(e, "session is not the base64url of 16 bytes");
	p += EXCHANGE_ID_TEXT + 1;
	mark = memchr(p, '?', (size_t)(end - p));
	if (mark == NULL ||
	    !decimal_parse(p, (size_t)(mark - p), EXCHANGE_NUMBER_MAX, &q->n))
		return malformed(e, "number is malformed, or no query follows");
	return parse_query(q, mark + 1, end, e);
}

int
exchange_query_print(const struct exchange_query *q, struct bytes *out,
    struct err *e)
{
	char text[DATA_TEXT_MAX + 4];
	const size_t was = out->len;
	int r;

	(void)sodium_bin2base64(text, sizeof(text), q->id, sizeof(q->id),
	    VARIANT);
	if ((r = bytes_printf(out, e, PREFIX "%s/%llu?c=%llu", text,
	    (unsigned long long)q->n, (unsigned long long)q->c)) != 0)
		goto out;
	if (q->has_data) {
		(void)sodium_bin2base64(text, sizeof(text), q->data,
		    q->data_len, VARIANT);
		if ((r = bytes_printf(out, e, "&u=%llu&d=%s",
		    (unsigned long long)q->u, text)) != 0)
			goto out;
	}
	if (q->has_end && (r = bytes_printf(out, e, "&e=%llu",
	    (unsigned long long)q->e)) != 0)
		goto out;
	if (q->wait_ms != EXCHANGE_WAIT_DEFAULT_MS &&
	    (r = bytes_printf(out, e, "&w=%u", (unsigned)q->wait_ms)) != 0)
		goto out;
	if (q->has_kill)
		r = bytes_append_str(out, "&x=1", e);
out:
	if (r != 0)
		bytes_truncate(out, was);
	return r;
}

bool
exchange_query_is_poll(const struct exchange_query *q)
{
	return !q->has_data && !q->has_end && !q->has_kill;
}
