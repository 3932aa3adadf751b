/*
 * worker.h - one process that computes one segment, one check or one
 * measurement, and ends.
 *
 * It is forked first and told its job afterwards, over the one descriptor it
 * keeps; by then it is pinned, confined (no dump, preferred victim of the
 * OOM killer, dies with its parent, system calls on an allow-list without
 * network and files) and has made its VM.  It holds one seed or state and
 * nothing else of the puzzle's secrets, reports, retires the VM, wipes what
 * it holds and leaves by _exit, so the kernel takes back every page.
 */
#ifndef AMBER_TIMELOCK_WORKER_H
#define AMBER_TIMELOCK_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "timelock/chain.h"
#include "timelock/wrap.h"

struct err;
struct hasher_source;

enum {
	WORKER_EXIT_OK = 0,
	WORKER_EXIT_FAILED = 1,		/* said why on stderr */
	/* ENGINE_EXIT_REFUSED: the kernel refused a JIT permission */
};

/* Public facts of the puzzle and orders; all outlive the workers. */
struct worker_env {
	const struct hasher_source *source;
	uint8_t		key[CHAIN_KEY_LEN];
	uint8_t		salt[WRAP_SALT_LEN];
	uint64_t	steps, interval;	/* of the puzzle */
	int		nice;			/* 0: as it is */
	bool		is_confined;	/* false only in tests that need files
					 * or signals in their hash */
};

/*
 * Forks a worker pinned to cpu (-1: not pinned).  *fd is the generator's end
 * of its socket; the job is sent over it.  The caller is single-threaded.
 * 0, ERR_SYS.
 */
int	worker_fork(const struct worker_env *env, int cpu, pid_t *pid, int *fd,
	struct err *e);

#endif
