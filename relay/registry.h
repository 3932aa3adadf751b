/*
 * registry.h - the rows of the IANA special-purpose address registries, and
 * multicast, as facts.
 *
 * Sources: IANA "IPv4 Special-Purpose Address Registry" and "IPv6
 * Special-Purpose Address Registry" (RFC 6890, RFC 8190 and the RFCs that a
 * row names), RFC 5771, RFC 4291.  Rows that are globally reachable are here
 * too: none of them is a web server.
 */
#ifndef AMBER_RELAY_REGISTRY_H
#define AMBER_RELAY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct registry_row {
	uint8_t		 net[16];	/* v4 rows use the first 4 bytes */
	bool		 is_v6;
	unsigned	 bits;		/* prefix length */
	const char	*text;		/* "10.0.0.0/8 Private-Use" */
};

/* All rows, the narrower before the wider, parsed once on first use. */
const struct registry_row *registry_rows(size_t *n);

/* Is the address (4 or 16 bytes, network order) inside the prefix? */
bool	registry_has_prefix(const uint8_t *addr, const uint8_t *net,
	unsigned bits);

#endif
