/*
 * json.c - the JSON writer.  It must not emit a byte that its strings
 * brought along unescaped or ill-formed.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/utf8.h"

void
json_begin(struct json *j, struct bytes *out)
{
	*j = (struct json){ .out = out, .fail = ERR_INIT };
}

static bool
is_broken(const struct json *j)
{
	return j->fail.code != 0;
}

static void
put(struct json *j, const char *s, size_t n)
{
	if (!is_broken(j))
		(void)bytes_append(j->out, s, n, &j->fail);
}

static void
put_str(struct json *j, const char *s)
{
	put(j, s, strlen(s));
}

static bool
is_plain(uint32_t c)
{
	return c >= 0x20 && c != '"' && c != '\\' && !(c >= 0x7f && c < 0xa0) &&
	    c != 0x2028 && c != 0x2029;
}

/* One character or ill-formed byte into out; its length, *took from s. */
static size_t
escape_one(char out[JSON_ESCAPE_MAX + 1], const char *s, size_t n, size_t *took)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at;
	uint32_t c;

	if ((*took = utf8_step(s, n, &c)) == 0) {
		*took = 1;
		memcpy(out, "\xef\xbf\xbd", 3);
		return 3;
	}
	if (is_plain(c)) {
		memcpy(out, s, *took);
		return *took;
	}
	if (c != 0 && c < 0x7f && (at = strchr(from, (int)c)) != NULL) {
		out[0] = '\\';
		out[1] = to[at - from];
		return 2;
	}
	return (
	    size_t)snprintf(out, JSON_ESCAPE_MAX + 1, "\\u%04x", (unsigned)c);
}

size_t
json_escape(char *out, size_t size, const char **s, size_t *n)
{
	char one[JSON_ESCAPE_MAX + 1];
	size_t len, took, used = 0;

	while (*n > 0) {
		len = escape_one(one, *s, *n, &took);
		if (len > size - used)
			break;
		memcpy(out + used, one, len);
		used += len;
		*s += took;
		*n -= took;
	}
	return used;
}

static void
put_quoted(struct json *j, const char *s, size_t n)
{
	char chunk[256];

	put_str(j, "\"");
	while (n > 0 && !is_broken(j))
		put(j, chunk, json_escape(chunk, sizeof(chunk), &s, &n));
	put_str(j, "\"");
}

/* The comma and the name before a value. */
static void
begin_value(struct json *j, const char *name)
{
	bool in_object = j->depth > 0 && j->close[j->depth] == '}';

	if (is_broken(j))
		return;
	assert(in_object == (name != NULL));
	assert(j->depth > 0 || !j->has_item[0]);
	if (j->has_item[j->depth])
		put_str(j, ",");
	j->has_item[j->depth] = true;
	if (name != NULL) {
		put_quoted(j, name, strlen(name));
		put_str(j, ":");
	}
}

static void
open_level(struct json *j, const char *name, const char *opening, char closing)
{
	begin_value(j, name);
	if (is_broken(j))
		return;
	if (j->depth == JSON_DEPTH) {
		(void)err_set(&j->fail, ERR_LIMIT,
		    "JSON nested deeper than %d levels", JSON_DEPTH);
		return;
	}
	put_str(j, opening);
	j->depth++;
	j->has_item[j->depth] = false;
	j->close[j->depth] = closing;
}

void
json_object(struct json *j, const char *name)
{
	open_level(j, name, "{", '}');
}

void
json_array(struct json *j, const char *name)
{
	open_level(j, name, "[", ']');
}

void
json_close(struct json *j)
{
	if (is_broken(j))
		return;
	assert(j->depth > 0);
	put(j, &j->close[j->depth], 1);
	j->depth--;
}

void
json_strn(struct json *j, const char *name, const char *s, size_t n)
{
	begin_value(j, name);
	put_quoted(j, s, n);
}

void
json_str(struct json *j, const char *name, const char *s)
{
	json_strn(j, name, s, strlen(s));
}

void
json_uint(struct json *j, const char *name, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	begin_value(j, name);
	put_str(j, text);
}

void
json_int(struct json *j, const char *name, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, v);
	begin_value(j, name);
	put_str(j, text);
}

void
json_double(struct json *j, const char *name, double v)
{
	char text[32];
	int digits;

	if (!isfinite(v)) {
		json_null(j, name);
		return;
	}
	/* 17 digits name every double. */
	for (digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	begin_value(j, name);
	put_str(j, text);
}

void
json_bool(struct json *j, const char *name, bool v)
{
	begin_value(j, name);
	put_str(j, v ? "true" : "false");
}

void
json_null(struct json *j, const char *name)
{
	begin_value(j, name);
	put_str(j, "null");
}

void
json_str_or_null(struct json *j, const char *name, const char *s)
{
	if (s != NULL)
		json_str(j, name, s);
	else
		json_null(j, name);
}

void
json_hex(struct json *j, const char *name, const void *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = p;
	char pair[2];
	size_t i;

	begin_value(j, name);
	put_str(j, "\"");
	for (i = 0; i < n; i++) {
		pair[0] = digits[b[i] >> 4];
		pair[1] = digits[b[i] & 15];
		put(j, pair, 2);
	}
	put_str(j, "\"");
}

int
json_end(struct json *j, struct err *e)
{
	if (is_broken(j)) {
		if (e != NULL)
			*e = j->fail;
		return j->fail.code;
	}
	assert(j->depth == 0 && j->has_item[0]);
	return 0;
}

int
json_line(struct json *j, FILE *f, struct err *e)
{
	struct bytes *out = j->out;
	int r;

	if ((r = json_end(j, e)) == 0 &&
	    (fwrite(out->p, 1, out->len, f) != out->len ||
		fputc('\n', f) == EOF || fflush(f) == EOF))
		r = err_sys(e, "write");
	bytes_clear(out);
	json_begin(j, out);
	return r;
}
