/*
 * exchange_table.c - chained buckets over a pool of nodes; ended ones also
 * stand in a queue by the time they are forgotten.
 */
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "transport/exchange_table.h"

struct node {
	uint8_t			 id[EXCHANGE_ID_LEN];
	struct exchange_session	*session;	/* NULL: ended */
	uint64_t		 until_ms;
	struct node		*next;		/* of bucket or free list */
	struct node		*later;		/* of the queue */
};

struct exchange_table {
	uint8_t		 key[crypto_shorthash_KEYBYTES];
	size_t		 sessions_max, ids_max;
	size_t		 nopen, nended;
	size_t		 mask;			/* buckets - 1 */
	struct node	**buckets;
	struct node	*nodes;			/* the pool */
	struct node	*free;
	struct node	*first, *last;		/* ended, by until_ms */
};

int
exchange_table_new(struct exchange_table **out, size_t sessions, size_t ids,
    struct err *e)
{
	struct exchange_table *t;
	size_t i, n = 64;

	assert(sessions > 0 && ids >= sessions);
	while (n < ids)
		n *= 2;
	if ((t = calloc(1, sizeof(*t))) == NULL ||
	    (t->buckets = calloc(n, sizeof(*t->buckets))) == NULL ||
	    (t->nodes = calloc(ids, sizeof(*t->nodes))) == NULL) {
		exchange_table_free(&t);
		return err_set(e, ERR_NOMEM, "no memory for %zu session ids",
		    ids);
	}
	t->mask = n - 1;
	t->sessions_max = sessions;
	t->ids_max = ids;
	for (i = 0; i < ids; i++) {
		t->nodes[i].next = t->free;
		t->free = &t->nodes[i];
	}
	randombytes_buf(t->key, sizeof(t->key));
	*out = t;
	return 0;
}

void
exchange_table_free(struct exchange_table **tp)
{
	struct exchange_table *t = *tp;

	if (t == NULL)
		return;
	free(t->buckets);
	free(t->nodes);
	WIPE(t->key);
	free(t);
	*tp = NULL;
}

void
exchange_table_set_sessions(struct exchange_table *t, size_t sessions)
{
	t->sessions_max = sessions;
}

uint64_t
exchange_table_hash(const struct exchange_table *t,
    const uint8_t id[EXCHANGE_ID_LEN])
{
	uint8_t out[crypto_shorthash_BYTES];
	uint64_t h;

	(void)crypto_shorthash(out, id, EXCHANGE_ID_LEN, t->key);
	memcpy(&h, out, sizeof(h));
	return h;
}

/* Where the pointer to the id's node is, or would be. */
static struct node **
table_slot(struct exchange_table *t, const uint8_t id[EXCHANGE_ID_LEN])
{
	struct node **np = &t->buckets[exchange_table_hash(t, id) & t->mask];

	while (*np != NULL && memcmp((*np)->id, id, EXCHANGE_ID_LEN) != 0)
		np = &(*np)->next;
	return np;
}

struct exchange_session *
exchange_table_find(struct exchange_table *t,
    const uint8_t id[EXCHANGE_ID_LEN], bool *ended)
{
	const struct node *n = *table_slot(t, id);

	*ended = n != NULL && n->session == NULL;
	return n == NULL ? NULL : n->session;
}

bool
exchange_table_has_room(const struct exchange_table *t)
{
	return t->nopen < t->sessions_max && t->nopen + t->nended < t->ids_max;
}

void
exchange_table_add(struct exchange_table *t,
    const uint8_t id[EXCHANGE_ID_LEN], struct exchange_session *s)
{
	struct node **np = table_slot(t, id), *n = t->free;

	assert(*np == NULL && n != NULL && s != NULL);
	t->free = n->next;
	memcpy(n->id, id, EXCHANGE_ID_LEN);
	n->session = s;
	n->next = n->later = NULL;
	*np = n;
	t->nopen++;
}

void
exchange_table_end(struct exchange_table *t,
    const uint8_t id[EXCHANGE_ID_LEN], uint64_t until_ms)
{
	struct node *n = *table_slot(t, id);

	assert(n != NULL && n->session != NULL);
	n->session = NULL;
	n->until_ms = until_ms;
	if (t->last == NULL)
		t->first = n;
	else
		t->last->later = n;
	t->last = n;
	t->nopen--;
	t->nended++;
}

void
exchange_table_expire(struct exchange_table *t, uint64_t now_ms)
{
	struct node *n, **np;

	while ((n = t->first) != NULL && n->until_ms <= now_ms) {
		t->first = n->later;
		if (t->first == NULL)
			t->last = NULL;
		np = table_slot(t, n->id);
		assert(*np == n);
		*np = n->next;
		n->next = t->free;
		t->free = n;
		t->nended--;
	}
}

size_t
exchange_table_count(const struct exchange_table *t)
{
	return t->nopen;
}

size_t
exchange_table_count_ended(const struct exchange_table *t)
{
	return t->nended;
}
