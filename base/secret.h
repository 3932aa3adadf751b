/*
 * secret.h - a key's place in memory.
 *
 * sodium_malloc'd: between guard pages, locked where RLIMIT_MEMLOCK allows,
 * left out of core dumps (MADV_DONTDUMP), wiped when freed.  Fixed size,
 * never reallocated.  Short-lived key bytes on the stack are wiped by their
 * function with WIPE(object).
 */
#ifndef AMBER_BASE_SECRET_H
#define AMBER_BASE_SECRET_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct secret {
	uint8_t	*p;
	size_t	 len;		/* bytes */
};

/* Wipe a named object (not a pointer): the whole of it, never optimised out. */
#define WIPE(obj)	sodium_memzero(&(obj), sizeof(obj))

/* sodium_init() once; every program calls it first.  0 or ERR_CRYPTO. */
int	secret_init(struct err *e);

/* len bytes of zeros, 1..1 MiB.  0, ERR_NOMEM. */
int	secret_new(struct secret **out, size_t len, struct err *e);
/* A new secret with a copy of p; the caller keeps (and wipes) its own. */
int	secret_copy(struct secret **out, const void *p, size_t len,
	struct err *e);
/* len bytes from getrandom(2).  A failure is an error; nothing falls back. */
int	secret_random(struct secret **out, size_t len, struct err *e);
/* Wipes, frees, sets *sp to NULL.  *sp may be NULL. */
void	secret_free(struct secret **sp);

/* Was the memory really locked?  Swap in use is a risk worth a warning. */
bool	secret_is_locked(const struct secret *s);
/* The pages are not there in a child made by fork (MADV_DONTFORK). */
int	secret_dontfork(struct secret *s, struct err *e);
/* Constant time; lengths may differ (then false). */
bool	secret_is_equal(const struct secret *a, const void *p, size_t len);

/* getrandom(2) into an ordinary buffer: ids, salts, public keys. */
int	secret_fill_random(void *p, size_t len, struct err *e);

#endif
