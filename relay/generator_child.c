/*
 * generator_child.c - see generator_child.h.  It must not look into a puzzle
 * nor keep a key.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/child.h"
#include "relay/config.h"
#include "relay/generator_child.h"
#include "timelock/generator_wire.h"
#include "timelock/manifest.h"
#include "timelock/timelock_cli.h"

enum {
	PRIORITY = 2,		/* after the signer and the relay */
	OOM = -500,		/* a day's work is in it */
};

struct generator_child {
	struct child			*child;
	struct generator_child_cbs	 cbs;
	struct err			 why;	/* its own word */
	bool				 has_puzzle, is_stopping;
};

/* ---- the command line ---- */

static int
add(struct generator_child_args *a, const char *name, const char *value,
    struct err *e)
{
	size_t n = 0;

	while (a->at[n] != NULL)
		n++;
	assert(n + 3 <= GENERATOR_CHILD_ARGS);
	if ((a->at[n] = strdup(name)) == NULL ||
	    (value != NULL && (a->at[n + 1] = strdup(value)) == NULL))
		return err_set(e, ERR_NOMEM, "no memory for a command line");
	return 0;
}

static int
add_number(struct generator_child_args *a, const char *name, uint64_t v,
    const char *unit, struct err *e)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64 "%s", v, unit);
	return add(a, name, text, e);
}

/* 0 leaves the choice to the generator. */
static int
add_if_given(struct generator_child_args *a, const char *name, uint64_t v,
    struct err *e)
{
	return v == 0 ? 0 : add_number(a, name, v, "", e);
}

static int
add_rules(struct generator_child_args *a, const struct config *c,
    struct err *e)
{
	int r;

	if ((r = add_number(a, "--epoch-length", c->epoch_ms, "ms", e)) != 0 ||
	    (r = add_number(a, "--min-sealed", c->min_sealed_ms, "ms", e)) !=
	    0 ||
	    (r = add(a, "--recheck", "auto", e)) != 0)
		return r;
	if (c->log_json && (r = add(a, "--log-json", NULL, e)) != 0)
		return r;
	return config_is_production(c) ? 0 : add(a, "--demo", NULL, e);
}

static int
add_all(struct generator_child_args *a, const struct config *c,
    uint64_t epoch, struct err *e)
{
	int r;

	if ((r = add(a, "generate", NULL, e)) != 0 ||
	    (r = add(a, "--fd", "3", e)) != 0 ||
	    (r = add(a, "--origin", c->origin, e)) != 0 ||
	    (r = add_number(a, "--epoch", epoch, "", e)) != 0 ||
	    (r = add_number(a, "--segments", c->segments, "", e)) != 0 ||
	    (r = add_number(a, "--steps", c->steps, "", e)) != 0 ||
	    (r = add(a, "--mode", c->mode, e)) != 0 ||
	    (r = add_if_given(a, "--milestone", c->milestone, e)) != 0 ||
	    (r = add_if_given(a, "--workers", c->workers, e)) != 0 ||
	    (r = add_if_given(a, "--first-cpu", c->first_cpu, e)) != 0 ||
	    (c->algorithm[0] != '\0' &&
		(r = add(a, "--algorithm", c->algorithm, e)) != 0))
		return r;
	return add_rules(a, c, e);
}

int
generator_child_args_make(struct generator_child_args *a, const char *program,
    const struct config *c, uint64_t epoch, struct err *e)
{
	int r;

	memset(a, 0, sizeof(*a));
	if ((r = add(a, program, NULL, e)) != 0 ||
	    (r = add_all(a, c, epoch, e)) != 0)
		generator_child_args_free(a);
	return r;
}

void
generator_child_args_free(struct generator_child_args *a)
{
	size_t i;

	for (i = 0; i < GENERATOR_CHILD_ARGS; i++) {
		free(a->at[i]);
		a->at[i] = NULL;
	}
}

/* ---- its frames ---- */

static int
take_progress(struct generator_child *g, const struct frame *f, struct err *e)
{
	struct generator_wire_progress p;
	int r;

	if ((r = generator_wire_get_progress(f, &p, e)) == 0)
		g->cbs.on_progress(&p.progress, g->cbs.arg);
	return r;
}

/* It has said it on stderr already. */
static int
take_note(const struct frame *f, struct err *e)
{
	char text[GENERATOR_WIRE_TEXT_MAX + 1];
	int r;

	if ((r = generator_wire_get_note(f, text, e)) == 0)
		log_debug("generator: %s", text);
	return r;
}

