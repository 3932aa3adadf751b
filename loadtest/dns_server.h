/*
 * dns_server.h - a DNS server on loopback for tests and load: answers what
 * it was told, and misbehaves where it was told to.
 *
 * On libevent's evdns server (UDP).  One loop, one thread.
 */
#ifndef AMBER_LOADTEST_DNS_SERVER_H
#define AMBER_LOADTEST_DNS_SERVER_H

#include <stdint.h>

struct dns_server;
struct err;
struct event_base;

enum dns_behaviour {
	DNS_ANSWER,		/* the addresses given */
	DNS_NXDOMAIN,
	DNS_SERVFAIL,
	DNS_REFUSED,
	DNS_SILENT,		/* takes the query and says nothing */
};

/* On 127.0.0.1 and a port of the system's choice. */
int	dns_server_new(struct dns_server **out, struct event_base *base,
	struct err *e);
void	dns_server_free(struct dns_server **sp);
unsigned dns_server_port(const struct dns_server *s);

/*
 * What to do about a name (compared without case): with DNS_ANSWER, addrs is
 * a list of addresses of either family parted by blanks, possibly empty (a
 * name without addresses).  A later call for the same name replaces it.
 * Unknown names are NXDOMAIN.
 */
int	dns_server_add(struct dns_server *s, const char *name,
	enum dns_behaviour how, const char *addrs, struct err *e);
/* Queries seen. */
uint64_t dns_server_count(const struct dns_server *s);

#endif
