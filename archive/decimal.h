/*
 * decimal.h - numbers in signed and proven text: decimal, no sign, no
 * leading zero, so that each has one spelling.
 */
#ifndef AMBER_ARCHIVE_DECIMAL_H
#define AMBER_ARCHIVE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole of p; false for anything else or above max. */
bool	decimal_parse(const char *p, size_t n, uint64_t max, uint64_t *out);

#endif
