/*
 * units.h - numbers with units, read and printed.
 *
 * What is read is one whole word: no sign, no blanks, no fraction, nothing
 * behind it.  A word that does not fit is ERR_ARG with the word (its first
 * bytes) and what would fit; *out is then untouched.
 */
#ifndef AMBER_BASE_UNITS_H
#define AMBER_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* Decimal, lo..hi. */
int	units_parse_uint(const char *s, uint64_t lo, uint64_t hi,
	uint64_t *out, struct err *e);
/* "32768", "32KiB", "10MiB", "1GiB", "2TiB"; also B, K, M, G, T, all as
 * powers of 1024. */
int	units_parse_size(const char *s, uint64_t *bytes, struct err *e);
/* "250ms", "30s", "5m", "24h", "7d"; a bare number is seconds. */
int	units_parse_duration_ms(const char *s, uint64_t *ms, struct err *e);
/* "100Mbit", "1Gbit", "800kbit" (powers of 1000), "64000bit" or a bare
 * number, bits a second. */
int	units_parse_rate(const char *s, uint64_t *bits_per_s, struct err *e);
/* Unix seconds, or RFC 3339 "2026-11-30T12:00:00Z", with an offset
 * ("+01:00") and a fraction (dropped) if need be; years 1970 to 9999, no
 * leap seconds (Unix time has none). */
int	units_parse_time(const char *s, int64_t *unix_s, struct err *e);

enum { UNITS_TEXT_MAX = 32 };
/* "512 B", "1.5 MiB", "12 GiB"; out holds UNITS_TEXT_MAX bytes. */
void	units_format_size(uint64_t bytes, char *out);
/* "250 ms", "1.5 s", "12 min", "2.9 days"; "unknown" when negative or not a
 * finite number. */
void	units_format_duration(double seconds, char *out);
/* The word for n things: one, or many ("record", "records"). */
const char *units_word(uint64_t n, const char *one, const char *many);

#endif
