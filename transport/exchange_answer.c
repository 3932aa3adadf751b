/*
 * exchange_answer.c - see exchange_answer.h.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/decimal.h"
#include "base/err.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_query.h"
#include "transport/http_head.h"

static const char *
persist_field(enum exchange_persist persist)
{
	return persist == EXCHANGE_CLOSE ? "Connection: close\r\n" : "";
}

static int
print_error(const struct exchange_answer *a, enum exchange_persist persist,
    struct bytes *out, struct err *e)
{
	const char *text = a->text == NULL ? "" : a->text;
	int r;

	if ((r = bytes_printf(out, e, "HTTP/1.1 %u %s\r\n"
	    "Content-Type: text/plain\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "Amber-Stream: error=%u\r\n%s%s", a->status,
	    http_head_reason(a->status), strlen(text) + 1, a->status,
	    a->status == 405 ? "Allow: GET\r\n" : "",
	    persist_field(persist))) != 0)
		return r;
	if (a->retry_after_s > 0 && (r = bytes_printf(out, e,
	    "Retry-After: %u\r\n", a->retry_after_s)) != 0)
		return r;
	return bytes_printf(out, e, "\r\n%s\n", text);
}

int
exchange_answer_print(const struct exchange_answer *a,
    enum exchange_persist persist, struct bytes *out, struct err *e)
{
	const size_t was = out->len;
	int r;

	if (a->status != 200)
		r = print_error(a, persist, out, e);
	else
		r = bytes_printf(out, e, "HTTP/1.1 200 OK\r\n"
		    "Content-Type: application/octet-stream\r\n"
		    "Content-Length: %u\r\n"
		    "Cache-Control: no-store, no-transform\r\n"
		    "Amber-Stream: o=%llu, l=%u, u=%llu, q=%llu%s\r\n%s\r\n",
		    (unsigned)a->l, (unsigned long long)a->o, (unsigned)a->l,
		    (unsigned long long)a->u, (unsigned long long)a->q,
		    a->has_end ? ", end" : "", persist_field(persist));
	if (r != 0)
		bytes_truncate(out, was);
	return r;
}

/* Moves *p behind word, if it stands there. */
static bool
skip_word(const char **p, const char *end, const char *word)
{
	const size_t n = strlen(word);

	if ((size_t)(end - *p) < n || memcmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/* "o=" and a number.  Moves *p. */
static bool
parse_key(const char **p, const char *end, const char *key, uint64_t max,
    uint64_t *out)
{
	size_t len;

	if (!skip_word(p, end, key))
		return false;
	len = decimal_prefix(*p, (size_t)(end - *p), max, out);
	*p += len;
	return len > 0;
}

int
exchange_answer_parse(struct exchange_answer *a, const char *value, size_t n,
    struct err *e)
{
	const char *p = value, *end = value + n;
	uint64_t v;

	memset(a, 0, sizeof(*a));
	if (n > 0 && value[0] == 'e') {
		if (!parse_key(&p, end, "error=", 599, &v) || p != end ||
		    v < 400)
			goto bad;
		a->status = (unsigned)v;
		return 0;
	}
	a->status = 200;
	if (!parse_key(&p, end, "o=", EXCHANGE_NUMBER_MAX, &a->o) ||
	    !parse_key(&p, end, ", l=", EXCHANGE_SLICE_MAX, &v) ||
	    !parse_key(&p, end, ", u=", EXCHANGE_NUMBER_MAX, &a->u) ||
	    !parse_key(&p, end, ", q=", EXCHANGE_NUMBER_MAX, &a->q))
		goto bad;
	a->l = (uint32_t)v;
	a->has_end = skip_word(&p, end, ", end");
	if (p == end)
		return 0;
bad:
	return err_set(e, ERR_FORMAT, "Amber-Stream field is not in its form");
}
