/*
 * puzzle_double.c - see puzzle_double.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "tests/relay/puzzle_double.h"
#include "timelock/manifest.h"

static int
fill(struct manifest *m, struct err *e)
{
	int r;

	if ((r = secret_fill_random(m->seed, sizeof(m->seed), e)) != 0 ||
	    (r = secret_fill_random(m->wraps[0], WRAP_LEN, e)) != 0 ||
	    (r = secret_fill_random(manifest_tag(m, 1, 1), CHAIN_TAG_LEN,
		e)) != 0)
		return r;
	(void)snprintf(m->software, sizeof(m->software), "a test's double");
	return 0;
}

void
puzzle_double_make(const char *origin, uint64_t epoch, struct manifest **m,
    struct secret **key)
{
	struct manifest_params p = { .epoch = epoch,
		.algorithm = MANIFEST_RX0, .segments = 1, .steps = 1,
		.interval = 1 };
	struct err e = ERR_INIT;

	*m = NULL;
	*key = NULL;
	(void)snprintf(p.origin, sizeof(p.origin), "%s", origin);
	if (secret_fill_random(p.key, sizeof(p.key), &e) != 0 ||
	    manifest_new(m, &p, &e) != 0 || fill(*m, &e) != 0 ||
	    secret_random(key, WRAP_PLAIN_LEN, &e) != 0) {
		err_print(&e, "puzzle_double");
		abort();
	}
	wrap_commit((*m)->commit, (*key)->p, (*m)->salt);
}
