/*
 * url.c - scheme, authority, port, and where the path begins.  It copies the
 * host and nothing else, resolves nothing, and repairs nothing.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/punycode.h"
#include "transport/url.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_ldh(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* WHATWG "ends in a number": decimal digits, or 0x and hex digits. */
static bool
is_number(const char *p, size_t n)
{
	size_t i;

	if (n >= 2 && p[0] == '0' && p[1] == 'x') {
		for (i = 2; i < n; i++)
			if (!is_digit(p[i]) && (p[i] < 'a' || p[i] > 'f'))
				return false;
		return true;
	}
	for (i = 0; i < n; i++)
		if (!is_digit(p[i]))
			return false;
	return n > 0;
}

/* Four decimal numbers of 0..255 without leading zeros. */
static bool
parse_quad(const char *p, size_t n, uint8_t out[4])
{
	size_t i = 0, part, digits;
	unsigned v;

	for (part = 0; part < 4; part++) {
		if (part > 0 && (i == n || p[i++] != '.'))
			return false;
		v = 0;
		for (digits = 0; i < n && is_digit(p[i]) && digits < 4; i++) {
			v = v * 10 + (unsigned)(p[i] - '0');
			digits++;
		}
		if (digits == 0 || digits > 3 || v > 255 ||
		    (digits > 1 && p[i - digits] == '0'))
			return false;
		out[part] = (uint8_t)v;
	}
	return i == n;
}

static int
check_label(const char *p, size_t n, struct err *e)
{
	size_t i;

	if (n == 0)
		return err_set(e, ERR_FORMAT, "URL: host has an empty label");
	if (n > URL_LABEL_MAX)
		return err_set(e, ERR_FORMAT,
		    "URL: a label of the host has "
		    "%zu bytes, at most %d are allowed",
		    n, URL_LABEL_MAX);
	for (i = 0; i < n; i++)
		if (!is_ldh(p[i]))
			return err_set(e, ERR_FORMAT,
			    "URL: host holds "
			    "something other than letters, digits, hyphens and "
			    "dots (write international names as xn--...)");
	if (p[0] == '-' || p[n - 1] == '-')
		return err_set(e, ERR_FORMAT,
		    "URL: a label of the host "
		    "begins or ends with a hyphen");
	if (n >= 4 && memcmp(p, "xn--", 4) == 0 &&
	    !punycode_is_valid(p + 4, n - 4))
		return err_set(e, ERR_FORMAT,
		    "URL: a label of the host "
		    "begins with xn-- but is no encoded name");
	return 0;
}

/* host: lower case, without port.  Fills kind, host, authority, addr. */
static int
parse_name(struct url *u, const char *host, size_t n, struct err *e)
{
	const size_t dot = n > 0 && host[n - 1] == '.' ? 1 : 0;
	const char *last = host;
	size_t i, at = 0, labels = 0;
	int r;

	n -= dot;
	if (n == 0)
		return err_set(e, ERR_FORMAT, "URL: host is empty");
	if (n > URL_NAME_MAX)
		return err_set(e, ERR_FORMAT,
		    "URL: host has %zu bytes, at "
		    "most %d are allowed",
		    n, URL_NAME_MAX);
	for (i = 0; i <= n; i++) {
		if (i < n && host[i] != '.')
			continue;
		if ((r = check_label(host + at, i - at, e)) != 0)
			return r;
		last = host + at;
		at = i + 1;
		labels++;
	}
	if (is_number(last, (size_t)(host + n - last))) {
		if (dot != 0 || !parse_quad(host, n, u->addr))
			return err_set(e, ERR_FORMAT,
			    "URL: host ends in a "
			    "number but is no IPv4 address of four decimal "
			    "numbers");
		u->kind = URL_HOST_IPV4;
	} else if (labels < 2)
		return err_set(e, ERR_FORMAT,
		    "URL: host is a single label; "
		    "use the full name");
	else
		u->kind = URL_HOST_NAME;
	memcpy(u->host, host, n);
	u->host[n] = '\0';
	memcpy(u->authority, host, n + dot);
	u->authority[n + dot] = '\0';
	return 0;
}

/* text: what stands between the brackets. */
static int
parse_addr6(struct url *u, const char *text, size_t n, struct err *e)
{
	char copy[INET6_ADDRSTRLEN];
	size_t i;

	for (i = 0; i < n; i++)
		if (text[i] == '%')
			return err_set(e, ERR_FORMAT,
			    "URL: an IPv6 address may not have a zone");
	if (n >= sizeof(copy) || memchr(text, '\0', n) != NULL)
		return err_set(e, ERR_FORMAT, "URL: no IPv6 address");
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (inet_pton(AF_INET6, copy, u->addr) != 1)
		return err_set(e, ERR_FORMAT, "URL: no IPv6 address");
	u->kind = URL_HOST_IPV6;
	url_format_addr6(u->addr, u->host);
	(void)snprintf(u->authority, sizeof(u->authority), "[%.40s]", u->host);
	return 0;
}

