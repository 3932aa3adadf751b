/*
 * origin.h - an HTTPS server that behaves, or misbehaves, as it is told.
 *
 * For tests of the relay and for load.  A thread a connection, blocking, on
 * OpenSSL directly: the faults that it plays need bytes at places where no
 * server library would put them.  At most ORIGIN_CONNECTIONS at once.
 *
 * A request's path says what to do:
 *
 *	/ok			200 with a short text
 *	/size/<bytes>		200 with that many bytes of origin_pattern.h
 *	/chunked/<bytes>	the same, chunked
 *	/echo			200 with the request's head and body
 *	/<fault>		a name of origin_faults()
 *
 * with "?delay=<ms>" before the answer.
 */
#ifndef AMBER_LOADTEST_ORIGIN_H
#define AMBER_LOADTEST_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loadtest/origin_ca.h"

struct err;
struct origin;

enum { ORIGIN_CONNECTIONS = 512 };

enum origin_hello {
	ORIGIN_HELLO_TLS,		/* an ordinary handshake */
	ORIGIN_HELLO_STALL,		/* takes ClientHello, says nothing */
	ORIGIN_HELLO_CLOSE,		/* closes after ClientHello */
	ORIGIN_HELLO_PLAIN,		/* answers in plain HTTP */
	ORIGIN_HELLO_OLD,		/* TLS 1.0 and 1.1 only */
	ORIGIN_HELLO_SPEAKS,		/* TLS, then bytes before a request */
};

struct origin_opts {
	const struct origin_ca	*ca;		/* borrowed */
	const char		*names;		/* of its certificate */
	const char		*address;	/* NULL: 127.0.0.1 */
	unsigned		 port;		/* 0: the system's choice */
	enum origin_cert	 cert;
	enum origin_hello	 hello;
	/* Every request is taken for this path; NULL: for its own. */
	const char		*path;
	unsigned		 delay_ms;	/* if the path says none */
};

int	origin_new(struct origin **out, const struct origin_opts *o,
	struct err *e);
/* Ends every connection and joins every thread; its counts stay. */
void	origin_stop(struct origin *o);
/* Stops and frees. */
void	origin_free(struct origin **op);
unsigned origin_port(const struct origin *o);

struct origin_stats {
	uint64_t	connections, handshakes, requests;
};
void	origin_get_stats(struct origin *o, struct origin_stats *out);

/* Names of faults, and what each is. */
struct origin_fault {
	const char	*name;
	const char	*text;
};
const struct origin_fault *origin_faults(size_t *n);

#endif
