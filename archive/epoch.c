/*
 * epoch.c - the archive's view of a puzzle manifest.
 */
#include <sodium.h>
#include <string.h>

#include "archive/epoch.h"
#include "base/err.h"
#include "base/secret.h"
#include "timelock/manifest.h"
#include "timelock/wrap.h"

int
epoch_open(struct epoch *out, const uint8_t *cose, size_t n,
    const struct vkey *pin, struct err *e)
{
	struct manifest *m = NULL;
	int r;

	if ((r = manifest_open(&m, cose, n, pin, e)) != 0)
		return r;
	memset(out, 0, sizeof(*out));
	out->number = m->params.epoch;
	out->not_before = m->not_before;
	out->not_after = m->not_after;
	memcpy(out->puzzle, m->id, sizeof(out->puzzle));
	memcpy(out->salt, m->salt, sizeof(out->salt));
	memcpy(out->commit, m->commit, sizeof(out->commit));
	manifest_free(&m);
	return 0;
}

int
epoch_check_key(const struct epoch *ep, const uint8_t key[SEAL_KEY_LEN],
    struct err *e)
{
	uint8_t commit[WRAP_COMMIT_LEN];
	int r = 0;

	wrap_commit(commit, key, ep->salt);
	if (sodium_memcmp(commit, ep->commit, sizeof(commit)) != 0)
		r = err_set(e, ERR_AUTH, "the key is not that of epoch %llu",
		    (unsigned long long)ep->number);
	WIPE(commit);
	return r;
}
