/*
 * relay_life.c - putting the parts together and taking them apart.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "archive/signer.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "relay/messages.h"
#include "relay/policy.h"
#include "relay/redact.h"
#include "relay/relay_carrier.h"
#include "relay/relay_epochs.h"
#include "relay/relay_handed.h"
#include "relay/relay_life.h"
#include "relay/relay_setup.h"
#include "relay/token_file.h"
#include "relay/upstream.h"
#include "transport/exchange_server.h"
#include "transport/http_listener.h"
#include "transport/leaf_cert.h"
#include "transport/tls_context.h"

enum {
	TICK_MS = 250,
	ALIVE_MS = 5000,
	LEAF_MS = 24 * 3600 * 1000,	/* a fresh leaf every day */
	/* For readers, when draining: over before the supervisor kills
	 * (SUPERVISOR_STOP_MS). */
	ANSWER_MS = 15000,
	/* The last of an answer is on its way when its request is over; a
	 * client that has gone never confirms it. */
	FLUSH_MS = 5000,
};

void
relay_life_init(struct relay_life *l)
{
	int i;

	relay_rest_setup();
	memset(l, 0, sizeof(*l));
	l->s.clock = clock_system();
	for (i = 0; i < SERVICE_STAGES; i++)
		metrics_seconds_init(&l->s.stages[i]);
}

/* ---- start ---- */

int
relay_life_listen(struct relay_life *l, struct err *e)
{
	struct admission_limits al;
	struct upstream_limits ul;
	struct upstream_opts o = { .clock = l->s.clock,
		.policy = l->policy,
		.ca_file = l->config->ca_file,
		.dns_servers = (const char *const *)l->config->dns_servers.at,
		.ndns_servers = l->config->dns_servers.n };
	int r;

	if ((l->s.base = o.base = event_base_new()) == NULL)
		return err_set(e, ERR_NOMEM, "no event loop");
	relay_setup_admission(&al, l->config);
	relay_setup_upstream(&ul, l->config);
	if ((r = admission_new(&l->s.admission, l->s.clock, &al, e)) != 0 ||
	    (r = upstream_new(&l->s.upstream, &o, &ul, e)) != 0)
		return r;
	l->status.s = &l->s;
	l->status.since_ms = clock_mono_ms(l->s.clock);
	return relay_listen_bind(l, e);
}

static int
send_message(struct relay_life *l, uint32_t type, const struct bytes *body,
    struct err *e)
{
	struct frame f = { .type = type, .fd = -1 };

	if (body != NULL) {
		f.body = body->p;
		f.len = body->len;
	}
	return frame_peer_send(l->supervisor, &f, e);
}

/* A fresh key for the TLS leaf; its public half goes to be certified. */
static int
ask_leaf(struct relay_life *l, struct err *e)
{
	uint8_t pub[LEAF_CERT_PUB_LEN];
	struct bytes body = BYTES_INIT(sizeof(pub));
	int r;

	secret_free(&l->seed);
	if ((r = secret_random(&l->seed, TLS_KEY_LEN, e)) == 0 &&
	    (r = tls_context_leaf_pub(l->seed, pub, e)) == 0 &&
	    (r = bytes_append(&body, pub, sizeof(pub), e)) == 0)
		r = send_message(l, MESSAGE_LEAF_PUB, &body, e);
	l->leaf_ms = clock_mono_ms(l->s.clock);
	bytes_free(&body);
	return r;
}

static int
say_ready(struct relay_life *l, struct err *e)
{
	struct bytes body = BYTES_INIT(64 << 10);
	struct message_ready m;
	int r;

	relay_listen_ready(l, &m);
	if ((r = message_ready_encode(&m, &body, e)) == 0)
		r = send_message(l, MESSAGE_READY, &body, e);
	l->is_ready = r == 0;
	bytes_free(&body);
	return r;
}

