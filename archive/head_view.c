/*
 * head_view.c - lines and fields of a stored head.
 */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "archive/head_view.h"
#include "base/bytes.h"
#include "base/err.h"

void
head_view_begin(struct head_view *v, const struct capture_bytes *head)
{
	v->p = (const char *)head->p;
	v->n = head->p == NULL ? 0 : head->n;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Bytes up to and with the next LF, or all. */
static size_t
line_len(const char *p, size_t n)
{
	const char *nl = memchr(p, '\n', n);

	return nl == NULL ? n : (size_t)(nl - p) + 1;
}

/* Splits at the colon; a name is what stands before it without blanks. */
static void
split(struct head_line *l, size_t first_len)
{
	const char *colon = memchr(l->line, ':', first_len);
	const char *end = l->line + l->line_len;

	if (colon == NULL || colon == l->line || is_blank(l->line[0]))
		return;
	for (const char *p = l->line; p < colon; p++)
		if (is_blank(*p))
			return;
	l->name = l->line;
	l->name_len = (size_t)(colon - l->line);
	l->value = colon + 1;
	while (l->value < end && is_blank(*l->value))
		l->value++;
	while (end > l->value &&
	    (is_blank(end[-1]) || end[-1] == '\r' || end[-1] == '\n'))
		end--;
	l->value_len = (size_t)(end - l->value);
}

bool
head_view_next(struct head_view *v, struct head_line *out)
{
	size_t first;

	memset(out, 0, sizeof(*out));
	if (v->n == 0)
		return false;
	out->line = v->p;
	first = out->line_len = line_len(v->p, v->n);
	/* Folded lines (RFC 9112 section 5.2) go on with a blank. */
	while (out->line_len < v->n && is_blank(v->p[out->line_len]) &&
	    first > 0)
		out->line_len += line_len(v->p + out->line_len,
		    v->n - out->line_len);
	v->p += out->line_len;
	v->n -= out->line_len;
	split(out, first);
	return true;
}

bool
head_view_is_name(const struct head_line *l, const char *name)
{
	return l->name != NULL && l->name_len == strlen(name) &&
	    strncasecmp(l->name, name, l->name_len) == 0;
}

/* A first line like "GET https://..." has a colon and is no field. */
static void
begin_fields(struct head_view *v, const struct capture_bytes *head)
{
	struct head_line l;

	head_view_begin(v, head);
	(void)head_view_next(v, &l);
}

struct capture_text
head_view_find(const struct capture_bytes *head, const char *name, size_t i)
{
	struct capture_text none = { NULL, 0 };
	struct head_view v;
	struct head_line l;

	begin_fields(&v, head);
	while (head_view_next(&v, &l))
		if (head_view_is_name(&l, name) && i-- == 0)
			return (struct capture_text){ l.value, l.value_len };
	return none;
}

size_t
head_view_count(const struct capture_bytes *head, const char *name)
{
	struct head_view v;
	struct head_line l;
	size_t n = 0;

	begin_fields(&v, head);
	while (head_view_next(&v, &l))
		n += head_view_is_name(&l, name);
	return n;
}

static bool
is_empty_line(const struct head_line *l)
{
	return l->line_len > 0 && (l->line[0] == '\n' ||
	    (l->line[0] == '\r' && l->line_len == 2 && l->line[1] == '\n'));
}

static bool
is_dropped(const struct head_line *l, bool has_length)
{
	return head_view_is_name(l, "transfer-encoding") ||
	    head_view_is_name(l, "trailer") ||
	    (has_length && head_view_is_name(l, "content-length"));
}

int
head_view_rewrite(struct bytes *out, const struct capture_bytes *head,
    size_t length, bool *is_changed, struct err *e)
{
	bool has_length = length != SIZE_MAX, is_first = true;
	size_t from = out->len;
	struct head_view v;
	struct head_line l;
	int r = 0;

	head_view_begin(&v, head);
	while (r == 0 && head_view_next(&v, &l)) {
		if (is_empty_line(&l) && has_length) {
			r = bytes_printf(out, e, "Content-Length: %zu\r\n",
			    length);
			has_length = false;
		}
		if (r == 0 && (is_first || !is_dropped(&l, length != SIZE_MAX)))
			r = bytes_append(out, l.line, l.line_len, e);
		is_first = false;
	}
	*is_changed = r == 0 &&
	    (out->len - from != head->n ||
		(head->n > 0 && memcmp(out->p + from, head->p, head->n) != 0));
	return r;
}
