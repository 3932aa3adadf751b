/*
 * archive_keys.c - the epochs that captures may be sealed for, and their keys.
 */
#include <stdlib.h>

#include "archive/archive_inside.h"
#include "base/err.h"
#include "base/secret.h"

struct archive_key *
archive_keys_find(struct archive *a, uint64_t epoch)
{
	for (struct archive_key *k = a->keys; k != NULL; k = k->next)
		if (k->epoch.number == epoch)
			return k;
	return NULL;
}

void
archive_keys_sweep(struct archive *a, bool all)
{
	struct archive_key **at = &a->keys;

	while (*at != NULL) {
		struct archive_key *k = *at;

		if (!all && (!k->is_over || k->uses > 0)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		secret_free(&k->secret);
		free(k);
	}
}

/* Captures of any but the newest epoch and the one before
 * could no longer stand behind this manifest in the log. */
void
archive_keys_put(struct archive *a, struct archive_key *k)
{
	unsigned younger = 0;

	for (struct archive_key *old = a->keys; old != NULL; old = old->next)
		if (!old->is_over && ++younger > 1)
			old->is_over = true;
	k->next = a->keys;
	a->keys = k;
	archive_keys_sweep(a, false);
}

int
archive_keys_new(struct archive_key **out, const struct epoch *ep,
    const struct secret *s, struct err *e)
{
	struct archive_key *k;
	int r;

	if (s->len != SEAL_KEY_LEN)
		return err_set(e, ERR_ARG, "an epoch key of %zu bytes",
		    s->len);
	if ((r = epoch_check_key(ep, s->p, e)) != 0)
		return r;
	if ((k = calloc(1, sizeof(*k))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a key");
	k->epoch = *ep;
	if ((r = secret_copy(&k->secret, s->p, s->len, e)) != 0) {
		free(k);
		return r;
	}
	*out = k;
	return 0;
}
