/*
 * resolver.h - names to addresses, by DNS alone.
 *
 * c-ares on the loop: no hosts file, no search list, no aliases, A and AAAA
 * side by side.  The deadline is ours, not the library's: a query whose time
 * is up answers RESOLVER_TIMEOUT, whatever the servers are doing, or
 * whether there are any: c-ares cannot always tell a server that is down from
 * one that is slow.  When that happens to several queries in a row it is
 * logged, without their names.  The system's resolv.conf is read when the
 * resolver is made and never again, so it may be made before the process
 * confines itself.
 */
#ifndef AMBER_RELAY_RESOLVER_H
#define AMBER_RELAY_RESOLVER_H

#include <sys/socket.h>

#include <stddef.h>
#include <stdint.h>

struct err;
struct event_base;
struct resolver;
struct resolver_query;

enum {
	RESOLVER_ADDRS_MAX = 16,	/* more are left out */
	RESOLVER_SILENCES = 3,		/* in a row are logged */
};

enum resolver_status {
	RESOLVER_OK,
	RESOLVER_NXDOMAIN,	/* no such name */
	RESOLVER_NODATA,	/* a name without an address */
	RESOLVER_SERVFAIL,
	RESOLVER_REFUSED,
	RESOLVER_TIMEOUT,	/* no server answered, for whatever reason */
	RESOLVER_FAILED,	/* malformed answers, no memory */
};

struct resolver_result {
	enum resolver_status	status;
	size_t			n;	/* at least 1 if OK, else 0 */
	/* As the server ordered them, each family apart: AAAA and A in
	 * alternation, AAAA first (RFC 8305 section 4); port 0. */
	struct sockaddr_storage	addrs[RESOLVER_ADDRS_MAX];
};

/* servers: "address[:port]" or "[v6]:port"; n 0: those of RESOLV_CONF. */
int	resolver_new(struct resolver **out, struct event_base *base,
	const char *const *servers, size_t n, struct err *e);
/* Queries under way are dropped without their callback. */
void	resolver_free(struct resolver **rp);

/* host is a name (not an address), NUL-terminated.  on_done is called once,
 * never before this returns. */
int	resolver_start(struct resolver *r, const char *host, uint64_t ms,
	void (*on_done)(const struct resolver_result *res, void *arg),
	void *arg, struct resolver_query **out, struct err *e);
/* No callback any more; *qp becomes NULL and may be NULL. */
void	resolver_cancel(struct resolver_query **qp);

/* "NXDOMAIN", ...: for details. */
const char *resolver_status_text(enum resolver_status s);

#endif