static int
take_result(struct generator_child *g, const struct frame *f, struct err *e)
{
	struct manifest *m = NULL;
	struct secret *key = NULL;
	int r;

	if (g->has_puzzle)
		return err_set(e, ERR_PEER, "a second puzzle");
	if ((r = generator_wire_get_result(f, &m, &key, e)) == 0) {
		g->has_puzzle = true;
		g->cbs.on_puzzle(&m, &key, g->cbs.arg);
	}
	manifest_free(&m);
	secret_free(&key);
	return r;
}

static void
generator_child_on_frame(const struct frame *f, void *arg)
{
	struct generator_child *g = arg;
	struct err e = ERR_INIT;
	int r = 0;

	if (f->type == GENERATOR_WIRE_PROGRESS)
		r = take_progress(g, f, &e);
	else if (f->type == GENERATOR_WIRE_NOTE)
		r = take_note(f, &e);
	else if (f->type == GENERATOR_WIRE_RESULT)
		r = take_result(g, f, &e);
	else
		r = generator_wire_get_failed(f, &g->why, &e);
	if (r == 0)
		return;
	g->why = e;
	child_kill(g->child);
}

static void
generator_child_on_gone(int status, const struct err *end, void *arg)
{
	struct generator_child *g = arg;
	char text[CHILD_TEXT_MAX];
	struct err why = g->why;

	child_status_text(status, text);
	if (g->has_puzzle)
		err_clear(&why);
	else if (g->is_stopping)
		(void)err_set(&why, ERR_CANCEL, "stopped");
	else if (why.code == 0 && end->code != ERR_EOF)
		(void)err_set(&why, ERR_PEER, "%s, and %s", end->msg, text);
	else if (why.code == 0 && WIFEXITED(status) &&
	    WEXITSTATUS(status) == TIMELOCK_EXIT_USAGE)
		(void)err_set(&why, ERR_ARG, "it does not understand its "
		    "command line: is it this amberd's amber-timelock?");
	else if (why.code == 0)
		(void)err_set(&why, ERR_PEER, "it %s before it was done",
		    text);
	g->cbs.on_gone(&why, g->cbs.arg);
}

/* ---- its life ---- */

/* Started as root the supervisor stays it, so that the identity's file is out
 * of the reach of whom its children become. */
static const char *
user_of(const struct config *c)
{
	return geteuid() == 0 && c->user[0] != '\0' ? c->user : NULL;
}

static int
start(struct generator_child *g, struct event_base *base,
    const struct config *c, char *const *argv, struct err *e)
{
	const struct child_opts o = {
		.name = "generator",
		.argv = argv,
		.role = &generator_wire_to_supervisor,
		.priority = PRIORITY,
		.user = user_of(c),
		.oom_score_adj = OOM,
		.on_frame = generator_child_on_frame,
		.on_gone = generator_child_on_gone,
		.arg = g,
	};

	return child_start(&g->child, base, &o, e);
}

int
generator_child_start(struct generator_child **out, struct event_base *base,
    const char *program, const struct config *c, uint64_t epoch,
    const struct generator_child_cbs *cbs, struct err *e)
{
	struct generator_child_args args;
	struct generator_child *g;
	int r;

	if ((g = calloc(1, sizeof(*g))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a generator");
	g->cbs = *cbs;
	if ((r = generator_child_args_make(&args, program, c, epoch, e)) == 0) {
		r = start(g, base, c, args.at, e);
		generator_child_args_free(&args);
	}
	if (r != 0) {
		generator_child_free(&g);
		return r;
	}
	*out = g;
	return 0;
}

void
generator_child_free(struct generator_child **gp)
{
	if (*gp == NULL)
		return;
	child_free(&(*gp)->child);
	free(*gp);
	*gp = NULL;
}

void
generator_child_stop(struct generator_child *g)
{
	static const uint8_t empty[] = { 0xa0 };	/* an empty map */

	g->is_stopping = true;
	/* One that does not take it is killed by that. */
	(void)child_send(g->child, GENERATOR_WIRE_STOP, empty, sizeof(empty),
	    NULL);
}

void
generator_child_kill(struct generator_child *g)
{
	g->is_stopping = true;
	child_kill(g->child);
}

bool
generator_child_reap(struct generator_child *g, pid_t pid, int status)
{
	return child_reap(g->child, pid, status);
}
