/*
 * bytes.c - the capped buffer.  realloc is not used: it would leave old
 * content behind in freed memory.
 */
#include <sys/mman.h>

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

enum { BYTES_FIRST = 64 };	/* smallest allocation, if the cap allows */

void
bytes_init(struct bytes *b, size_t cap)
{
	*b = (struct bytes)BYTES_INIT(cap);
}

void
bytes_free(struct bytes *b)
{
	size_t cap = b->cap;

	if (b->p != NULL) {
		sodium_memzero(b->p + b->gone, b->size - b->gone);
		free(b->p);
	}
	bytes_init(b, cap);
}

void
bytes_clear(struct bytes *b)
{
	bytes_truncate(b, 0);
}

static int
grow_to(struct bytes *b, size_t size, struct err *e)
{
	uint8_t *p;

	if ((p = malloc(size)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for %zu bytes", size);
	if (b->p != NULL) {
		memcpy(p, b->p, b->len);
		sodium_memzero(b->p, b->size);
		free(b->p);
	}
	b->p = p;
	b->size = size;
	return 0;
}

int
bytes_reserve(struct bytes *b, size_t n, uint8_t **at, struct err *e)
{
	size_t need, size;
	int r;

	if (n > b->cap - b->len)
		return err_set(e, ERR_LIMIT,
		    "%zu bytes do not fit: %zu of at most %zu are in use", n,
		    b->len, b->cap);
	need = b->len + n;
	if (need > b->size) {
		size = b->size < BYTES_FIRST ? BYTES_FIRST : b->size;
		while (size < need)
			size = size > b->cap / 2 ? b->cap : size * 2;
		if (size > b->cap)
			size = b->cap;
		if ((r = grow_to(b, size, e)) != 0)
			return r;
	}
	if (at != NULL)
		*at = b->p == NULL ? NULL : b->p + b->len;
	return 0;
}

void
bytes_added(struct bytes *b, size_t n)
{
	assert(n <= b->size - b->len);
	b->len += n;
}

int
bytes_append(struct bytes *b, const void *p, size_t n, struct err *e)
{
	uint8_t *at;
	int r;

	if (n == 0)
		return 0;
	if ((r = bytes_reserve(b, n, &at, e)) != 0)
		return r;
	memcpy(at, p, n);
	b->len += n;
	return 0;
}

int
bytes_append_byte(struct bytes *b, uint8_t c, struct err *e)
{
	return bytes_append(b, &c, 1, e);
}

int
bytes_append_str(struct bytes *b, const char *s, struct err *e)
{
	return bytes_append(b, s, strlen(s), e);
}

int
bytes_printf(struct bytes *b, struct err *e, const char *fmt, ...)
{
	va_list ap, again;
	uint8_t *at;
	int n, r;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		r = err_set(e, ERR_FORMAT, "text cannot be formatted");
		goto out;
	}
	if (n == 0) {
		r = 0;
		goto out;
	}
	/* The cap is for content: vsnprintf's NUL gets a byte of its own. */
	if ((r = bytes_reserve(b, (size_t)n, NULL, e)) != 0)
		goto out;
	if (b->size - b->len == (size_t)n &&
	    (r = grow_to(b, b->size + 1, e)) != 0)
		goto out;
	at = b->p + b->len;
	vsnprintf((char *)at, (size_t)n + 1, fmt, again);
	b->len += (size_t)n;
out:
	va_end(again);
	return r;
}

int
bytes_terminate(struct bytes *b, struct err *e)
{
	int r;

	if (b->len == b->size && (r = grow_to(b, b->size + 1, e)) != 0)
		return r;
	b->p[b->len] = '\0';
	return 0;
}

void
bytes_consume(struct bytes *b, size_t n)
{
	assert(n <= b->len);
	if (n == 0)
		return;
	memmove(b->p, b->p + n, b->len - n);
	sodium_memzero(b->p + b->len - n, n);
	b->len -= n;
}

void
bytes_truncate(struct bytes *b, size_t n)
{
	assert(n <= b->len);
	if (b->p != NULL)
		sodium_memzero(b->p + n, b->len - n);
	b->len = n;
}

void
bytes_release(struct bytes *b, size_t n)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = b->p + b->gone;
	const uintptr_t from = ((uintptr_t)at + page - 1) / page * page;
	const uintptr_t to = ((uintptr_t)b->p + n) / page * page;

	assert(n <= b->len);
	if (to <= from)
		return;
	sodium_memzero(at, from - (uintptr_t)at);
	if (madvise((void *)from, to - from, MADV_DONTNEED) == 0)
		b->gone = to - (uintptr_t)b->p;
}

uint8_t *
bytes_steal(struct bytes *b, size_t *len)
{
	uint8_t *p = b->p;

	*len = b->len;
	bytes_init(b, b->cap);
	return p;
}