static int
take_leaf(struct relay_life *l, const struct frame *f, struct err *e)
{
	struct tls_context *ctx;
	int r;

	if (l->seed == NULL)
		return err_set(e, ERR_PEER, "a leaf that nobody asked for");
	if ((r = tls_context_new_relay(&ctx, f->body, f->len, l->seed, e)) !=
	    0)
		return r;
	secret_free(&l->seed);
	tls_context_free(&l->s.leaf);
	l->s.leaf = ctx;
	return l->is_ready ? 0 : say_ready(l, e);
}

/* ---- messages ---- */

static int
take_epoch(struct relay_life *l, const struct frame *f, struct err *e)
{
	struct message_epoch m;
	int r;

	if ((r = message_epoch_decode(&m, f->body, f->len, e)) != 0)
		return r;
	if ((r = relay_epochs_add(l->epochs, &m, e)) != 0) {
		log_err(e, "epoch %llu", (unsigned long long)m.number);
		r = 0;		/* its absence shows in the state */
	}
	return r;
}

static int
take_generator(struct relay_life *l, const struct frame *f, struct err *e)
{
	struct relay_generator *g = &l->status.generator;
	struct message_generator m;
	size_t n;
	int r;

	if ((r = message_generator_decode(&m, f->body, f->len, e)) != 0)
		return r;
	n = m.phase.n < sizeof(g->phase) ? m.phase.n : sizeof(g->phase) - 1;
	memcpy(g->phase, m.phase.p, n);
	g->phase[n] = '\0';
	g->is_known = true;
	g->done = m.done;
	g->total = m.total;
	g->rate_hps = (double)m.rate_mhps / 1000;
	g->eta_s = m.eta_s;
	g->elapsed_s = m.elapsed_s;
	g->restarts = m.restarts;
	g->recheck_errors = m.recheck_errors;
	g->heard_ms = clock_mono_ms(l->s.clock);
	admission_set_wait_s(l->s.admission, m.eta_s);
	return 0;
}

static int
take_reload(struct relay_life *l, const struct frame *f, struct err *e)
{
	struct message_start m;
	int r;

	if ((r = message_start_decode(&m, f->body, f->len, e)) == 0)
		relay_life_reload(l, &m);
	return r;
}

static int
take_stop(struct relay_life *l)
{
	log_info("draining: requests under way: %llu",
	    (unsigned long long)l->s.fetches);
	l->is_draining = true;
	l->drain_ms = l->done_ms = clock_mono_ms(l->s.clock);
	relay_epochs_drain(l->epochs);
	relay_listen_drain(l);
	return 0;
}

static int
take_message(struct relay_life *l, const struct frame *f, struct err *e)
{
	switch (f->type) {
	case MESSAGE_LEAF:
		return take_leaf(l, f, e);
	case MESSAGE_EPOCH:
		return take_epoch(l, f, e);
	case MESSAGE_GENERATOR:
		return take_generator(l, f, e);
	case MESSAGE_RELOAD:
		return take_reload(l, f, e);
	case MESSAGE_STOP:
		return take_stop(l);
	default:
		return err_set(e, ERR_PEER, "message %u twice",
		    (unsigned)f->type);
	}
}

static void
give_up(struct relay_life *l, const struct err *why)
{
	log_err(why, "the supervisor");
	l->has_failed = true;
	event_base_loopbreak(l->s.base);
}

static void
relay_on_frame(struct frame_peer *p, const struct frame *f, void *arg)
{
	struct relay_life *l = arg;
	struct err e = ERR_INIT;

	(void)p;
	if (take_message(l, f, &e) != 0)
		give_up(l, &e);
}

static void
relay_on_end(struct frame_peer *p, const struct err *why, void *arg)
{
	struct relay_life *l = arg;

	(void)p;
	l->is_draining = false;		/* stop at once */
	if (why->code != ERR_EOF)
		give_up(l, why);
	else
		event_base_loopbreak(l->s.base);
}

