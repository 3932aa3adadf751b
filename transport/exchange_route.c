/*
 * exchange_route.c - see exchange_route.h.  The only place of the transport
 * that looks at the environment or resolves a name.
 */
#include <netdb.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/exchange_lookup.h"
#include "transport/exchange_route.h"
#include "transport/http_head.h"
#include "transport/tls_context.h"

enum {
	LOGIN_MAX = 512,		/* bytes of a proxy's user:password */
	PREFIX_MAX = 1024,
	NAME_MAX_TEXT = URL_AUTHORITY_MAX + 16,
	PORT_HTTP = 80,
};

struct exchange_route {
	struct url		 host;		/* the relay */
	bool			 is_https;
	bool			 has_proxy;
	struct url		 proxy;
	char			 prefix[PREFIX_MAX];	/* of every target */
	char			 authority[URL_AUTHORITY_MAX];
	char			 login[LOGIN_MAX * 2];	/* base64, or "" */
	char			 name[NAME_MAX_TEXT];
	struct tls_context	*tls;
	struct exchange_sight	*sight;
	size_t			 naddresses;
	struct exchange_address	 addresses[EXCHANGE_ADDRESSES_MAX];
};

/* ---- URLs ---- */

/* A name of one label, which url_parse_authority() has no use for. */
static bool
parse_label(struct url *u, const char *p, size_t n, uint16_t port)
{
	const char *colon = memchr(p, ':', n);
	size_t len = colon == NULL ? n : (size_t)(colon - p), i;
	unsigned long v = port;
	char *end;

	if (len == 0 || len > URL_LABEL_MAX || p[0] == '-' ||
	    p[len - 1] == '-')
		return false;
	for (i = 0; i < len; i++)
		if (strchr("abcdefghijklmnopqrstuvwxyz0123456789-",
		    p[i] | 0x20) == NULL || p[i] == '\0')
			return false;
	/* a number is no name, and resolvers take it for an address */
	if (strspn(p, "0123456789") >= len || (len >= 2 && p[0] == '0' &&
	    (p[1] | 0x20) == 'x' &&
	    strspn(p + 2, "0123456789abcdefABCDEF") >= len - 2))
		return false;
	if (colon != NULL) {
		char text[8];

		if (n - len - 1 < 1 || n - len - 1 > 5 ||
		    strspn(colon + 1, "0123456789") < n - len - 1)
			return false;
		memcpy(text, colon + 1, n - len - 1);
		text[n - len - 1] = '\0';
		v = strtoul(text, &end, 10);
		if (v < 1 || v > UINT16_MAX)
			return false;
	}
	memset(u, 0, sizeof(*u));
	u->kind = URL_HOST_NAME;
	u->port = (uint16_t)v;
	for (i = 0; i < len; i++)
		u->host[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 0x20 :
		    p[i]);
	return true;
}

static int
parse_host(struct url *u, const char *p, size_t n, uint16_t port,
    struct err *e)
{
	if (parse_label(u, p, n, port))
		return 0;
	return url_parse_authority(u, p, n, port, e);
}

/* "host", "host:port", "[v6]:port", without the scheme's own port. */
static void
print_authority(const struct url *u, uint16_t port, char out[URL_AUTHORITY_MAX])
{
	const bool is_v6 = u->kind == URL_HOST_IPV6;
	int n;

	n = snprintf(out, URL_AUTHORITY_MAX, "%s%s%s", is_v6 ? "[" : "",
	    u->host, is_v6 ? "]" : "");
	if (u->port != port && n > 0)
		(void)snprintf(out + n, URL_AUTHORITY_MAX - (size_t)n, ":%u",
		    (unsigned)u->port);
}

static bool
skip_scheme(const char **p, const char *scheme)
{
	const size_t n = strlen(scheme);

	if (strncasecmp(*p, scheme, n) != 0)
		return false;
	*p += n;
	return true;
}

