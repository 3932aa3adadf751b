/*
 * punycode.h - is the part after "xn--" really an encoded label?
 *
 * RFC 3492 decoding without keeping the result: enough to refuse labels that
 * decode to nothing, to ASCII only, to control characters, surrogates or
 * beyond Unicode, which resolvers and browsers read in different ways.  It
 * does not apply the IDNA tables.
 */
#ifndef AMBER_TRANSPORT_PUNYCODE_H
#define AMBER_TRANSPORT_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>

/* p: lower-case LDH, at most 59 bytes, without "xn--". */
bool	punycode_is_valid(const char *p, size_t n);

#endif
