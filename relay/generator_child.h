/*
 * generator_child.h - the process that makes the next puzzle: one exec of
 * `amber-timelock generate --fd 3` for one puzzle.
 *
 * It gets everything by its command line, which holds nothing secret, and
 * answers by frames of timelock/generator_wire.h.  Notes go to the log.
 */
#ifndef AMBER_RELAY_GENERATOR_CHILD_H
#define AMBER_RELAY_GENERATOR_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct config;
struct err;
struct event_base;
struct generator_child;
struct generator_progress;
struct manifest;
struct secret;

struct generator_child_cbs {
	void	(*on_progress)(const struct generator_progress *p, void *arg);
	/* The callee takes what it sets to NULL. */
	void	(*on_puzzle)(struct manifest **m, struct secret **key,
			void *arg);
	/* Once, last; why->code 0: after a puzzle.  ERR_LIMIT, ERR_ARG and
	 * ERR_UNSUPPORTED are its own refusals.  The callee frees it. */
	void	(*on_gone)(const struct err *why, void *arg);
	void	*arg;
};

/* program: of amber-timelock; c is read during the call only. */
int	generator_child_start(struct generator_child **out,
	struct event_base *base, const char *program, const struct config *c,
	uint64_t epoch, const struct generator_child_cbs *cbs, struct err *e);
/* Kills it if it lives.  *gp may be NULL. */
void	generator_child_free(struct generator_child **gp);
/* Asks it to end; on_gone comes with ERR_CANCEL. */
void	generator_child_stop(struct generator_child *g);
/* Nothing of it is worth waiting for: on_gone comes soon. */
void	generator_child_kill(struct generator_child *g);
bool	generator_child_reap(struct generator_child *g, pid_t pid, int status);

/* The command line; at[] ends with NULL, freed by generator_child_args_free.
 * Apart for tests. */
enum { GENERATOR_CHILD_ARGS = 40 };
struct generator_child_args {
	char	*at[GENERATOR_CHILD_ARGS];
};
int	generator_child_args_make(struct generator_child_args *a,
	const char *program, const struct config *c, uint64_t epoch,
	struct err *e);
void	generator_child_args_free(struct generator_child_args *a);

#endif