static int
route_parse_relay(struct exchange_route *r, const char *text, struct err *e)
{
	const char *p = text, *slash;
	size_t n;

	if (skip_scheme(&p, "https://"))
		r->is_https = true;
	else if (!skip_scheme(&p, "http://"))
		return err_set(e, ERR_FORMAT, "a relay's URL begins with "
		    "http:// or https://");
	n = strcspn(p, "/?#");
	if (memchr(p, '@', n) != NULL)
		return err_set(e, ERR_FORMAT, "a relay's URL has no user: "
		    "leave out what stands before the '@'");
	if (parse_host(&r->host, p, n, r->is_https ? URL_PORT_HTTPS :
	    PORT_HTTP, e) != 0)
		return ERR_FORMAT;
	slash = p + n;
	if (strpbrk(slash, "?#") != NULL)
		return err_set(e, ERR_FORMAT, "a relay's URL has no query "
		    "and no fragment: leave out what stands behind the path");
	n = strlen(slash);
	while (n > 0 && slash[n - 1] == '/')
		n--;			/* "/x1/" follows */
	if (n >= PREFIX_MAX || !http_head_is_value(slash, n) ||
	    memchr(slash, ' ', n) != NULL || memchr(slash, '\t', n) != NULL)
		return err_set(e, ERR_FORMAT, "the path of a relay's URL is "
		    "at most %d bytes without blanks", PREFIX_MAX - 1);
	memcpy(r->prefix, slash, n);
	print_authority(&r->host, r->is_https ? URL_PORT_HTTPS : PORT_HTTP,
	    r->authority);
	return 0;
}

/* ---- the proxy ---- */

static const char *
first_env(const char *a, const char *b)
{
	const char *v = getenv(a);

	if ((v == NULL || *v == '\0') && b != NULL)
		v = getenv(b);
	return v != NULL && *v != '\0' ? v : NULL;
}

/* Does one word of no_proxy stand for the host? */
static bool
is_covered(const char *word, size_t n, const char *host)
{
	const size_t len = strlen(host);

	if (n == 1 && *word == '*')
		return true;
	if (n > 0 && *word == '.') {
		word++;
		n--;
	}
	if (n == 0 || n > len || strncasecmp(host + len - n, word, n) != 0)
		return false;
	return n == len || host[len - n - 1] == '.';
}

static bool
is_exempt(const char *host)
{
	const char *p = first_env("no_proxy", "NO_PROXY");
	size_t n;

	for (; p != NULL && *p != '\0'; p += n) {
		p += strspn(p, ", \t");
		n = strcspn(p, ", \t");
		if (is_covered(p, n, host))
			return true;
	}
	return false;
}

/* user:password@; percent-encoding is undone. */
static int
route_set_login(struct exchange_route *r, const char *p, size_t n,
    struct err *e)
{
	uint8_t login[LOGIN_MAX];
	unsigned v;
	size_t i, k = 0;

	for (i = 0; i < n && k < sizeof(login); i++) {
		if (p[i] == '%' && i + 2 < n &&
		    sscanf(p + i + 1, "%2x", &v) == 1) {
			login[k++] = (uint8_t)v;
			i += 2;
		} else
			login[k++] = (uint8_t)p[i];
	}
	if (i < n) {
		sodium_memzero(login, sizeof(login));
		return err_set(e, ERR_LIMIT, "user and password are longer "
		    "than %d bytes", LOGIN_MAX);
	}
	sodium_bin2base64(r->login, sizeof(r->login), login, k,
	    sodium_base64_VARIANT_ORIGINAL);
	sodium_memzero(login, sizeof(login));
	return 0;
}

static int
route_parse_proxy(struct exchange_route *r, const char *text, struct err *e)
{
	const char *p = text, *at;
	size_t n;
	int rc;

	if (!skip_scheme(&p, "http://") && strstr(p, "://") != NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "only http:// proxies can be used; unset the variable or "
		    "name the relay in no_proxy");
	n = strcspn(p, "/?#");
	if ((at = memrchr(p, '@', n)) != NULL) {
		rc = route_set_login(r, p, (size_t)(at - p), e);
		if (rc != 0)
			return rc;
		n -= (size_t)(at + 1 - p);
		p = at + 1;
	}
	/* the text holds a password: it is not to be quoted */
	if (parse_host(&r->proxy, p, n, PORT_HTTP, NULL) != 0)
		return err_set(e, ERR_FORMAT,
		    "wants [http://][user:password@]host[:port]");
	r->has_proxy = true;
	return 0;
}

static int
route_find_proxy(struct exchange_route *r, struct err *e)
{
	/* HTTP_PROXY in capitals may come from a request's field (CGI) */
	const char *v = r->is_https ? first_env("https_proxy", "HTTPS_PROXY") :
	    first_env("http_proxy", NULL);
	int rc;

	if (v == NULL || is_exempt(r->host.host))
		return 0;
	if ((rc = route_parse_proxy(r, v, e)) != 0)
		err_ctx(e, "proxy of the environment (%s)",
		    r->is_https ? "https_proxy" : "http_proxy");
	return rc;
}

