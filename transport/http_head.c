/*
 * http_head.c - see http_head.h.  Every byte of a name, method, target or
 * value passes http_head_is_token() or http_head_is_value() on its way out.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/http_head.h"

enum { FIELDF_MAX = 1024 };	/* bytes of a formatted value */

bool
http_head_is_token(const void *p, size_t n)
{
	const unsigned char *s = p;
	size_t i;

	for (i = 0; i < n; i++) {
		if ((s[i] >= '0' && s[i] <= '9') ||
		    (s[i] >= 'a' && s[i] <= 'z') ||
		    (s[i] >= 'A' && s[i] <= 'Z'))
			continue;
		if (s[i] == '\0' || strchr("!#$%&'*+-.^_`|~", s[i]) == NULL)
			return false;
	}
	return n > 0;
}

bool
http_head_is_value(const void *p, size_t n)
{
	const unsigned char *s = p;
	size_t i;

	for (i = 0; i < n; i++)
		if ((s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f)
			return false;
	return true;
}

static bool
is_target(const void *p, size_t n)
{
	const unsigned char *s = p;
	size_t i;

	for (i = 0; i < n; i++)
		if (s[i] <= 0x20 || s[i] >= 0x7f)
			return false;
	return n > 0;
}

int
http_head_request(struct bytes *out, const char *method, const void *target,
    size_t target_len, struct err *e)
{
	const size_t was = out->len;
	int r;

	if (!http_head_is_token(method, strlen(method)))
		return err_set(e, ERR_FORMAT,
		    "request method is not a token of RFC 9110");
	if (!is_target(target, target_len))
		return err_set(e, ERR_FORMAT,
		    "request target is empty or "
		    "holds a byte that must be percent-encoded");
	if ((r = bytes_append_str(out, method, e)) != 0 ||
	    (r = bytes_append_byte(out, ' ', e)) != 0 ||
	    (r = bytes_append(out, target, target_len, e)) != 0 ||
	    (r = bytes_append_str(out, " HTTP/1.1\r\n", e)) != 0)
		bytes_truncate(out, was);
	return r;
}

/* RFC 9110 section 15, and RFC 6585; what we send or may pass on. */
static const struct {
	unsigned	 status;
	const char	*reason;
} reasons[] = {
	{ 100, "Continue" },
	{ 101, "Switching Protocols" },
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 407, "Proxy Authentication Required" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 411, "Length Required" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
};

const char *
http_head_reason(unsigned status)
{
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

int
http_head_status(struct bytes *out, unsigned status, const char *reason,
    struct err *e)
{
	if (reason == NULL)
		reason = http_head_reason(status);
	if (status < 100 || status > 999)
		return err_set(e, ERR_FORMAT, "status %u is not in 100..999",
		    status);
	if (!http_head_is_value(reason, strlen(reason)))
		return err_set(e, ERR_FORMAT,
		    "reason phrase holds a control character");
	return bytes_printf(out, e, "HTTP/1.1 %u %s\r\n", status, reason);
}

static int
append_field(struct bytes *out, const char *name, size_t name_len,
    const void *value, size_t value_len, struct err *e)
{
	const size_t was = out->len;
	int r;

	if (!http_head_is_token(name, name_len))
		return err_set(e, ERR_FORMAT,
		    "field name is not a token of RFC 9110");
	if (!http_head_is_value(value, value_len))
		return err_set(e, ERR_FORMAT,
		    "value of field %.*s holds a "
		    "control character",
		    (int)(name_len < 64 ? name_len : 64), name);
	if ((r = bytes_append(out, name, name_len, e)) != 0 ||
	    (r = bytes_append(out, ": ", 2, e)) != 0 ||
	    (r = bytes_append(out, value, value_len, e)) != 0 ||
	    (r = bytes_append(out, "\r\n", 2, e)) != 0)
		bytes_truncate(out, was);
	return r;
}

int
http_head_field(struct bytes *out, const char *name, const void *value,
    size_t value_len, struct err *e)
{
	return append_field(out, name, strlen(name), value, value_len, e);
}

int
http_head_fieldf(struct bytes *out, struct err *e, const char *name,
    const char *fmt, ...)
{
	char value[FIELDF_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(value))
		return err_set(e, ERR_LIMIT,
		    "value of field %s is longer "
		    "than %d bytes",
		    name, FIELDF_MAX - 1);
	return http_head_field(out, name, value, (size_t)n, e);
}

int
http_head_copy(struct bytes *out, const struct http_field *f, struct err *e)
{
	return append_field(out, f->name, f->name_len, f->value, f->value_len,
	    e);
}

int
http_head_end(struct bytes *out, struct err *e)
{
	return bytes_append(out, "\r\n", 2, e);
}

static bool
is_same(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && strncasecmp(p, word, n) == 0;
}

bool
http_head_is_name(const struct http_field *f, const char *name)
{
	return is_same(f->name, f->name_len, name);
}

const struct http_field *
http_head_find(struct http_fields fields, const char *name, size_t *i)
{
	while (*i < fields.n)
		if (http_head_is_name(&fields.v[(*i)++], name))
			return &fields.v[*i - 1];
	return NULL;
}

size_t
http_head_count(struct http_fields fields, const char *name)
{
	size_t i = 0, n = 0;

	while (http_head_find(fields, name, &i) != NULL)
		n++;
	return n;
}

const struct http_field *
http_head_only(struct http_fields fields, const char *name)
{
	size_t i = 0;
	const struct http_field *f = http_head_find(fields, name, &i);

	return f == NULL || http_head_find(fields, name, &i) != NULL ? NULL : f;
}

/* Is p..p+n one of the comma-separated words of any field of that name? */
static bool
is_listed(struct http_fields fields, const char *name, const char *p, size_t n)
{
	const struct http_field *f;
	const char *at, *end, *comma, *last;
	size_t i = 0;

	while ((f = http_head_find(fields, name, &i)) != NULL) {
		end = f->value + f->value_len;
		for (at = f->value; at < end; at = comma + 1) {
			comma = memchr(at, ',', (size_t)(end - at));
			if (comma == NULL)
				comma = end;
			for (last = comma;
			     last > at && (last[-1] == ' ' || last[-1] == '\t');
			     last--)
				;
			while (at < last && (*at == ' ' || *at == '\t'))
				at++;
			if ((size_t)(last - at) == n &&
			    strncasecmp(at, p, n) == 0)
				return true;
		}
	}
	return false;
}

bool
http_head_has_token(struct http_fields fields, const char *name,
    const char *token)
{
	return is_listed(fields, name, token, strlen(token));
}

bool
http_head_is_forwarded(struct http_fields fields, size_t i)
{
	static const char *const stay[] = {
		"connection",
		"keep-alive",
		"proxy-connection",
		"proxy-authorization",
		"proxy-authenticate",
		"te",
		"trailer",
		"transfer-encoding",
		"upgrade",
	};
	static const char *const go[] = { "host", "authorization", "cookie" };
	const struct http_field *f = &fields.v[i];
	size_t k;

	for (k = 0; k < sizeof(stay) / sizeof(stay[0]); k++)
		if (http_head_is_name(f, stay[k]))
			return false;
	if (f->name_len >= 6 && strncasecmp(f->name, "amber-", 6) == 0)
		return false;
	for (k = 0; k < sizeof(go) / sizeof(go[0]); k++)
		if (http_head_is_name(f, go[k]))
			return true;
	if (f->name_len >= 8 && strncasecmp(f->name, "content-", 8) == 0)
		return true;
	return !is_listed(fields, "connection", f->name, f->name_len);
}
