/* bench_digests.c - a list of inputs and the digests they gave. */
#include "timelock/bench_digests.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct entry {
	bool		is_chain;
	unsigned	worker;
	uint64_t	hashes;
	uint8_t		digest[MEASURE_DIGEST_LEN];
};

struct bench_digests {
	struct entry	*entries;
	size_t		 n, size;
	bool		 is_different;
};

int
bench_digests_new(struct bench_digests **out, struct err *e)
{
	if ((*out = calloc(1, sizeof(**out))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for digests");
	return 0;
}

static const struct entry *
find(const struct bench_digests *d, const struct entry *what)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->entries[i].is_chain == what->is_chain &&
		    d->entries[i].worker == what->worker &&
		    d->entries[i].hashes == what->hashes)
			return &d->entries[i];
	return NULL;
}

int
bench_digests_add(struct bench_digests *d, const struct bench_config *c,
    const struct measure_result *r, struct err *e)
{
	struct entry now = { .hashes = r->hashes,
		.is_chain = c->loop == MEASURE_CHAIN ||
		    c->loop == MEASURE_BARE };

	for (unsigned i = 0; i < r->workers; i++) {
		const struct entry *before;

		now.worker = i;
		memcpy(now.digest, r->worker[i].digest, sizeof(now.digest));
		if ((before = find(d, &now)) != NULL) {
			d->is_different |= memcmp(before->digest, now.digest,
			    sizeof(now.digest)) != 0;
			continue;
		}
		if (d->n == d->size) {
			size_t size = d->size == 0 ? 64 : 2 * d->size;
			struct entry *p = reallocarray(d->entries, size,
			    sizeof(*p));

			if (p == NULL)
				return err_set(e, ERR_NOMEM,
				    "no memory for digests");
			d->entries = p;
			d->size = size;
		}
		d->entries[d->n++] = now;
	}
	return 0;
}

bool
bench_digests_are_equal(const struct bench_digests *d)
{
	return !d->is_different;
}

void
bench_digests_free(struct bench_digests **dp)
{
	struct bench_digests *d = *dp;

	if (d == NULL)
		return;
	*dp = NULL;
	free(d->entries);
	free(d);
}