static void
relay_on_published(uint64_t number, void *arg)
{
	struct bytes body = BYTES_INIT(64);
	struct relay_life *l = arg;
	struct err e = ERR_INIT;

	if (message_published_encode(number, &body, &e) != 0 ||
	    send_message(l, MESSAGE_PUBLISHED, &body, &e) != 0)
		give_up(l, &e);
	bytes_free(&body);
}

/* ---- time ---- */

static bool
is_drained(struct relay_life *l, uint64_t now)
{
	uint64_t most = l->config->fetch_ms + l->config->publish_ms +
	    ANSWER_MS;

	if (!l->is_draining)
		return false;
	if (l->s.fetches > 0)
		l->done_ms = now;
	else if (relay_listen_is_flushed(l) || now - l->done_ms >= FLUSH_MS)
		return true;
	return now - l->drain_ms >= most;
}

static void
relay_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct relay_life *l = arg;
	uint64_t now = clock_mono_ms(l->s.clock);
	struct admission_counts held;
	struct err e = ERR_INIT;

	(void)fd;
	(void)what;
	admission_counts(l->s.admission, &held);
	(void)relay_rest_turn(&l->rest, l->s.fetches + held.response_bytes,
	    now);
	if (is_drained(l, now)) {
		event_base_loopbreak(l->s.base);
		return;
	}
	if (now - l->leaf_ms >= LEAF_MS && ask_leaf(l, &e) != 0)
		give_up(l, &e);
	else if (now - l->alive_ms >= ALIVE_MS) {
		l->alive_ms = now;
		if (send_message(l, MESSAGE_ALIVE, NULL, &e) != 0)
			give_up(l, &e);
	}
}

int
relay_life_serve(struct relay_life *l, int fd, struct err *e)
{
	struct frame_peer_cbs cbs = { relay_on_frame, relay_on_end, l };
	struct timeval tick = { 0, TICK_MS * 1000 };
	int r;

	if ((r = relay_epochs_new(&l->epochs, &l->s,
		 l->config->fetch_ms + l->config->publish_ms,
		 relay_on_published, l, e)) != 0)
		return r;
	l->status.epochs = l->epochs;
	if ((r = frame_peer_new(&l->supervisor, l->s.base, fd,
		 &message_role_relay, &cbs, 0, e)) != 0)
		return r;
	l->tick = event_new(l->s.base, -1, EV_PERSIST, relay_on_tick, l);
	if (l->tick == NULL || event_add(l->tick, &tick) == -1)
		return err_set(e, ERR_NOMEM, "no timer");
	relay_handed_give(&l->handed, l->epochs);
	return ask_leaf(l, e);
}

/* ---- end ---- */

static void
close_archive(struct relay_life *l, bool is_clean)
{
	struct err e = ERR_INIT;

	if (l->s.archive == NULL)
		return;
	if (!is_clean)
		return;		/* the next start recovers */
	if (archive_close(&l->s.archive, &e) != 0) {
		log_err(&e, "closing the archive");
		l->has_failed = true;
	} else if (send_message(l, MESSAGE_DRAINED, NULL, &e) != 0)
		log_warn_err(&e, "the supervisor");
}

void
relay_life_close(struct relay_life *l, bool is_clean)
{
	if (l->outer != NULL)
		exchange_server_free(&l->outer);
	relay_direct_free(&l->direct);
	http_listener_free(&l->metrics);
	close_archive(l, is_clean);
	if (!is_clean)
		return;		/* the process ends here and now */
	frame_peer_free(&l->supervisor);
	relay_epochs_free(&l->epochs);
	relay_handed_free(&l->handed);
	upstream_free(&l->s.upstream);
	admission_free(&l->s.admission);
	signer_free(&l->signer);
	tls_context_free(&l->s.leaf);
	secret_free(&l->seed);
	token_file_free(&l->s.tokens);
	policy_free(&l->policy);
	redact_free(&l->redact);
	config_free(&l->config);
	event_free(l->tick);
	event_base_free(l->s.base);
}
