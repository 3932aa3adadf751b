/*
 * utf8.h - is it UTF-8?  (Unicode 15 table 3-7, RFC 3629.)
 *
 * No overlong form, no surrogate, nothing above U+10FFFF.  NUL is a
 * character like any other.
 */
#ifndef AMBER_BASE_UTF8_H
#define AMBER_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes (1..4) of the well-formed sequence that begins p, with its character
 * in *c (may be NULL); 0 when there is none or n is 0. */
size_t	utf8_step(const void *p, size_t n, uint32_t *c);
/* The same for a character that a terminal shows or moves by: 0 also for the
 * control characters of ASCII and of Latin-1 (C1, which xterm obeys). */
size_t	utf8_step_shown(const void *p, size_t n);
/* The whole of it; true for nothing at all. */
bool	utf8_is_valid(const void *p, size_t n);

#endif
