/*
 * http_head.h - building heads, looking fields up, and what stays behind at
 * a hop.
 *
 * What it writes is well formed whatever it is given: names and methods are
 * tokens, targets and values hold no control character (so no CR, LF or NUL
 * can be injected), else ERR_FORMAT and the output is as it was before the
 * call.  It knows nothing of sockets, and does not decide what a relay adds.
 */
#ifndef AMBER_TRANSPORT_HTTP_HEAD_H
#define AMBER_TRANSPORT_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;

/* No NUL after either; the value is without blanks around it. */
struct http_field {
	const char	*name;
	const char	*value;
	size_t		 name_len;
	size_t		 value_len;
};

struct http_fields {
	const struct http_field	*v;
	size_t			 n;
};

/* ---- building ---- */

int	http_head_request(struct bytes *out, const char *method,
	const void *target, size_t target_len, struct err *e);
/* status 100..999; reason NULL takes the registered phrase. */
int	http_head_status(struct bytes *out, unsigned status,
	const char *reason, struct err *e);
int	http_head_field(struct bytes *out, const char *name,
	const void *value, size_t value_len, struct err *e);
int	http_head_fieldf(struct bytes *out, struct err *e, const char *name,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A received field as it came. */
int	http_head_copy(struct bytes *out, const struct http_field *f,
	struct err *e);
int	http_head_end(struct bytes *out, struct err *e);
/* The registered phrase ("Not Found"), or "" for an unknown status. */
const char *http_head_reason(unsigned status);

/* ---- looking up; names without regard to case ---- */

bool	http_head_is_name(const struct http_field *f, const char *name);
/* The first such field from *i on (*i is moved behind it), or NULL. */
const struct http_field *http_head_find(struct http_fields fields,
    const char *name, size_t *i);
size_t	http_head_count(struct http_fields fields, const char *name);
/* Does any field of that name list the token (comma-separated)? */
bool	http_head_has_token(struct http_fields fields, const char *name,
	const char *token);
/* The value, if it is there exactly once; else NULL. */
const struct http_field *http_head_only(struct http_fields fields,
    const char *name);

/* ---- hop by hop (WIRE, "Inner HTTP") ---- */

/*
 * May fields.v[i] go on to the next hop?  Not Connection, Keep-Alive,
 * Proxy-Connection, Proxy-Authorization, Proxy-Authenticate, TE, Trailer,
 * Transfer-Encoding, Upgrade, Amber-*, nor what Connection names, save Host,
 * Content-*, Authorization and Cookie, which it cannot take away.
 */
bool	http_head_is_forwarded(struct http_fields fields, size_t i);

/* ---- syntax of RFC 9110 ---- */

bool	http_head_is_token(const void *p, size_t n);	/* section 5.6.2 */
bool	http_head_is_value(const void *p, size_t n);	/* section 5.5 */

#endif
