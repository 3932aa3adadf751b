/*
 * relay_handed.c - see relay_handed.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "archive/epoch.h"
#include "archive/recovery.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/messages.h"
#include "relay/relay_epochs.h"
#include "relay/relay_handed.h"

struct handed {
	struct message_epoch	 m;	/* points into the next two */
	struct bytes		 cose;
	struct secret		*key;
};

struct relay_handed {
	struct handed		 at[MESSAGE_EPOCHS_MAX];
	struct recovery_key	 keys[MESSAGE_EPOCHS_MAX];
	size_t			 n;
};

/* A copy of what is in a frame. */
static int
take(struct handed *h, const struct frame *f, struct err *e)
{
	int r;

	if (f->type != MESSAGE_EPOCH)
		return err_set(e, ERR_PEER,
		    "message %u where an epoch was to come",
		    (unsigned)f->type);
	if ((r = message_epoch_decode(&h->m, f->body, f->len, e)) != 0)
		return r;
	bytes_init(&h->cose, h->m.cose.n);
	if ((r = bytes_append(&h->cose, h->m.cose.p, h->m.cose.n, e)) != 0 ||
	    (r = secret_copy(&h->key, h->m.key.p, h->m.key.n, e)) != 0)
		return r;
	h->m.cose.p = h->cose.p;
	h->m.key.p = h->key->p;
	return 0;
}

int
relay_handed_receive(struct relay_handed **out, int fd, size_t n, int wait_ms,
    struct err *e)
{
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct relay_handed *h;
	struct frame f;
	int r = 0;

	assert(n <= MESSAGE_EPOCHS_MAX);
	if ((h = calloc(1, sizeof(*h))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for epochs");
	while (r == 0 && h->n < n)
		if ((r = frame_recv(fd, &message_role_relay, &f, &buf, wait_ms,
			 e)) == 0)
			r = take(&h->at[h->n++], &f, e);
	bytes_free(&buf);
	if (r != 0) {
		err_ctx(e, "the epochs that go on");
		relay_handed_free(&h);
	}
	*out = h;
	return r;
}

const struct recovery_key *
relay_handed_keys(struct relay_handed *h, const struct vkey *pin, size_t *n)
{
	struct epoch ep;

	*n = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct handed *one = &h->at[i];

		/* relay_epochs tells of those that are no good. */
		if (epoch_open(&ep, one->cose.p, one->cose.len, pin, NULL) !=
			0 ||
		    epoch_check_key(&ep, one->key->p, NULL) != 0)
			continue;
		memcpy(h->keys[*n].puzzle, ep.puzzle, sizeof(ep.puzzle));
		h->keys[(*n)++].key = one->key->p;
	}
	return h->keys;
}

void
relay_handed_give(struct relay_handed **hp, struct relay_epochs *ep)
{
	struct relay_handed *h = *hp;
	struct err e = ERR_INIT;

	for (size_t i = 0; h != NULL && i < h->n; i++)
		if (relay_epochs_add(ep, &h->at[i].m, &e) != 0)
			log_err(&e, "epoch %llu",
			    (unsigned long long)h->at[i].m.number);
	relay_handed_free(hp);
}

void
relay_handed_free(struct relay_handed **hp)
{
	struct relay_handed *h = *hp;

	if (h == NULL)
		return;
	for (size_t i = 0; i < h->n; i++) {
		bytes_free(&h->at[i].cose);
		secret_free(&h->at[i].key);
	}
	free(h);
	*hp = NULL;
}