static int
parse_port(struct url *u, const char *p, size_t n, struct err *e)
{
	size_t i, len;
	unsigned v = 0;

	for (i = 0; i < n && i < 6; i++) {
		if (!is_digit(p[i]))
			break;
		v = v * 10 + (unsigned)(p[i] - '0');
	}
	if (n == 0 || i < n || v == 0 || v > 65535 || p[0] == '0')
		return err_set(e, ERR_FORMAT,
		    "URL: port is not a decimal "
		    "number of 1..65535 without leading zeros");
	u->port = (uint16_t)v;
	if (v == URL_PORT_HTTPS)
		return 0;
	len = strlen(u->authority);
	(void)snprintf(u->authority + len, sizeof(u->authority) - len, ":%u",
	    v);
	return 0;
}

int
url_parse_authority(struct url *u, const char *text, size_t n,
    uint16_t port_default, struct err *e)
{
	char host[URL_NAME_MAX + 2];
	const char *colon, *close = NULL;
	size_t i, len;
	int r;

	memset(u, 0, sizeof(*u));
	u->port = port_default;
	u->target = "";
	if (memchr(text, '@', n) != NULL)
		return err_set(e, ERR_FORMAT,
		    "URL: user info (before an @) is not allowed");
	if (n > 0 && text[0] == '[') {
		if ((close = memchr(text, ']', n)) == NULL)
			return err_set(e, ERR_FORMAT,
			    "URL: host begins with [ but has no ]");
		r = parse_addr6(u, text + 1, (size_t)(close - text - 1), e);
		len = (size_t)(close + 1 - text);
		if (r == 0 && len < n && text[len] != ':')
			r = err_set(e, ERR_FORMAT,
			    "URL: only a port may follow the ]");
	} else {
		colon = memchr(text, ':', n);
		len = colon == NULL ? n : (size_t)(colon - text);
		if (len > sizeof(host))
			return err_set(e, ERR_FORMAT,
			    "URL: host has %zu "
			    "bytes, at most %d are allowed",
			    len, URL_NAME_MAX);
		for (i = 0; i < len; i++)
			host[i] = lower(text[i]);
		r = parse_name(u, host, len, e);
	}
	if (r != 0)
		return r;
	if (len < n)
		return parse_port(u, text + len + 1, n - len - 1, e);
	if (port_default == 0)
		return err_set(e, ERR_FORMAT, "URL: a port is needed");
	return 0;
}

int
url_parse(struct url *u, const char *text, size_t n, struct err *e)
{
	static const char scheme[] = "https://";
	const size_t skip = sizeof(scheme) - 1;
	size_t i, end;
	int r;

	memset(u, 0, sizeof(*u));
	u->target = "";
	if (n > URL_TEXT_MAX)
		return err_set(e, ERR_LIMIT,
		    "URL has %zu bytes, at most %d "
		    "are allowed",
		    n, URL_TEXT_MAX);
	for (i = 0; i < n; i++)
		if ((unsigned char)text[i] <= 0x20 ||
		    (unsigned char)text[i] >= 0x7f)
			return err_set(e, ERR_FORMAT,
			    "URL: byte %zu is a "
			    "blank, a control character or not ASCII "
			    "(percent-encode it)",
			    i);
	if (n < skip || strncasecmp(text, scheme, skip) != 0)
		return err_set(e, ERR_FORMAT,
		    "URL does not begin with https://");
	for (end = skip; end < n && strchr("/?#\\", text[end]) == NULL; end++)
		;
	if ((r = url_parse_authority(u, text + skip, end - skip, URL_PORT_HTTPS,
		 e)) != 0)
		return r;
	for (i = end; i < n; i++) {
		if (text[i] == '#')
			return err_set(e, ERR_FORMAT,
			    "URL: a fragment (after #) is not allowed");
		if (text[i] == '\\')
			return err_set(e, ERR_FORMAT,
			    "URL: a backslash is "
			    "read in two ways; write / or %%5c");
	}
	u->target = text + end;
	u->target_len = n - end;
	return 0;
}

int
url_append_target(const struct url *u, const char *method, struct bytes *out,
    struct err *e)
{
	const size_t was = out->len;
	int r;

	if (u->target_len == 0)
		return bytes_append_byte(out,
		    strcmp(method, "OPTIONS") == 0 ? '*' : '/', e);
	if (u->target[0] == '?' && (r = bytes_append_byte(out, '/', e)) != 0)
		return r;
	if ((r = bytes_append(out, u->target, u->target_len, e)) != 0)
		bytes_truncate(out, was);
	return r;
}

void
url_format_addr6(const uint8_t addr[16], char out[URL_ADDR6_MAX])
{
	unsigned part[8], i, run, best = 8, best_len = 1;
	size_t len = 0;

	for (i = 0; i < 8; i++)
		part[i] = (unsigned)addr[2 * i] << 8 | addr[2 * i + 1];
	/* the longest run of two zeros or more, the first of equals */
	for (i = 0; i < 8; i += run + 1) {
		for (run = 0; i + run < 8 && part[i + run] == 0; run++)
			;
		if (run > best_len) {
			best = i;
			best_len = run;
		}
	}
	out[0] = '\0';
	for (i = 0; i < 8; i++) {
		if (i == best) {
			len += (size_t)snprintf(out + len, URL_ADDR6_MAX - len,
			    "::");
			i += best_len - 1;
			continue;
		}
		len += (size_t)snprintf(out + len, URL_ADDR6_MAX - len, "%s%x",
		    len == 0 || out[len - 1] == ':' ? "" : ":",
		    part[i] & 0xffff);
	}
	assert(len < URL_ADDR6_MAX);
}
