/*
 * url_ref.h - what a URI reference means, seen from where it was found
 * (RFC 3986 section 5.2, strictly; RFC 9110 section 10.2.2).
 *
 * It splits, joins and takes out dot segments, for any scheme, and judges
 * nothing: what comes out is for url_parse() to accept or refuse.
 */
#ifndef AMBER_TRANSPORT_URL_REF_H
#define AMBER_TRANSPORT_URL_REF_H

#include <stddef.h>

struct bytes;
struct err;

/*
 * Appends to out the target of ref, NUL-terminated texts both, neither of
 * which may lie inside out.  A reference without a fragment inherits that of
 * base.  "%2e" is not taken for a dot.  A path that would read as an
 * authority ("//" where there is none) gets "/." in front, as WHATWG has it.
 *
 * ERR_FORMAT: base has no scheme.  ERR_LIMIT, ERR_NOMEM: by out, which is
 * then as it was.
 */
int	url_ref_resolve(struct bytes *out, const char *base, const char *ref,
	struct err *e);

#endif