/* ---- addresses ---- */

static int
route_resolve(struct exchange_route *r, uint64_t deadline_ms, struct err *e)
{
	const struct url *u = r->has_proxy ? &r->proxy : &r->host;
	struct addrinfo *all = NULL, *a;
	int rc;

	if ((rc = exchange_lookup(u->host, u->port, deadline_ms, &all, e)) !=
	    0) {
		err_ctx(e, "%s does not resolve", r->name);
		return rc;
	}
	for (a = all; a != NULL && r->naddresses < EXCHANGE_ADDRESSES_MAX;
	    a = a->ai_next) {
		memcpy(&r->addresses[r->naddresses].ss, a->ai_addr,
		    a->ai_addrlen);
		r->addresses[r->naddresses++].len = a->ai_addrlen;
	}
	freeaddrinfo(all);
	return 0;
}

int
exchange_route_new(struct exchange_route **out,
    const struct exchange_route_opts *o, struct err *e)
{
	struct exchange_route *r;
	char authority[URL_AUTHORITY_MAX];
	int rc;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a route");
	r->sight = o->sight;
	if ((rc = route_parse_relay(r, o->relay, e)) != 0) {
		err_ctx(e, "relay's URL");
		goto out;
	}
	if (!o->has_no_proxy && (rc = route_find_proxy(r, e)) != 0)
		goto out;
	print_authority(r->has_proxy ? &r->proxy : &r->host, 0, authority);
	(void)snprintf(r->name, sizeof(r->name), "%s%s",
	    r->has_proxy ? "proxy " : "", authority);
	if (r->is_https &&
	    (rc = tls_context_new_public(&r->tls, o->ca_file, e)) != 0)
		goto out;
	if ((rc = route_resolve(r, o->deadline_ms, e)) != 0)
		goto out;
	*out = r;
	r = NULL;
out:
	exchange_route_free(&r);
	return rc;
}

void
exchange_route_free(struct exchange_route **rp)
{
	struct exchange_route *r = *rp;

	if (r == NULL)
		return;
	tls_context_free(&r->tls);
	sodium_memzero(r, sizeof(*r));
	free(r);
	*rp = NULL;
}

/* ---- for exchange_link ---- */

size_t
exchange_route_count(const struct exchange_route *r)
{
	return r->naddresses;
}

const struct exchange_address *
exchange_route_address(const struct exchange_route *r, size_t i)
{
	return &r->addresses[i % r->naddresses];
}

struct tls_context *
exchange_route_tls(const struct exchange_route *r)
{
	return r->tls;
}

const struct url *
exchange_route_host(const struct exchange_route *r)
{
	return &r->host;
}

bool
exchange_route_has_tunnel(const struct exchange_route *r)
{
	return r->has_proxy && r->is_https;
}

const char *
exchange_route_name(const struct exchange_route *r)
{
	return r->name;
}

struct exchange_sight *
exchange_route_sight(const struct exchange_route *r)
{
	return r->sight;
}

static int
print_login(const struct exchange_route *r, struct bytes *out, struct err *e)
{
	if (r->login[0] == '\0')
		return 0;
	return bytes_printf(out, e, "Proxy-Authorization: Basic %s\r\n",
	    r->login);
}

int
exchange_route_print_tunnel(const struct exchange_route *r,
    struct bytes *out, struct err *e)
{
	char to[URL_AUTHORITY_MAX];
	int rc;

	print_authority(&r->host, 0, to);
	if ((rc = bytes_printf(out, e, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n",
	    to, to)) != 0 || (rc = print_login(r, out, e)) != 0)
		return rc;
	return bytes_append_str(out, "\r\n", e);
}

int
exchange_route_print_get(const struct exchange_route *r,
    const struct bytes *target, struct bytes *out, struct err *e)
{
	const bool is_absolute = r->has_proxy && !r->is_https;
	int rc;

	if ((rc = bytes_printf(out, e, "GET %s%s%s", is_absolute ?
	    "http://" : "", is_absolute ? r->authority : "",
	    r->prefix)) != 0 ||
	    (rc = bytes_append(out, target->p, target->len, e)) != 0 ||
	    (rc = bytes_printf(out, e, " HTTP/1.1\r\nHost: %s\r\n",
	    r->authority)) != 0)
		return rc;
	if (is_absolute && (rc = print_login(r, out, e)) != 0)
		return rc;
	return bytes_append_str(out, "\r\n", e);
}
