/*
 * policy.h - which addresses and ports the relay may dial.
 *
 * Judges a resolved address, never a name.  In this order: the relay's own
 * addresses (own_address and its interfaces) are proxy_loop_detected; then
 * "allow" overrides; then "deny"; then every row of the IANA special-purpose
 * registries, multicast, and all IPv6 outside 2000::/3 (the registry of
 * global unicast, RFC 4291 section 2.4).  Addresses that embed an IPv4
 * address (mapped, 6to4, Teredo, NAT64) lie in rows and are denied by them.
 *
 * No I/O but policy_read_interfaces() and policy_renew_interfaces().
 */
#ifndef AMBER_RELAY_POLICY_H
#define AMBER_RELAY_POLICY_H

#include <sys/socket.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct policy;

enum policy_verdict {
	POLICY_ALLOW,
	POLICY_DENY,		/* RFC 9209 destination_ip_prohibited */
	POLICY_LOOP,		/* RFC 9209 proxy_loop_detected */
};

enum {
	POLICY_WHY_MAX = 96,		/* bytes, with the NUL */
	POLICY_RENEW_MS = 1000,
};

/* The default deny list: 168.63.129.16/32, a cloud's host agent. */
int	policy_new(struct policy **out, struct err *e);
void	policy_free(struct policy **pp);

/*
 * A prefix in text: "10.0.0.0/8", "fd00::/8", or an address alone.  Host
 * bits beyond the prefix are ERR_ARG: they are a slip more often than not.
 */
int	policy_allow(struct policy *p, const char *prefix, struct err *e);
int	policy_deny(struct policy *p, const char *prefix, struct err *e);
int	policy_own(struct policy *p, const char *address, struct err *e);
/* Forgets the default and all given deny rows. */
void	policy_clear_deny(struct policy *p);
/*
 * Every address that this machine's interfaces have now becomes an own
 * address, in place of those read before; but for 127.0.0.0/8 and ::1, which
 * their registry rows deny already.  After an error those before stand.
 */
int	policy_read_interfaces(struct policy *p, struct err *e);
/* The same again, for a policy that has read them once, when the last time
 * is at least POLICY_RENEW_MS ago: about 50 us on a machine with few. */
int	policy_renew_interfaces(struct policy *p, uint64_t now_ms,
	struct err *e);
/* Ports that may be dialled; 443 until the first call replaces it. */
int	policy_allow_port(struct policy *p, unsigned port, struct err *e);

bool	policy_has_port(const struct policy *p, unsigned port);
/* why names the row ("10.0.0.0/8 Private-Use (RFC 1918)"); empty if allowed.
 * Families other than inet and inet6 are denied. */
enum policy_verdict policy_judge(const struct policy *p,
    const struct sockaddr *sa, char why[POLICY_WHY_MAX]);

#endif
