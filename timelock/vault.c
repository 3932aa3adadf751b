/*
 * vault.c - see vault.h.  Chunks are never moved or given back before the
 * end, so pointers stay; the free list holds numbers, never secrets.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/vault.h"

enum { CHUNKS_MAX = VAULT_PLACES_MAX / VAULT_CHUNK };

struct vault {
	struct secret	*chunks[CHUNKS_MAX];
	size_t		 nchunks;
	uint32_t	*unused;	/* numbers of free places */
	size_t		 nunused;
	size_t		 used;
};

int
vault_new(struct vault **out, struct err *e)
{
	if ((*out = calloc(1, sizeof(**out))) == NULL)
		return err_set(e, ERR_NOMEM, "vault");
	return 0;
}

void
vault_free(struct vault **vp)
{
	struct vault *v = *vp;

	if (v == NULL)
		return;
	for (size_t i = 0; i < v->nchunks; i++)
		secret_free(&v->chunks[i]);
	free(v->unused);
	free(v);
	*vp = NULL;
}

static int
add_chunk(struct vault *v, struct err *e)
{
	struct secret *s = NULL;
	uint32_t *unused;
	int r;

	if (v->nchunks == CHUNKS_MAX)
		return err_set(e, ERR_LIMIT, "more than %d secrets at a time",
		    VAULT_PLACES_MAX);
	unused = realloc(v->unused,
	    (v->nchunks + 1) * VAULT_CHUNK * sizeof(*unused));
	if (unused == NULL)
		return err_set(e, ERR_NOMEM, "vault");
	v->unused = unused;
	if ((r = secret_new(&s, (size_t)VAULT_CHUNK * VAULT_PLACE_LEN, e)) !=
	    0 || (r = secret_dontfork(s, e)) != 0) {
		secret_free(&s);
		return r;
	}
	/* numbers from 1 on, the lowest given out first */
	for (uint32_t k = 0; k < VAULT_CHUNK; k++)
		v->unused[v->nunused++] =
		    (uint32_t)(v->nchunks + 1) * VAULT_CHUNK - k;
	v->chunks[v->nchunks++] = s;
	return 0;
}

int
vault_take(struct vault *v, uint32_t *place, struct err *e)
{
	int r;

	if (v->nunused == 0 && (r = add_chunk(v, e)) != 0)
		return r;
	*place = v->unused[--v->nunused];
	v->used++;
	return 0;
}

int
vault_take_random(struct vault *v, uint32_t *place, struct err *e)
{
	int r;

	if ((r = vault_take(v, place, e)) != 0)
		return r;
	if ((r = secret_fill_random(vault_at(v, *place), VAULT_PLACE_LEN,
	    e)) != 0)
		vault_drop(v, place);
	return r;
}

int
vault_take_copy(struct vault *v, const uint8_t p[VAULT_PLACE_LEN],
    uint32_t *place, struct err *e)
{
	int r;

	if ((r = vault_take(v, place, e)) == 0)
		memcpy(vault_at(v, *place), p, VAULT_PLACE_LEN);
	return r;
}

uint8_t *
vault_at(const struct vault *v, uint32_t place)
{
	const uint32_t i = place - 1;

	assert(place != VAULT_NONE && i / VAULT_CHUNK < v->nchunks);
	return v->chunks[i / VAULT_CHUNK]->p +
	    (size_t)(i % VAULT_CHUNK) * VAULT_PLACE_LEN;
}

void
vault_drop(struct vault *v, uint32_t *place)
{
	if (*place == VAULT_NONE)
		return;
	sodium_memzero(vault_at(v, *place), VAULT_PLACE_LEN);
	v->unused[v->nunused++] = *place;
	*place = VAULT_NONE;
	assert(v->used > 0);
	v->used--;
}

size_t
vault_used(const struct vault *v)
{
	return v->used;
}

bool
vault_is_locked(const struct vault *v)
{
	for (size_t i = 0; i < v->nchunks; i++) {
		if (!secret_is_locked(v->chunks[i]))
			return false;
	}
	return true;
}
