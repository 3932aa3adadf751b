/*
 * relay_process.c - the relay's life: start, listeners, confinement, loop,
 * drain.  It never sees the identity.
 */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/signer.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/config.h"
#include "relay/messages.h"
#include "relay/relay_handed.h"
#include "relay/relay_life.h"
#include "relay/relay_process.h"
#include "relay/relay_setup.h"
#include "relay/signer_remote.h"

enum { START_MS = 30000, START_MAX = 3 << 20 };

/* The first message and the epochs that it announces, before there is a
 * loop. */
static int
receive_start(struct relay_life *life, struct err *e)
{
	struct bytes buf = BYTES_INIT(START_MAX);
	struct message_start m = { .epochs = 0 };
	struct frame f;
	int r;

	r = frame_recv(RELAY_FD_MESSAGES, &message_role_relay, &f, &buf,
	    START_MS, e);
	if (r == 0 && f.type != MESSAGE_START)
		r = err_set(e, ERR_PEER, "message %u before the start",
		    (unsigned)f.type);
	if (r == 0 &&
	    (r = message_start_decode(&m, f.body, f.len, e)) == 0)
		r = relay_life_configure(life, &m, e);
	bytes_free(&buf);
	if (r == 0)
		r = relay_handed_receive(&life->handed, RELAY_FD_MESSAGES,
		    (size_t)m.epochs, START_MS, e);
	return r;
}

/* After the listeners are bound and all files that it needs are read. */
static int
confine(struct relay_life *life, pid_t parent, struct err *e)
{
	/* Who is not root any more cannot become anybody else. */
	struct confine_opts o = { .user = geteuid() != 0 ||
			life->config->user[0] == '\0' ?
		    NULL :
		    life->config->user,
		.die_with_parent = true,
		.parent = parent };
	enum confine_mode mode = strcmp(life->config->confine, "log") == 0 ?
	    CONFINE_LOG :
	    CONFINE_KILL;
	int r;

	if ((r = confine_process(&o, e)) != 0)
		return r;
	return confine_filter(CONFINE_BASIC | CONFINE_THREADS |
		CONFINE_FILES_WRITE | CONFINE_NET | CONFINE_LOOP |
		CONFINE_FRAMES,
	    NULL, 0, mode, e);
}

static int
open_archive(struct relay_life *life, struct err *e)
{
	struct archive_opts o = { .path = life->config->archive,
		.vkey = &life->vkey,
		.base = life->s.base,
		.sync_each = life->config->sync_each };
	struct recovery rec;
	int r;

	if ((r = signer_remote_new(&life->signer, RELAY_FD_SIGNER, e)) != 0)
		return r;
	o.commit.recovery.signer = life->signer;
	o.commit.recovery.keys = relay_handed_keys(life->handed, &life->vkey,
	    &o.commit.recovery.nkeys);
	if ((r = archive_open_writer(&life->s.archive, &o, &rec, e)) != 0)
		return r;
	if (rec.quarantined > 0)
		log_warn("archive: %llu bytes that were never acknowledged "
			 "went to quarantine/",
		    (unsigned long long)rec.quarantined);
	if (rec.checkpoint_ignored)
		log_warn("archive: the checkpoint file was unreadable");
	return 0;
}

static int
exit_of(int r)
{
	switch (r) {
	case ERR_ARG:
	case ERR_PERM:
		return RELAY_EXIT_CONFIG;
	case ERR_LOCKED:
		return RELAY_EXIT_LOCKED;
	case ERR_CORRUPT:
	case ERR_AUTH:
		return RELAY_EXIT_ARCHIVE;
	default:
		return RELAY_EXIT_STORAGE;
	}
}

/* 0, or the status to leave with. */
static int
start(struct relay_life *life, pid_t parent, struct err *e)
{
	static const int keep[] = { RELAY_FD_MESSAGES, RELAY_FD_SIGNER };
	int r;

	if ((r = confine_close_fds(keep, 2, e)) != 0 ||
	    (r = secret_init(e)) != 0 || (r = receive_start(life, e)) != 0)
		return exit_of(r);
	if ((r = relay_life_listen(life, e)) != 0)
		return r == ERR_SYS ? RELAY_EXIT_LISTEN :
		    r == ERR_LIMIT  ? RELAY_EXIT_CONFIG :
				      exit_of(r);
	if ((r = confine(life, parent, e)) != 0 ||
	    (r = open_archive(life, e)) != 0 ||
	    (r = relay_life_serve(life, RELAY_FD_MESSAGES, e)) != 0)
		return exit_of(r);
	return 0;
}

int
relay_process_run(void)
{
	struct relay_life life;
	struct err e = ERR_INIT;
	pid_t parent = getppid();
	int r;

	/* Stop, drain and reload come by frame. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	log_open("relay", LOG_LEVEL_INFO, false);
	relay_life_init(&life);
	if ((r = start(&life, parent, &e)) != 0) {
		log_err(&e, "cannot start");
		relay_life_close(&life, false);
		/* At once, as close says: nothing is left to be tidied, and
		 * no tool that looks for it shall change the status. */
		_exit(r);
	}
	event_base_dispatch(life.s.base);
	r = life.has_failed ? RELAY_EXIT_STORAGE : RELAY_EXIT_OK;
	relay_life_close(&life, life.is_draining);
	if (!life.is_draining)
		_exit(r);
	return r;
}
