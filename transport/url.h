/*
 * url.h - the one URL parser.
 *
 * Everything that looks at a destination uses its result, so that no two
 * parts of the relay can read one URL differently.  It accepts one spelling
 * of each host: an ASCII LDH name of two labels or more, a dotted quad
 * without leading zeros, or a bracketed IPv6 address without zone; scheme
 * https.  Everything else is refused with a reason, never repaired: user
 * info, fragments, backslashes, blanks, control characters, bytes above
 * 0x7e, percent-encoded hosts, names that end in a number or in an invalid
 * xn-- label, empty or padded ports.
 *
 * It decides syntax only; which addresses and ports are allowed is policy.
 */
#ifndef AMBER_TRANSPORT_URL_H
#define AMBER_TRANSPORT_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;

enum {
	URL_NAME_MAX = 253,		/* bytes, without a trailing dot */
	URL_LABEL_MAX = 63,
	URL_AUTHORITY_MAX = URL_NAME_MAX + 1 + 6 + 1,	/* with NUL */
	URL_ADDR6_MAX = 40,		/* text of an IPv6 address, with NUL */
	URL_TEXT_MAX = 64 * 1024,	/* bytes of a URL */
	URL_PORT_HTTPS = 443,
};

enum url_host { URL_HOST_NAME, URL_HOST_IPV4, URL_HOST_IPV6 };

struct url {
	enum url_host	 kind;
	/* Lower case; a name without trailing dot, an address without
	 * brackets and in canonical form: for lookup, SNI, verification. */
	char		 host[URL_NAME_MAX + 1];
	/* For Host: as host, but with trailing dot, brackets, and the port
	 * when it is not 443. */
	char		 authority[URL_AUTHORITY_MAX];
	uint8_t		 addr[16];	/* IPv4: the first 4; network order */
	uint16_t	 port;
	/* Path and query as they came, inside the caller's text (which must
	 * outlive this); empty, or with a leading '?', for an empty path. */
	const char	*target;
	size_t		 target_len;
};

/* text need not end in NUL.  ERR_FORMAT names the part and what to do;
 * ERR_LIMIT over URL_TEXT_MAX. */
int	url_parse(struct url *u, const char *text, size_t n, struct err *e);

/* host[:port] alone, as CONNECT has it; port_default 0: the port is a must. */
int	url_parse_authority(struct url *u, const char *text, size_t n,
	uint16_t port_default, struct err *e);

/* The origin-form target: "/" for an empty path, "*" for an empty path and
 * no query when the method is OPTIONS. */
int	url_append_target(const struct url *u, const char *method,
	struct bytes *out, struct err *e);

/* RFC 5952 without mixed notation, as WHATWG serialises. */
void	url_format_addr6(const uint8_t addr[16], char out[URL_ADDR6_MAX]);

#endif
