/*
 * base64.h - standard padded base64 (RFC 4648 section 4), one spelling only.
 *
 * libsodium's decoder is strict but for one thing: where char is signed it
 * takes every byte above 0x7F for '/'.  Those are refused here, so that a
 * signed or proven text has no second form.
 */
#ifndef AMBER_BASE_BASE64_H
#define AMBER_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All n characters into at most max bytes; *len tells how many.  False, and
 * out in an unspecified state, for anything but the canonical form. */
bool	base64_decode(uint8_t *out, size_t max, const char *text, size_t n,
	size_t *len);

#endif
