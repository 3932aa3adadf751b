/*
 * http_section.c - see http_section.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "transport/http_section.h"

/* Idle connections are many: what is larger goes back. */
enum { KEPT_MAX = 2048 };

void
http_section_init(struct http_section *s, size_t cap)
{
	memset(s, 0, sizeof(*s));
	bytes_init(&s->raw, cap);
}

void
http_section_free(struct http_section *s)
{
	bytes_free(&s->raw);
	free(s->v);
	s->v = NULL;
	s->n = s->room = 0;
}

void
http_section_clear(struct http_section *s)
{
	if (s->raw.size > KEPT_MAX)
		bytes_free(&s->raw);
	else
		bytes_clear(&s->raw);
	s->line = s->lines = s->n = 0;
}

size_t
http_section_scan(const struct http_section *s,
    const struct http_section_caps *caps, const uint8_t *data, size_t n,
    enum http_section_cap *over)
{
	const size_t all_room = caps->all - s->raw.len;
	const size_t line_room = caps->line - s->line;
	const size_t room = line_room < all_room ? line_room : all_room;
	const uint8_t *nl;

	*over = HTTP_SECTION_FITS;
	if (n == 0)
		return 0;
	if (room > 0 && s->line == 0 && data[0] != '\r' &&
	    s->lines == caps->fields) {
		*over = HTTP_SECTION_COUNT;
		return 0;
	}
	nl = memchr(data, '\n', n < room ? n : room);
	if (nl != NULL)
		return (size_t)(nl + 1 - data);
	if (n <= room)
		return n;
	*over = room == all_room ? HTTP_SECTION_ALL : HTTP_SECTION_LINE;
	return room;
}

bool
http_section_added(struct http_section *s, size_t k)
{
	s->line += k;
	if (s->raw.p[s->raw.len - 1] != '\n')
		return false;
	s->lines++;
	k = s->line;
	s->line = 0;
	return k == 2;
}

static int
add_field(struct http_section *s, const struct http_field *f)
{
	const size_t room = s->room == 0 ? 16 : s->room * 2;
	struct http_field *v;

	if (s->n == s->room) {
		if ((v = realloc(s->v, room * sizeof(*v))) == NULL)
			return ERR_NOMEM;
		s->v = v;
		s->room = room;
	}
	s->v[s->n++] = *f;
	return 0;
}

static void
trim_field(struct http_field *f)
{
	const char *end = f->value + f->value_len;

	while (end > f->value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	while (f->value < end && (*f->value == ' ' || *f->value == '\t'))
		f->value++;
	f->value_len = (size_t)(end - f->value);
}

int
http_section_split(struct http_section *s, size_t at)
{
	const char *base = (const char *)s->raw.p;
	const char *colon, *nl;
	struct http_field f;
	int r;

	for (; at + 2 < s->raw.len; at = (size_t)(nl + 1 - base)) {
		f.name = base + at;
		nl = memchr(f.name, '\n', s->raw.len - at);
		colon = memchr(f.name, ':', s->raw.len - at);
		if (nl == NULL || nl[-1] != '\r' || colon == NULL || colon > nl)
			return ERR_FORMAT;
		f.name_len = (size_t)(colon - f.name);
		f.value = colon + 1;
		f.value_len = (size_t)(nl - 1 - f.value);
		trim_field(&f);
		/* again: llhttp has special states for some names */
		if (!http_head_is_token(f.name, f.name_len) ||
		    !http_head_is_value(f.value, f.value_len))
			return ERR_FORMAT;
		if ((r = add_field(s, &f)) != 0)
			return r;
	}
	return 0;
}
