/*
 * supervisor_relay.c - the supervisor's dealings with the relay: start and
 * restart, leaf certificates, epochs.  Nothing here waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/log.h"
#include "relay/child.h"
#include "relay/config.h"
#include "relay/relay_child.h"
#include "relay/relay_process.h"
#include "relay/supervisor_state.h"
#include "transport/leaf_cert.h"

/* ---- what it is told ---- */

/* The texts of MESSAGE_START; *config is freed with free(3). */
static int
make_texts(struct supervisor *s, struct message_start *m, char **config,
    char vkey[VKEY_TEXT_MAX])
{
	size_t n = 0;
	FILE *f;

	*config = NULL;
	if ((f = open_memstream(config, &n)) == NULL)
		return ERR_NOMEM;
	config_print(s->config, f);
	if (fclose(f) != 0) {
		free(*config);
		*config = NULL;
		return ERR_NOMEM;
	}
	vkey_print(identity_vkey(s->id), vkey);
	m->config = (struct message_text){ *config, n };
	m->tokens = (struct message_text){ (const char *)s->tokens.p,
		s->tokens.len };
	m->vkey = (struct message_text){ vkey, strlen(vkey) };
	return 0;
}

/* epochs: so many follow. */
static void
send_texts(struct supervisor *s, uint64_t epochs,
    void (*send)(struct relay_child *, const struct message_start *))
{
	char *config, vkey[VKEY_TEXT_MAX];
	struct message_start m;

	if (make_texts(s, &m, &config, vkey) != 0) {
		log_error("relay: no memory for its config");
		relay_child_kill(s->relay);
		return;
	}
	m.epochs = epochs;
	send(s->relay, &m);
	free(config);
}

void
supervisor_relay_reload(struct supervisor *s)
{
	if (s->relay != NULL)
		send_texts(s, 0, relay_child_send_reload);
}

/* Everything that a relay of this moment has to know. */
static void
send_all(struct supervisor *s)
{
	const struct schedule_live *l = NULL;
	uint64_t n = 0;

	while (n < MESSAGE_EPOCHS_MAX &&
	    (l = schedule_each(s->epochs, l)) != NULL)
		n++;
	send_texts(s, n, relay_child_send_start);
	l = NULL;
	while ((l = schedule_each(s->epochs, l)) != NULL)
		relay_child_send_epoch(s->relay, l);
}

void
supervisor_relay_publish(struct supervisor *s)
{
	const struct schedule_live *l;
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
	struct err e = ERR_INIT;

	if (s->relay == NULL || !relay_child_is_ready(s->relay) ||
	    !schedule_may_publish(s->epochs))
		return;
	if (schedule_publish(s->epochs, s->id, &l, &e) != 0) {
		log_err(&e, "the puzzle is lost");
		return;
	}
	clock_format_s(l->not_before, from);
	clock_format_s(l->not_after, to);
	log_info("epoch %llu: signed, %s to %s", (unsigned long long)l->number,
	    from, to);
	relay_child_send_epoch(s->relay, l);
}

/* ---- what it says ---- */

static void
relay_on_leaf_pub(const uint8_t *pub, void *arg)
{
	uint8_t der[LEAF_CERT_LEN];
	struct supervisor *s = arg;
	struct err e = ERR_INIT;

	if (leaf_cert_make(s->id, pub, clock_wall_s(clock_system()), der,
	    &e) != 0) {
		log_err(&e, "relay: no certificate for its leaf");
		relay_child_kill(s->relay);
		return;
	}
	log_info("relay: leaf certified for %d days",
	    LEAF_CERT_SPAN_S / 86400);
	relay_child_send_leaf(s->relay, der, sizeof(der));
}

static void
log_listeners(const char *what, const struct message_text *t, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		log_info("listening for %s on %.*s", what, (int)t[i].n,
		    t[i].p);
}

static void
relay_on_ready(const struct message_ready *m, void *arg)
{
	struct supervisor *s = arg;

	log_listeners("exchanges", m->outer, m->nouter);
	log_listeners("inner TLS", m->direct, m->ndirect);
	log_listeners("metrics", &m->metrics, m->metrics.n > 0);
	if (!s->was_ready)
		supervisor_notify(s, "READY=1\n");
	s->was_ready = true;
	supervisor_turn(s);
}

static void
relay_on_published(uint64_t epoch, void *arg)
{
	struct supervisor *s = arg;
	struct err e = ERR_INIT;

	if (schedule_published(s->epochs, epoch, &e) != 0) {
		log_err(&e, "relay");
		relay_child_kill(s->relay);
		return;
	}
	log_info("epoch %llu: in the archive", (unsigned long long)epoch);
	supervisor_turn(s);
}

/* Trying again would only say the same. */
static bool
is_refusal(const struct supervisor *s, int status)
{
	int code;

	if (s->was_ready || !WIFEXITED(status))
		return false;
	code = WEXITSTATUS(status);
	return code == RELAY_EXIT_CONFIG || code == RELAY_EXIT_ARCHIVE ||
	    code == RELAY_EXIT_LOCKED || code == RELAY_EXIT_LISTEN ||
	    code == CHILD_EXIT_EXEC;
}

static void
relay_on_gone(int status, bool is_drained, const struct err *why, void *arg)
{
	char text[CHILD_TEXT_MAX];
	struct supervisor *s = arg;

	child_status_text(status, text);
	relay_child_free(&s->relay);
	if (s->is_stopping) {
		s->is_drained = is_drained && WIFEXITED(status) &&
		    WEXITSTATUS(status) == RELAY_EXIT_OK;
		if (!s->is_drained)
			log_warn("relay: it %s without being drained", text);
		supervisor_turn(s);
		return;
	}
	if (why->code == ERR_EOF)
		log_error("relay: it %s", text);
	else
		log_err(why, "relay: it %s", text);
	if (is_refusal(s, status))
		/* An address may be free later: not a fault of the config. */
		supervisor_stop(s, WEXITSTATUS(status) == RELAY_EXIT_LISTEN ?
			SUPERVISOR_EXIT_FAILED : WEXITSTATUS(status));
	else
		supervisor_back_off(&s->relay_slot, "relay");
	supervisor_turn(s);
}

/* ---- its start ---- */

void
supervisor_relay_start(struct supervisor *s, uint64_t now_ms)
{
	const struct relay_child_cbs cbs = { relay_on_leaf_pub,
		relay_on_ready, relay_on_published, relay_on_gone, s };
	struct err e = ERR_INIT;

	if (s->relay != NULL || now_ms < s->relay_slot.due_ms)
		return;
	s->relay_slot.started_ms = now_ms;
	if (relay_child_start(&s->relay, s->base, s->o.relay_argv, s->signer,
	    &cbs, &e) != 0) {
		log_err(&e, "relay");
		supervisor_back_off(&s->relay_slot, "relay");
		return;
	}
	log_info("relay: process %ld", (long)relay_child_pid(s->relay));
	send_all(s);
}
