/*
 * units.h - numbers with units, read and printed.
 */
#ifndef AMBER_BASE_UNITS_H
#define AMBER_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* Decimal, no sign, no space, lo..hi; ERR_ARG says the word and the range. */
int	units_parse_uint(const char *s, uint64_t lo, uint64_t hi,
	uint64_t *out, struct err *e);
/* "32768", "32KiB", "10MiB", "1GiB"; also K, M, G as powers of 1024. */
int	units_parse_size(const char *s, uint64_t *bytes, struct err *e);
/* "250ms", "30s", "5m", "24h", "7d"; a bare number is seconds. */
int	units_parse_duration_ms(const char *s, uint64_t *ms, struct err *e);
/* "100Mbit", "1Gbit", "800kbit" (powers of 1000), bits a second. */
int	units_parse_rate(const char *s, uint64_t *bits_per_s, struct err *e);
/* Unix seconds, or RFC 3339 "2026-11-30T12:00:00Z". */
int	units_parse_time(const char *s, int64_t *unix_s, struct err *e);

enum { UNITS_TEXT_MAX = 32 };
/* "1.5 MiB", "2.9 days", "12 min"; out holds UNITS_TEXT_MAX bytes. */
void	units_format_size(uint64_t bytes, char *out);
void	units_format_duration(double seconds, char *out);

#endif
