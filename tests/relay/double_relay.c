/*
 * double_relay.c - a program that the supervisor takes for its relay: it
 * speaks all frames of relay/messages.h and serves nobody.
 *
 * Files that change it: "refuse" (a number: exit with it), "deaf" (say no
 * longer that it lives), "unready" (never say that it listens), "silent"
 * (publish nothing), "stubborn" (do not stop), "renew" (ask for another
 * certificate, once), "babble" (break the protocol, once), "lingers" (close
 * long before it ends).
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/note.h"
#include "archive/signer.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/secret.h"
#include "relay/config.h"
#include "relay/messages.h"
#include "relay/relay_process.h"
#include "relay/signer_remote.h"
#include "tests/relay/double_folder.h"
#include "transport/leaf_cert.h"

#define LOG	"relay.log"

enum { TURN_MS = 50, LINGER_US = 800 * 1000 };

static struct signer *signer;

static void
fail(const struct err *e)
{
	double_folder_log(LOG, "fault %s", e->msg);
	exit(1);
}

static void
say(uint32_t type, const void *body, size_t n)
{
	const struct frame f = { .type = type, .body = body, .len = n,
		.fd = -1 };
	struct err e = ERR_INIT;

	if (frame_send(RELAY_FD_MESSAGES, &f, &e) != 0)
		fail(&e);
}

static void
ask_leaf(void)
{
	uint8_t pub[32];
	struct err e = ERR_INIT;

	if (secret_fill_random(pub, sizeof(pub), &e) != 0)
		fail(&e);
	say(MESSAGE_LEAF_PUB, pub, sizeof(pub));
}

static void
say_ready(void)
{
	struct message_ready m = { .outer = { { "127.0.0.1:1", 11 } },
		.nouter = 1 };
	struct bytes b = BYTES_INIT(4096);
	struct err e = ERR_INIT;

	if (message_ready_encode(&m, &b, &e) != 0)
		fail(&e);
	say(MESSAGE_READY, b.p, b.len);
	bytes_free(&b);
}

static void
log_texts(const char *what, const struct frame *f)
{
	struct message_start m;
	struct config *c = NULL;
	struct err e = ERR_INIT;

	if (message_start_decode(&m, f->body, f->len, &e) != 0 ||
	    config_new(&c, &e) != 0 ||
	    config_load_text(c, m.config.p, m.config.n, &e) != 0)
		fail(&e);
	double_folder_log(LOG, "%s pid %ld origin %s permits %" PRIu64
	    " tokens %zu", what, (long)getpid(), c->origin, c->permits,
	    m.tokens.n);
	config_free(&c);
}

/* The tree of a relay that comes back is where the signer is. */
static void
open_signer(void)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct merkle empty;
	struct err e = ERR_INIT;
	int r;

	if (signer_remote_new(&signer, RELAY_FD_SIGNER, &e) != 0)
		fail(&e);
	merkle_init(&empty);
	r = signer_last(signer, &note, &e);
	if (r == ERR_NOENT)
		r = signer_resume(signer, &empty, NULL, 0, &e);
	if (r != 0)
		fail(&e);
	bytes_free(&note);
}

/* The second line of a note is the tree's size. */
static void
log_signed(void)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct merkle_hash leaf = { { 0 } };
	struct err e = ERR_INIT;
	const char *line;

	if (signer_extend(signer, &leaf, 1, &note, &e) != 0 ||
	    bytes_terminate(&note, &e) != 0)
		fail(&e);
	line = strchr((const char *)note.p, '\n');
	double_folder_log(LOG, "signed %ld",
	    line == NULL ? -1 : strtol(line + 1, NULL, 10));
	bytes_free(&note);
}

static void
take_epoch(const struct frame *f)
{
	struct bytes b = BYTES_INIT(64);
	struct message_epoch m;
	struct err e = ERR_INIT;
	char hex[65];

	if (message_epoch_decode(&m, f->body, f->len, &e) != 0)
		fail(&e);
	(void)sodium_bin2hex(hex, sizeof(hex), m.key.p, m.key.n);
	double_folder_log(LOG, "epoch %" PRIu64 " from %" PRId64 " to %" PRId64
	    " key %s", m.number, m.not_before, m.not_after, hex);
	if (double_folder_has("silent"))
		return;
	log_signed();
	if (message_published_encode(m.number, &b, &e) != 0)
		fail(&e);
	say(MESSAGE_PUBLISHED, b.p, b.len);
	bytes_free(&b);
}

static void
take_start(const struct frame *f)
{
	const long refuse = double_folder_number("refuse");

	log_texts("start", f);
	if (refuse >= 0)
		exit((int)refuse);
	open_signer();
	ask_leaf();
	if (!double_folder_has("unready"))
		say_ready();
}

static void
take_progress(const struct frame *f)
{
	struct message_generator m;
	struct err e = ERR_INIT;

	if (message_generator_decode(&m, f->body, f->len, &e) != 0)
		fail(&e);
	double_folder_log(LOG, "progress %.*s %" PRIu64 "/%" PRIu64,
	    (int)m.phase.n, m.phase.p, m.done, m.total);
}

static void
take(const struct frame *f)
{
	switch (f->type) {
	case MESSAGE_START:
		take_start(f);
		break;
	case MESSAGE_RELOAD:
		log_texts("reload", f);
		break;
	case MESSAGE_LEAF:
		double_folder_log(LOG, "leaf of %s length",
		    f->len == LEAF_CERT_LEN ? "the right" : "another");
		break;
	case MESSAGE_EPOCH:
		take_epoch(f);
		break;
	case MESSAGE_GENERATOR:
		take_progress(f);
		break;
	case MESSAGE_STOP:
		double_folder_log(LOG, "stop");
		if (double_folder_has("stubborn"))
			break;
		say(MESSAGE_DRAINED, NULL, 0);
		if (double_folder_has("lingers")) {
			close(RELAY_FD_MESSAGES);
			(void)usleep(LINGER_US);
		}
		exit(0);
	}
}

static void
idle(void)
{
	if (!double_folder_has("deaf"))
		say(MESSAGE_ALIVE, NULL, 0);
	if (double_folder_has("renew")) {
		double_folder_remove("renew");
		ask_leaf();
	}
	if (double_folder_has("babble")) {
		double_folder_remove("babble");
		say(MESSAGE_START, NULL, 0);
	}
}

int
main(void)
{
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct err e = ERR_INIT;
	struct frame f;
	int r;

	if (secret_init(&e) != 0)
		fail(&e);
	for (;;) {
		r = frame_recv(RELAY_FD_MESSAGES, &message_role_relay, &f,
		    &buf, TURN_MS, &e);
		if (r == 0)
			take(&f);
		else if (r == ERR_TIMEOUT)
			idle();
		else
			fail(&e);
	}
}
