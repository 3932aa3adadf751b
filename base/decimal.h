/*
 * decimal.h - numbers in signed text and on the wire: decimal digits, no
 * sign, no leading zeros, up to a cap.  Each number has one spelling.
 * units.h reads what people type and is laxer.
 */
#ifndef AMBER_BASE_DECIMAL_H
#define AMBER_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All n bytes are the number.  False: *out is untouched. */
bool	decimal_parse(const char *p, size_t n, uint64_t max, uint64_t *out);
/* The digits that p begins with are: how many there are, or 0 (*out is then
 * untouched). */
size_t	decimal_prefix(const char *p, size_t n, uint64_t max, uint64_t *out);

#endif
