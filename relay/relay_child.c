/*
 * relay_child.c - see relay_child.h.  It must not decide anything.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/child.h"
#include "relay/schedule.h"
#include "relay/relay_child.h"
#include "relay/signer_serve.h"
#include "timelock/generator.h"

enum {
	PRIORITY = 1,		/* after the signer, before the generator */
	OOM = 0,
};

struct relay_child {
	struct child		*child;
	struct signer_serve	*serve;
	struct relay_child_cbs	 cbs;
	struct err		 why;		/* a fault found here */
	uint64_t		 heard_ms;
	bool			 is_ready, is_drained;
};

/* ---- what it says ---- */

static int
take_ready(struct relay_child *r, const struct frame *f, struct err *e)
{
	struct message_ready m = { 0 };
	int ret;

	if ((ret = message_ready_decode(&m, f->body, f->len, e)) != 0)
		return ret;
	r->is_ready = true;
	r->cbs.on_ready(&m, r->cbs.arg);
	return 0;
}

static int
take_published(struct relay_child *r, const struct frame *f, struct err *e)
{
	uint64_t epoch = 0;
	int ret;

	ret = message_published_decode(&epoch, f->body, f->len, e);
	if (ret == 0)
		r->cbs.on_published(epoch, r->cbs.arg);
	return ret;
}

static int
take_leaf_pub(struct relay_child *r, const struct frame *f, struct err *e)
{
	if (f->len != 32)
		return err_set(e, ERR_FORMAT, "a leaf's key of %zu bytes",
		    f->len);
	r->cbs.on_leaf_pub(f->body, r->cbs.arg);
	return 0;
}

static int
take(struct relay_child *r, const struct frame *f, struct err *e)
{
	switch (f->type) {
	case MESSAGE_LEAF_PUB:
		return take_leaf_pub(r, f, e);
	case MESSAGE_READY:
		return take_ready(r, f, e);
	case MESSAGE_PUBLISHED:
		return take_published(r, f, e);
	case MESSAGE_DRAINED:
		r->is_drained = true;
		return 0;
	default:		/* MESSAGE_ALIVE: to be heard of is all */
		return 0;
	}
}

static void
relay_child_on_frame(const struct frame *f, void *arg)
{
	struct relay_child *r = arg;

	r->heard_ms = clock_mono_ms(clock_system());
	if (take(r, f, &r->why) != 0)
		child_kill(r->child);
}

static void
relay_child_on_gone(int status, const struct err *why, void *arg)
{
	struct relay_child *r = arg;
	struct err own = r->why;	/* r is freed meanwhile */

	r->cbs.on_gone(status, r->is_drained, own.code != 0 ? &own : why,
	    r->cbs.arg);
}

/* Its committer ends then by itself, and the process with it; one that broke
 * the protocol is not waited for. */
static void
relay_child_on_signer_end(const struct err *why, void *arg)
{
	struct relay_child *r = arg;

	signer_serve_free(&r->serve);
	if (why->code == ERR_EOF)
		return;
	log_warn_err(why, "relay: its committer");
	child_kill(r->child);
}

/* ---- its life ---- */

static int
start(struct relay_child *r, struct event_base *base, char *const *argv,
    struct signer *signer, struct err *e)
{
	int signer_fd = -1, ret;
	const struct child_opts o = {
		.name = "relay",
		.argv = argv,
		.role = &message_role_supervisor,
		.priority = PRIORITY,
		.second = &signer_fd,
		.user = NULL,		/* by itself, once it has bound */
		.oom_score_adj = OOM,
		.on_frame = relay_child_on_frame,
		.on_gone = relay_child_on_gone,
		.arg = r,
	};

	if ((ret = child_start(&r->child, base, &o, e)) != 0)
		return ret;
	if ((ret = signer_serve_new(&r->serve, base, signer_fd, signer,
	    relay_child_on_signer_end, r, e)) != 0)
		close(signer_fd);
	return ret;
}

