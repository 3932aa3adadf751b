/*
 * soak_load.h - what the parts of the program soak_load share: its origin
 * and names, its clients, and the strangers beside them.
 */
#ifndef AMBER_TESTS_SOAK_LOAD_H
#define AMBER_TESTS_SOAK_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SOAK_CLIENTS_MAX = 64 };

struct soak_opts {
	const char	*folder;	/* for all that it writes */
	const char	*relay;		/* http://127.0.0.1:port */
	const char	*pin;		/* a file, which may appear later */
	unsigned	 clients;
	double		 rate;		/* requests a second, all clients */
	uint64_t	 seconds;	/* 0: until SIGTERM */
	uint64_t	 seed;
	bool		 is_mixed;	/* faults and aborts too */
	bool		 saves;		/* receipts, keys and bodies */
	bool		 may_lose;	/* the relay is being killed */
};

struct soak_counts {
	_Atomic uint64_t asked, answered, recorded, refused, lost, aborted;
	_Atomic uint64_t wrong, strangers, bytes;
};

struct soak {
	struct soak_opts	 o;
	unsigned		 port;		/* the origin's */
	atomic_bool		 is_stopping;
	struct soak_counts	 counts;
	pthread_mutex_t		 lock;		/* of what follows */
	int			 answers;	/* the list of what was saved */
	uint64_t		 saved;
};

/* Counts something that must not be, and says it on stderr. */
void	soak_wrong(struct soak *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sleeps, but not past the end; false: it is over. */
bool	soak_rest(struct soak *s, uint64_t ms);

/* One client's life: requests in turn until the end. */
void	soak_client_run(struct soak *s, unsigned nth);
/* Connections of all sorts to the relay's port, some half-closed. */
void	soak_stranger_run(struct soak *s);

#endif
