/*
 * relay_process.h - the process that talks to strangers.
 *
 * Started by the supervisor by fork and exec of amberd itself; fd 3 is the
 * socket of messages, fd 4 the signer's.  It holds no identity: its TLS leaf
 * has a key of its own that the supervisor certified.  It waits for
 * MESSAGE_START and the epochs that go on, binds its listeners, becomes its
 * user, confines itself, opens the archive, and serves until MESSAGE_STOP
 * (drain) or the end of fd 3 (stop at once).
 */
#ifndef AMBER_RELAY_RELAY_PROCESS_H
#define AMBER_RELAY_RELAY_PROCESS_H

enum {
	RELAY_FD_MESSAGES = 3,
	RELAY_FD_SIGNER = 4,
	/* Exit statuses that the supervisor tells apart. */
	RELAY_EXIT_OK = 0,
	RELAY_EXIT_CONFIG = 2,		/* no use in trying again */
	RELAY_EXIT_ARCHIVE = 20,	/* corrupt or another's: the same */
	RELAY_EXIT_LOCKED = 11,
	RELAY_EXIT_LISTEN = 75,		/* addresses are in use, or not there */
	RELAY_EXIT_STORAGE = 74,	/* the committer stopped it */
};

/* The whole life of the process; returns its exit status. */
int	relay_process_run(void);

#endif
