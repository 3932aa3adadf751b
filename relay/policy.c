/*
 * policy.c - prefix lists and the judgement.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "relay/policy.h"
#include "relay/registry.h"

enum { PREFIX_TEXT_MAX = INET6_ADDRSTRLEN + 4 };

struct prefix {
	uint8_t		 net[16];
	bool		 is_v6;
	unsigned	 bits;
	char		 text[PREFIX_TEXT_MAX];
};

struct prefixes {
	struct prefix	*at;
	size_t		 n;
};

struct policy {
	struct prefixes	allow, deny, own;
	struct prefixes	local;			/* of the interfaces */
	uint64_t	renewed_ms;
	uint8_t		ports[65536 / 8];
	bool		has_ports, has_interfaces;
};

static const char *const default_deny[] = { "168.63.129.16/32" };

static bool
has_host_bits(const struct prefix *x)
{
	unsigned i, size = x->is_v6 ? 128 : 32;

	for (i = x->bits; i < size; i++)
		if (x->net[i / 8] & (0x80U >> (i % 8)))
			return true;
	return false;
}

static int
prefix_parse(struct prefix *x, const char *text, struct err *e)
{
	char addr[INET6_ADDRSTRLEN];
	size_t n = strcspn(text, "/");
	uint64_t bits, most;

	memset(x, 0, sizeof(*x));
	if (n == 0 || n >= sizeof(addr))
		return err_set(e, ERR_ARG, "\"%.60s\" is no address or prefix",
		    text);
	memcpy(addr, text, n);
	addr[n] = '\0';
	x->is_v6 = strchr(addr, ':') != NULL;
	if (inet_pton(x->is_v6 ? AF_INET6 : AF_INET, addr, x->net) != 1)
		return err_set(e, ERR_ARG, "\"%.60s\" is no address or prefix",
		    text);
	most = bits = x->is_v6 ? 128 : 32;
	if (text[n] == '/' &&
	    units_parse_uint(text + n + 1, 0, most, &bits, e) != 0) {
		err_ctx(e, "prefix length of \"%.60s\"", text);
		return ERR_ARG;
	}
	x->bits = (unsigned)bits;
	if (has_host_bits(x))
		return err_set(e, ERR_ARG,
		    "\"%.60s\" has bits beyond its "
		    "prefix length; clear them or write /%u",
		    text, (unsigned)most);
	snprintf(x->text, sizeof(x->text), "%s/%u", addr, x->bits);
	return 0;
}

static int
prefixes_add(struct prefixes *l, const struct prefix *x, struct err *e)
{
	struct prefix *at;

	if ((at = reallocarray(l->at, l->n + 1, sizeof(*at))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a prefix");
	l->at = at;
	l->at[l->n++] = *x;
	return 0;
}

static int
prefixes_add_text(struct prefixes *l, const char *text, struct err *e)
{
	struct prefix x;
	int r;

	if ((r = prefix_parse(&x, text, e)) != 0)
		return r;
	return prefixes_add(l, &x, e);
}

static const struct prefix *
prefixes_find(const struct prefixes *l, const uint8_t *addr, bool is_v6)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->at[i].is_v6 == is_v6 &&
		    registry_has_prefix(addr, l->at[i].net, l->at[i].bits))
			return &l->at[i];
	return NULL;
}

int
policy_new(struct policy **out, struct err *e)
{
	struct policy *p;
	size_t i;
	int r;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the policy");
	p->ports[443 / 8] |= 1U << (443 % 8);
	for (i = 0; i < sizeof(default_deny) / sizeof(default_deny[0]); i++)
		if ((r = policy_deny(p, default_deny[i], e)) != 0) {
			policy_free(&p);
			return r;
		}
	*out = p;
	return 0;
}

void
policy_free(struct policy **pp)
{
	struct policy *p = *pp;

	if (p == NULL)
		return;
	free(p->allow.at);
	free(p->deny.at);
	free(p->own.at);
	free(p->local.at);
	free(p);
	*pp = NULL;
}

int
policy_allow(struct policy *p, const char *prefix, struct err *e)
{
	return prefixes_add_text(&p->allow, prefix, e);
}

int
policy_deny(struct policy *p, const char *prefix, struct err *e)
{
	return prefixes_add_text(&p->deny, prefix, e);
}

int
policy_own(struct policy *p, const char *address, struct err *e)
{
	if (strchr(address, '/') != NULL)
		return err_set(e, ERR_ARG,
		    "\"%.60s\": an own address is one "
		    "address, not a prefix",
		    address);
	return prefixes_add_text(&p->own, address, e);
}

void
policy_clear_deny(struct policy *p)
{
	free(p->deny.at);
	p->deny = (struct prefixes){ NULL, 0 };
}

