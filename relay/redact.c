/*
 * redact.c - walking a head's lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/err.h"
#include "relay/redact.h"
#include "transport/http_head.h"

struct redact {
	char	*names[REDACT_NAMES_MAX];
	size_t	 n;
};

int
redact_new(struct redact **out, struct err *e)
{
	if ((*out = calloc(1, sizeof(**out))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for field names");
	return 0;
}

void
redact_free(struct redact **rp)
{
	size_t i;

	if (*rp == NULL)
		return;
	for (i = 0; i < (*rp)->n; i++)
		free((*rp)->names[i]);
	free(*rp);
	*rp = NULL;
}

bool
redact_has(const struct redact *r, const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (strlen(r->names[i]) == n &&
		    strncasecmp(r->names[i], name, n) == 0)
			return true;
	return false;
}

int
redact_add(struct redact *r, const char *name, size_t n, struct err *e)
{
	if (!http_head_is_token(name, n))
		return err_set(e, ERR_ARG, "that is no field name");
	if (redact_has(r, name, n))
		return 0;
	if (r->n == REDACT_NAMES_MAX)
		return err_set(e, ERR_LIMIT, "more than %d names of fields",
		    REDACT_NAMES_MAX);
	if ((r->names[r->n] = strndup(name, n)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for field names");
	r->n++;
	return 0;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Moves both ends past blanks and line ends. */
static void
trim(const char **p, size_t *n)
{
	while (*n > 0 && (is_blank(**p) || **p == '\r' || **p == '\n')) {
		(*p)++;
		(*n)--;
	}
	while (*n > 0 &&
	    (is_blank((*p)[*n - 1]) || (*p)[*n - 1] == '\r' ||
		(*p)[*n - 1] == '\n'))
		(*n)--;
}

int
redact_add_list(struct redact *r, const char *value, size_t n, struct err *e)
{
	const char *at = value, *end = value + n, *comma, *name;
	size_t len;
	int ret;

	while (at < end) {
		comma = memchr(at, ',', (size_t)(end - at));
		name = at;
		len = (size_t)((comma == NULL ? end : comma) - at);
		at += len + 1;
		trim(&name, &len);
		/* Empty members of a list are legal (RFC 9110 5.6.1.2). */
		if (len > 0 && (ret = redact_add(r, name, len, e)) != 0)
			return ret;
	}
	return 0;
}

/* Bytes of the line at p, with its LF if there is one. */
static size_t
line_len(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((nl == NULL ? end : nl + 1) - p);
}

/* A field with the lines folded onto it (RFC 9112 section 5.2). */
static size_t
field_len(const char *p, const char *end)
{
	size_t n = line_len(p, end);

	while (p + n < end && is_blank(p[n]))
		n += line_len(p + n, end);
	return n;
}

/* The value's place inside the field, when it must be replaced. */
static bool
secret_value(const struct redact *r, const char *p, size_t n,
    const char **value, size_t *len)
{
	const char *colon = memchr(p, ':', n);
	size_t name;

	if (colon == NULL)
		return false;
	name = (size_t)(colon - p);
	while (name > 0 && is_blank(p[name - 1]))
		name--;		/* "Cookie : x" is malformed, not harmless */
	if (!redact_has(r, p, name))
		return false;
	*value = colon + 1;
	*len = n - (size_t)(*value - p);
	trim(value, len);
	return *len > 0;	/* an empty value gives nothing away */
}

int
redact_head(const struct redact *r, const void *head, size_t n,
    struct bytes *out, bool *changed, struct err *e)
{
	const char *p = head, *end = p + n, *value;
	size_t len, vlen;
	int ret = 0;

	for (; p < end && ret == 0; p += len) {
		len = field_len(p, end);
		if (!secret_value(r, p, len, &value, &vlen)) {
			ret = bytes_append(out, p, len, e);
			continue;
		}
		if (changed != NULL)
			*changed = true;
		if ((ret = bytes_append(out, p, (size_t)(value - p), e)) != 0 ||
		    (ret = bytes_printf(out, e, "amber-redacted length=%zu",
			 vlen)) != 0)
			break;
		ret = bytes_append(out, value + vlen,
		    (size_t)(p + len - (value + vlen)), e);
	}
	return ret;
}
