/*
 * secret.c - keys in guarded, locked, undumped memory.  It never writes a
 * key anywhere else.
 */
#include <sys/mman.h>
#include <sys/random.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/secret.h"

enum { SECRET_MAX = 1 << 20 };		/* bytes */

/* What stands before the public part: whether mlock(2) was granted. */
struct secret_box {
	struct secret	pub;
	bool		locked;
};

int
secret_init(struct err *e)
{
	if (sodium_init() == -1)
		return err_set(e, ERR_CRYPTO, "libsodium does not start");
	return 0;
}

/* The whole pages that hold a secret's bytes (sodium puts them at a page's
 * end, with its canary before them in the same pages). */
static void
pages_of(const struct secret *s, void **start, size_t *len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)s->p & ~(page - 1);
	uintptr_t to = ((uintptr_t)s->p + s->len + page - 1) & ~(page - 1);

	*start = (void *)from;
	*len = (size_t)(to - from);
}

int
secret_new(struct secret **out, size_t len, struct err *e)
{
	struct secret_box *box;
	void *start;
	size_t n;

	assert(len > 0 && len <= SECRET_MAX);
	if ((box = calloc(1, sizeof(*box))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a key");
	if ((box->pub.p = sodium_malloc(len)) == NULL) {
		free(box);
		return err_set(e, ERR_NOMEM, "no guarded memory for a key");
	}
	box->pub.len = len;
	sodium_memzero(box->pub.p, len);
	/* sodium_malloc ignores a refused lock; locking again tells. */
	pages_of(&box->pub, &start, &n);
	box->locked = mlock(start, n) == 0;
	*out = &box->pub;
	return 0;
}

int
secret_copy(struct secret **out, const void *p, size_t len, struct err *e)
{
	struct secret *s;
	int r;

	if ((r = secret_new(&s, len, e)) != 0)
		return r;
	memcpy(s->p, p, len);
	*out = s;
	return 0;
}

int
secret_random(struct secret **out, size_t len, struct err *e)
{
	struct secret *s;
	int r;

	if ((r = secret_new(&s, len, e)) != 0)
		return r;
	if ((r = secret_fill_random(s->p, len, e)) != 0) {
		secret_free(&s);
		return r;
	}
	*out = s;
	return 0;
}

void
secret_free(struct secret **sp)
{
	if (*sp == NULL)
		return;
	sodium_free((*sp)->p);		/* wipes first */
	free(*sp);			/* pub is the box's first member */
	*sp = NULL;
}

bool
secret_is_locked(const struct secret *s)
{
	return ((const struct secret_box *)s)->locked;
}

int
secret_dontfork(struct secret *s, struct err *e)
{
	void *start;
	size_t n;

	pages_of(s, &start, &n);
	if (madvise(start, n, MADV_DONTFORK) == -1)
		return err_sys(e, "madvise a key away from children");
	return 0;
}

bool
secret_is_equal(const struct secret *a, const void *p, size_t len)
{
	return a->len == len && sodium_memcmp(a->p, p, len) == 0;
}

int
secret_fill_random(void *p, size_t len, struct err *e)
{
	uint8_t *at = p;
	ssize_t n;

	while (len > 0) {
		if ((n = getrandom(at, len, 0)) == -1) {
			if (errno == EINTR)
				continue;
			return err_sys(e, "getrandom");
		}
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
