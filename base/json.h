/*
 * json.h - a small JSON writer for --json, NDJSON and log lines.
 *
 * Only writes.  Nesting and commas are its business; strings are escaped,
 * and bytes that are not UTF-8 become U+FFFD.  Failures stick and are told
 * by json_end().
 */
#ifndef AMBER_BASE_JSON_H
#define AMBER_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct bytes;

enum { JSON_DEPTH = 16 };

struct json {
	struct bytes	*out;
	struct err	 fail;
	unsigned	 depth;
	bool		 has_item[JSON_DEPTH + 1];
	char		 close[JSON_DEPTH + 1];
};

/* name is NULL inside arrays and for the outermost value. */
void	json_begin(struct json *j, struct bytes *out);
void	json_object(struct json *j, const char *name);
void	json_array(struct json *j, const char *name);
void	json_close(struct json *j);	/* the innermost one */
void	json_str(struct json *j, const char *name, const char *s);
void	json_strn(struct json *j, const char *name, const char *s, size_t n);
void	json_uint(struct json *j, const char *name, uint64_t v);
void	json_int(struct json *j, const char *name, int64_t v);
/* Finite numbers in the shortest form that reads back; others as null. */
void	json_double(struct json *j, const char *name, double v);
void	json_bool(struct json *j, const char *name, bool v);
void	json_null(struct json *j, const char *name);
/* Lower-case hex of n bytes as a string. */
void	json_hex(struct json *j, const char *name, const void *p, size_t n);
int	json_end(struct json *j, struct err *e);
/* json_end(), then the line with a newline to f, flushed; clears out. */
int	json_line(struct json *j, FILE *f, struct err *e);

#endif
