/*
 * relay_world.c - see relay_world.h.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "tests/relay/relay_world.h"
#include "tests/test_util.h"

#include "archive/archive.h"
#include "archive/seal.h"
#include "archive/signer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "relay/redact.h"
#include "relay/token_file.h"
#include "transport/leaf_cert.h"
#include "transport/tls_context.h"

static void
on_published(const struct archive_done *d, void *arg)
{
	struct relay_world *w = arg;

	assert_int_equal(d->status, 0);
	w->has_published = true;
}

void
relay_world_publish(struct relay_world *w, const struct sample_epoch *ep)
{
	struct archive_cb cb = { on_published, w };
	struct secret *key;

	w->has_published = false;
	assert_int_equal(secret_copy(&key, ep->key, SEAL_KEY_LEN, NULL), 0);
	assert_int_equal(archive_publish(w->archive, ep->cose.p, ep->cose.len,
	    key, &cb, NULL), 0);
	secret_free(&key);
}

static void
open_archive(struct relay_world *w)
{
	struct archive_opts o = { .vkey = identity_vkey(w->id),
		.base = w->rig.base, .may_create = true };
	struct err e = ERR_INIT;

	w->path = test_path(w->rig.folder, "archive");
	o.path = w->path;
	assert_int_equal(signer_local_new(&w->signer, w->id, NULL), 0);
	o.commit.recovery.signer = w->signer;
	if (archive_open_writer(&w->archive, &o, NULL, &e) != 0)
		fail_msg("%s", e.msg);
	sample_epoch_make(&w->epoch, w->id, 1);
	relay_world_publish(w, &w->epoch);
	while (!w->has_published)
		event_base_loop(w->rig.base, EVLOOP_ONCE);
}

static void
make_leaf(struct relay_world *w)
{
	uint8_t pub[LEAF_CERT_PUB_LEN], der[LEAF_CERT_LEN];
	struct secret *seed;

	assert_int_equal(secret_random(&seed, TLS_KEY_LEN, NULL), 0);
	assert_int_equal(tls_context_leaf_pub(seed, pub, NULL), 0);
	assert_int_equal(leaf_cert_make(w->id, pub,
	    clock_wall_s(clock_system()), der, NULL), 0);
	assert_int_equal(tls_context_new_relay(&w->leaf, der, sizeof(der),
	    seed, NULL), 0);
	secret_free(&seed);
	assert_int_equal(tls_context_new_pinned(&w->pin, identity_vkey(w->id),
	    clock_system(), NULL), 0);
}

void
relay_world_open(struct relay_world *w, const char *config)
{
	struct admission_limits l;
	size_t i;

	memset(w, 0, sizeof(*w));
	rig_open(&w->rig, NULL);
	assert_int_equal(identity_new(&w->id, "relay.example", NULL), 0);
	open_archive(w);
	make_leaf(w);
	assert_int_equal(config_new(&w->config, NULL), 0);
	assert_int_equal(config_load_text(w->config, config, strlen(config),
	    NULL), 0);
	assert_int_equal(redact_new(&w->redact, NULL), 0);
	for (i = 0; i < w->config->redact.n; i++)
		assert_int_equal(redact_add(w->redact,
		    w->config->redact.at[i],
		    strlen(w->config->redact.at[i]), NULL), 0);
	l = (struct admission_limits){ (unsigned)w->config->permits,
		w->config->response_memory,
		w->config->response_body + 2 * w->config->head,
		w->config->request_memory };
	w->s = (struct service){ .base = w->rig.base, .clock = clock_system(),
		.config = w->config, .upstream = w->rig.up,
		.archive = w->archive, .redact = w->redact, .leaf = w->leaf,
		.epoch = 1, .nepochs = 1 };
	w->s.epochs[0] = (struct answer_epoch){ 1, w->epoch.epoch.not_before,
		w->epoch.epoch.not_after, { 0 } };
	memcpy(w->s.epochs[0].puzzle, w->epoch.epoch.puzzle, SEAL_ID_LEN);
	for (i = 0; i < SERVICE_STAGES; i++)
		metrics_seconds_init(&w->s.stages[i]);
	assert_int_equal(admission_new(&w->s.admission, clock_system(), &l,
	    NULL), 0);
}

void
relay_world_close(struct relay_world *w)
{
	struct err e = ERR_INIT;

	if (archive_close(&w->archive, &e) != 0)
		fail_msg("%s", e.msg);
	/* Every fetch is over and every permit came back (asserted). */
	assert_int_equal(w->s.fetches, 0);
	admission_free(&w->s.admission);
	token_file_free(&w->s.tokens);
	sample_epoch_free(&w->epoch);
	signer_free(&w->signer);
	tls_context_free(&w->leaf);
	tls_context_free(&w->pin);
	redact_free(&w->redact);
	config_free(&w->config);
	identity_free(&w->id);
	free(w->path);
	rig_close(&w->rig);
}