int
relay_child_start(struct relay_child **out, struct event_base *base,
    char *const *argv, struct signer *signer,
    const struct relay_child_cbs *cbs, struct err *e)
{
	struct relay_child *r;
	int ret;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a relay");
	r->cbs = *cbs;
	r->heard_ms = clock_mono_ms(clock_system());
	if ((ret = start(r, base, argv, signer, e)) != 0) {
		relay_child_free(&r);
		return ret;
	}
	*out = r;
	return 0;
}

void
relay_child_free(struct relay_child **rp)
{
	if (*rp == NULL)
		return;
	child_free(&(*rp)->child);
	signer_serve_free(&(*rp)->serve);
	free(*rp);
	*rp = NULL;
}

bool
relay_child_reap(struct relay_child *r, pid_t pid, int status)
{
	return child_reap(r->child, pid, status);
}

void
relay_child_kill(struct relay_child *r)
{
	child_kill(r->child);
}

pid_t
relay_child_pid(const struct relay_child *r)
{
	return child_pid(r->child);
}

bool
relay_child_is_ready(const struct relay_child *r)
{
	return r->is_ready;
}

uint64_t
relay_child_heard_ms(const struct relay_child *r)
{
	return r->heard_ms;
}

/* ---- what it is told ---- */

static void
send_body(struct relay_child *r, uint32_t type, struct bytes *body,
    int encoded, struct err *e)
{
	int ret = encoded;

	if (ret == 0)
		ret = child_send(r->child, type, body->p, body->len, e);
	else
		child_kill(r->child);
	if (ret != 0)
		log_warn_err(e, "relay: message %u", (unsigned)type);
	bytes_free(body);
}

static void
send_texts(struct relay_child *r, uint32_t type,
    const struct message_start *m)
{
	struct bytes body = BYTES_INIT(FRAME_MAX - FRAME_ROOM);
	struct err e = ERR_INIT;

	send_body(r, type, &body, message_start_encode(m, &body, &e), &e);
}

void
relay_child_send_start(struct relay_child *r, const struct message_start *m)
{
	send_texts(r, MESSAGE_START, m);
}

void
relay_child_send_reload(struct relay_child *r, const struct message_start *m)
{
	send_texts(r, MESSAGE_RELOAD, m);
}

void
relay_child_send_leaf(struct relay_child *r, const void *der, size_t n)
{
	/* A failure kills, and says so when it is gone. */
	(void)child_send(r->child, MESSAGE_LEAF, der, n, NULL);
}

void
relay_child_send_epoch(struct relay_child *r, const struct schedule_live *l)
{
	const struct message_epoch m = {
		.number = l->number,
		.not_before = l->not_before,
		.not_after = l->not_after,
		.cose = { l->cose.p, l->cose.len },
		.key = { l->key->p, l->key->len },
	};
	struct bytes body = BYTES_INIT(FRAME_MAX - FRAME_ROOM);
	struct err e = ERR_INIT;

	send_body(r, MESSAGE_EPOCH, &body, message_epoch_encode(&m, &body, &e),
	    &e);
}

static uint64_t
whole(double v)
{
	return v > 0 ? (uint64_t)v : 0;
}

void
relay_child_send_progress(struct relay_child *r,
    const struct generator_progress *p)
{
	const size_t n = strlen(p->phase);
	struct message_generator m = {
		.done = p->completed_hashes,
		.total = p->total_hashes,
		.rate_mhps = whole(p->rate_hps * 1000),
		.eta_s = whole(p->eta_s),
		.elapsed_s = whole(p->elapsed_s),
		.restarts = p->restarts,
		.recheck_errors = p->recheck_errors,
	};
	struct bytes body = BYTES_INIT(1024);
	struct err e = ERR_INIT;

	m.phase = (struct message_text){ p->phase, n };
	send_body(r, MESSAGE_GENERATOR, &body,
	    message_generator_encode(&m, &body, &e), &e);
}

void
relay_child_send_stop(struct relay_child *r)
{
	(void)child_send(r->child, MESSAGE_STOP, NULL, 0, NULL);
}
