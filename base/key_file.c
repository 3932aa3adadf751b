/*
 * key_file.c - see key_file.h.  It knows no spelling.
 */
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/key_file.h"

static bool
is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int
key_file_read(const char *path, struct bytes *out, struct err *e)
{
	size_t before = out->len, n;
	int r;

	if ((r = io_read_file_or_pipe(path, out, e)) != 0)
		return r;
	for (n = out->len; n > before && is_space(out->p[n - 1]); n--)
		;
	bytes_truncate(out, n);
	if (n > before && memchr(out->p + before, '\n', n - before) != NULL) {
		bytes_truncate(out, before);
		return err_set(e, ERR_FORMAT, "more than one line");
	}
	return 0;
}
