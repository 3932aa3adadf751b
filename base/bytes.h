/*
 * bytes.h - a growable run of bytes with a cap.
 *
 * It never grows past its cap (ERR_LIMIT), grows by doubling in small steps
 * of real need (never by an announced length), and wipes every byte that it
 * gives back to the allocator, so it may carry secrets on their way.
 * Fields are for reading; change them through the functions only.
 */
#ifndef AMBER_BASE_BYTES_H
#define AMBER_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct err;

struct bytes {
	uint8_t	*p;		/* NULL while empty and never grown */
	size_t	 len;		/* bytes in use */
	size_t	 size;		/* bytes allocated, <= cap + 1 */
	size_t	 cap;		/* bytes, the most it may hold */
	size_t	 gone;		/* of the front, by bytes_release() */
};

#define BYTES_INIT(cap_)	{ NULL, 0, 0, (cap_), 0 }

void	bytes_init(struct bytes *b, size_t cap);
/* Wipes and frees; b is then empty with the same cap and may be used again. */
void	bytes_free(struct bytes *b);
/* Wipes the content and keeps the memory. */
void	bytes_clear(struct bytes *b);

/* Make room for n more bytes at p + len; *at (may be NULL) points there until
 * the next call.  bytes_added() then counts what was really written. */
int	bytes_reserve(struct bytes *b, size_t n, uint8_t **at, struct err *e);
void	bytes_added(struct bytes *b, size_t n);

/* p may not lie inside b. */
int	bytes_append(struct bytes *b, const void *p, size_t n, struct err *e);
int	bytes_append_byte(struct bytes *b, uint8_t c, struct err *e);
int	bytes_append_str(struct bytes *b, const char *s, struct err *e);
/* Formatted text, without its NUL. */
int	bytes_printf(struct bytes *b, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A NUL after the content that len does not count, for C strings. */
int	bytes_terminate(struct bytes *b, struct err *e);

/* Drop n bytes from the front (the rest moves down) or keep the first n. */
void	bytes_consume(struct bytes *b, size_t n);
void	bytes_truncate(struct bytes *b, size_t n);

/* The first n bytes are not needed any more: the whole pages in them go back
 * to the system now, and what was in them with them.  From then on they may
 * not be touched, and only this and bytes_free() may be called. */
void	bytes_release(struct bytes *b, size_t n);

/* Hand the memory over: *len bytes that the caller wipes and frees with
 * free(3); NULL when empty. */
uint8_t	*bytes_steal(struct bytes *b, size_t *len);

#endif
