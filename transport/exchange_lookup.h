/*
 * exchange_lookup.h - getaddrinfo(3) with a deadline.
 *
 * The system's resolver is asked, since only it knows of hosts files, mDNS
 * and whatever else nsswitch.conf(5) names.  It blocks for as long as it
 * likes and cannot be interrupted, so where there is a deadline it runs in a
 * thread of its own, without signals.  When time is out that thread is left
 * behind: it touches nothing but what it frees itself once the resolver
 * comes back.  An address in place of a name needs none.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_LOOKUP_H
#define AMBER_TRANSPORT_EXCHANGE_LOOKUP_H

#include <stdint.h>

struct addrinfo;
struct err;

/*
 * Stream addresses of host, for freeaddrinfo(3).  deadline_ms: monotonic;
 * 0: none, and no thread.  ERR_NOENT: it does not resolve; ERR_TIMEOUT;
 * ERR_NOMEM; ERR_SYS: no thread.
 */
int	exchange_lookup(const char *host, uint16_t port, uint64_t deadline_ms,
	struct addrinfo **out, struct err *e);

#endif
