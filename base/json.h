/*
 * json.h - a small JSON writer for --json, NDJSON and log lines.
 *
 * Only writes.  Nesting and commas are its business; strings are escaped,
 * and bytes that are not UTF-8 become U+FFFD.  Control characters, C1 ones
 * and U+2028/2029 included, are always written as escapes, so that a line
 * stays a line and a terminal stays calm.  Failures (memory, out's cap,
 * nesting) stick and are told by json_end(); a name where none belongs, or a
 * second outermost value, is our own bug and asserted.
 */
#ifndef AMBER_BASE_JSON_H
#define AMBER_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct bytes;

enum { JSON_DEPTH = 16 };	/* one more level is ERR_LIMIT */

struct json {
	struct bytes	*out;
	struct err	 fail;
	unsigned	 depth;
	bool		 has_item[JSON_DEPTH + 1];
	char		 close[JSON_DEPTH + 1];
};

/* Appends to out, which must outlive j.  name is NULL inside arrays and for
 * the outermost value. */
void	json_begin(struct json *j, struct bytes *out);
void	json_object(struct json *j, const char *name);
void	json_array(struct json *j, const char *name);
void	json_close(struct json *j);	/* the innermost one */
void	json_str(struct json *j, const char *name, const char *s);
/* null when s is NULL. */
void	json_str_or_null(struct json *j, const char *name, const char *s);
void	json_strn(struct json *j, const char *name, const char *s, size_t n);
void	json_uint(struct json *j, const char *name, uint64_t v);
void	json_int(struct json *j, const char *name, int64_t v);
/* Finite numbers in the shortest form that reads back; others as null. */
void	json_double(struct json *j, const char *name, double v);
void	json_bool(struct json *j, const char *name, bool v);
void	json_null(struct json *j, const char *name);
/* Lower-case hex of n bytes as a string. */
void	json_hex(struct json *j, const char *name, const void *p, size_t n);
/* What went wrong first, or 0: then one whole value is in out. */
int	json_end(struct json *j, struct err *e);
/* json_end(), then out and a newline to f, flushed.  Clears out either way
 * and begins anew, so that the next line may follow. */
int	json_line(struct json *j, FILE *f, struct err *e);

/* Escapes *n bytes at *s into out without quotes or NUL, as many whole
 * characters as fit into size bytes; *s and *n move on.  Returns the bytes
 * written.  Any JSON_ESCAPE_MAX bytes of room make progress. */
enum { JSON_ESCAPE_MAX = 6 };
size_t	json_escape(char *out, size_t size, const char **s, size_t *n);

#endif