/* The address bytes of sa, or NULL for another family. */
static const uint8_t *
address_of(const struct sockaddr *sa, bool *is_v6)
{
	*is_v6 = sa->sa_family == AF_INET6;
	if (*is_v6)
		return ((const struct sockaddr_in6 *)(const void *)sa)
		    ->sin6_addr.s6_addr;
	if (sa->sa_family == AF_INET)
		return (const uint8_t *)&(
		    (const struct sockaddr_in *)(const void *)sa)
		    ->sin_addr;
	return NULL;
}

static bool
is_loopback(const uint8_t *addr, bool is_v6)
{
	static const uint8_t one[16] = { [15] = 1 };

	return is_v6 ? memcmp(addr, one, sizeof(one)) == 0 : addr[0] == 127;
}

int
policy_read_interfaces(struct policy *p, struct err *e)
{
	struct prefixes now = { NULL, 0 };
	struct ifaddrs *list, *at;
	const uint8_t *addr;
	struct prefix x;
	bool is_v6;
	int r = 0;

	if (getifaddrs(&list) == -1)
		return err_sys(e, "list the interfaces' addresses");
	for (at = list; at != NULL && r == 0; at = at->ifa_next) {
		if (at->ifa_addr == NULL ||
		    (addr = address_of(at->ifa_addr, &is_v6)) == NULL ||
		    is_loopback(addr, is_v6))
			continue;
		memset(&x, 0, sizeof(x));
		x.is_v6 = is_v6;
		x.bits = is_v6 ? 128 : 32;
		memcpy(x.net, addr, x.bits / 8);
		inet_ntop(is_v6 ? AF_INET6 : AF_INET, addr, x.text,
		    sizeof(x.text));
		r = prefixes_add(&now, &x, e);
	}
	freeifaddrs(list);
	if (r != 0) {
		free(now.at);
		return r;
	}
	free(p->local.at);
	p->local = now;
	p->has_interfaces = true;
	return 0;
}

int
policy_renew_interfaces(struct policy *p, uint64_t now_ms, struct err *e)
{
	if (!p->has_interfaces || now_ms - p->renewed_ms < POLICY_RENEW_MS)
		return 0;
	p->renewed_ms = now_ms;
	return policy_read_interfaces(p, e);
}

int
policy_allow_port(struct policy *p, unsigned port, struct err *e)
{
	if (port == 0 || port > 65535)
		return err_set(e, ERR_ARG, "%u is no port: 1..65535", port);
	if (!p->has_ports)
		memset(p->ports, 0, sizeof(p->ports));
	p->has_ports = true;
	p->ports[port / 8] |= (uint8_t)(1U << (port % 8));
	return 0;
}

bool
policy_has_port(const struct policy *p, unsigned port)
{
	return port <= 65535 && (p->ports[port / 8] >> (port % 8) & 1);
}

static const struct registry_row *
registry_find(const uint8_t *addr, bool is_v6)
{
	const struct registry_row *rows;
	size_t i, n;

	rows = registry_rows(&n);
	for (i = 0; i < n; i++)
		if (rows[i].is_v6 == is_v6 &&
		    registry_has_prefix(addr, rows[i].net, rows[i].bits))
			return &rows[i];
	return NULL;
}

enum policy_verdict
policy_judge(const struct policy *p, const struct sockaddr *sa,
    char why[POLICY_WHY_MAX])
{
	static const uint8_t global_unicast[16] = { 0x20 };	/* 2000::/3 */
	const struct registry_row *row;
	const struct prefix *x;
	const uint8_t *addr;
	bool is_v6;

	why[0] = '\0';
	if ((addr = address_of(sa, &is_v6)) == NULL) {
		snprintf(why, POLICY_WHY_MAX, "not an internet address");
		return POLICY_DENY;
	}
	if ((x = prefixes_find(&p->own, addr, is_v6)) != NULL ||
	    (x = prefixes_find(&p->local, addr, is_v6)) != NULL) {
		snprintf(why, POLICY_WHY_MAX, "%s is the relay's own", x->text);
		return POLICY_LOOP;
	}
	if (prefixes_find(&p->allow, addr, is_v6) != NULL)
		return POLICY_ALLOW;
	if ((x = prefixes_find(&p->deny, addr, is_v6)) != NULL) {
		snprintf(why, POLICY_WHY_MAX, "%s denied by the operator",
		    x->text);
		return POLICY_DENY;
	}
	if ((row = registry_find(addr, is_v6)) != NULL) {
		snprintf(why, POLICY_WHY_MAX, "%s", row->text);
		return POLICY_DENY;
	}
	if (is_v6 && !registry_has_prefix(addr, global_unicast, 3)) {
		snprintf(why, POLICY_WHY_MAX,
		    "outside 2000::/3 Global Unicast (RFC 4291)");
		return POLICY_DENY;
	}
	return POLICY_ALLOW;
}
