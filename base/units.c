/*
 * units.c - numbers with units.  It must not use the locale, or round what
 * it reads.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"

struct unit {
	const char	*name;
	uint64_t	 factor;
};

/* Much longer words are cut in messages. */
#define WORD	"\"%.40s\""

/* Digits at *s, moved past them.  False when there are none or too many. */
static bool
take_digits(const char **s, uint64_t *out)
{
	const char *at = *s;
	uint64_t v = 0, digit;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		digit = (uint64_t)(*at - '0');
		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*s = at;
	*out = v;
	return true;
}

int
units_parse_uint(const char *s, uint64_t lo, uint64_t hi, uint64_t *out,
    struct err *e)
{
	const char *at = s;
	uint64_t v;

	if (!take_digits(&at, &v) || *at != '\0' || v < lo || v > hi)
		return err_set(e, ERR_ARG,
		    WORD " is not a whole number from "
			 "%" PRIu64 " to %" PRIu64,
		    s, lo, hi);
	*out = v;
	return 0;
}

/* A number and one of the units, whose table ends with a NULL name. */
static bool
parse_with_unit(const char *s, const struct unit *units, uint64_t *out)
{
	uint64_t v;

	if (!take_digits(&s, &v))
		return false;
	for (; units->name != NULL; units++) {
		if (strcmp(s, units->name) != 0)
			continue;
		if (v > UINT64_MAX / units->factor)
			return false;
		*out = v * units->factor;
		return true;
	}
	return false;
}

int
units_parse_size(const char *s, uint64_t *bytes, struct err *e)
{
	static const struct unit units[] = {
		{ "", 1 },			{ "B", 1 },
		{ "K", UINT64_C(1) << 10 },	{ "KiB", UINT64_C(1) << 10 },
		{ "M", UINT64_C(1) << 20 },	{ "MiB", UINT64_C(1) << 20 },
		{ "G", UINT64_C(1) << 30 },	{ "GiB", UINT64_C(1) << 30 },
		{ "T", UINT64_C(1) << 40 },	{ "TiB", UINT64_C(1) << 40 },
		{ NULL, 0 },
	};

	if (!parse_with_unit(s, units, bytes))
		return err_set(e, ERR_ARG,
		    WORD " is not a size: a whole "
			 "number with nothing, KiB, MiB, GiB or TiB behind it",
		    s);
	return 0;
}

int
units_parse_duration_ms(const char *s, uint64_t *ms, struct err *e)
{
	static const struct unit units[] = {
		{ "", 1000 },
		{ "ms", 1 },
		{ "s", 1000 },
		{ "m", 60 * 1000 },
		{ "h", 3600 * 1000 },
		{ "d", 86400 * 1000 },
		{ NULL, 0 },
	};

	if (!parse_with_unit(s, units, ms))
		return err_set(e, ERR_ARG,
		    WORD " is not a duration: a whole "
			 "number with ms, s, m, h or d behind it",
		    s);
	return 0;
}

int
units_parse_rate(const char *s, uint64_t *bits_per_s, struct err *e)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "bit", 1 },
		{ "kbit", 1000 },
		{ "Mbit", 1000 * 1000 },
		{ "Gbit", 1000 * 1000 * 1000 },
		{ NULL, 0 },
	};

	if (!parse_with_unit(s, units, bits_per_s))
		return err_set(e, ERR_ARG,
		    WORD " is not a rate: a whole "
			 "number with bit, kbit, Mbit or Gbit behind it",
		    s);
	return 0;
}

/* A run of exactly n digits with a value of lo..hi, then one of ends. */
static bool
take_field(const char **s, size_t n, unsigned lo, unsigned hi, unsigned *out)
{
	unsigned v = 0;

	for (; n > 0; n--, (*s)++) {
		if (**s < '0' || **s > '9')
			return false;
		v = v * 10 + (unsigned)(**s - '0');
	}
	*out = v;
	return v >= lo && v <= hi;
}

static bool
take_char(const char **s, const char *any)
{
	if (**s == '\0' || strchr(any, **s) == NULL)
		return false;
	(*s)++;
	return true;
}

static unsigned
days_in_month(unsigned year, unsigned month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap ? 1U : 0U);
}

/* Days since 1970-01-01 of a date from then on. */
static int64_t
days_since_1970(unsigned year, unsigned month, unsigned day)
{
	int64_t before = (int64_t)year - 1, days;
	unsigned m;

	days = before * 365 + before / 4 - before / 100 + before / 400 - 719162;
	for (m = 1; m < month; m++)
		days += days_in_month(year, m);
	return days + day - 1;
}

/* "Z", "+hh:mm" or "-hh:mm", in seconds east of Greenwich. */
static bool
take_offset(const char **s, int64_t *out)
{
	unsigned hours, minutes;
	bool west;

	*out = 0;
	if (take_char(s, "Zz"))
		return true;
	west = **s == '-';
	if (!take_char(s, "+-") || !take_field(s, 2, 0, 23, &hours) ||
	    !take_char(s, ":") || !take_field(s, 2, 0, 59, &minutes))
		return false;
	*out = (int64_t)hours * 3600 + minutes * 60;
	if (west)
		*out = -*out;
	return true;
}

/* RFC 3339 section 5.6, "date-time". */
static bool
parse_rfc3339(const char *s, int64_t *out)
{
	unsigned year, month, day, hour, minute, second;
	int64_t offset;

	if (!take_field(&s, 4, 1970, 9999, &year) || !take_char(&s, "-") ||
	    !take_field(&s, 2, 1, 12, &month) || !take_char(&s, "-") ||
	    !take_field(&s, 2, 1, days_in_month(year, month), &day) ||
	    !take_char(&s, "Tt") || !take_field(&s, 2, 0, 23, &hour) ||
	    !take_char(&s, ":") || !take_field(&s, 2, 0, 59, &minute) ||
	    !take_char(&s, ":") || !take_field(&s, 2, 0, 59, &second))
		return false;
	if (take_char(&s, ".")) {
		if (!take_char(&s, "0123456789"))
			return false;
		while (take_char(&s, "0123456789"))
			;
	}
	if (!take_offset(&s, &offset) || *s != '\0')
		return false;
	*out = days_since_1970(year, month, day) * 86400 +
	    (int64_t)hour * 3600 + minute * 60 + second - offset;
	return true;
}

int
units_parse_time(const char *s, int64_t *unix_s, struct err *e)
{
	const int64_t last = INT64_C(253402300799);	/* of the year 9999 */
	const char *at = s;
	uint64_t plain;
	int64_t t = -1;

	if (take_digits(&at, &plain) && *at == '\0') {
		if (plain <= (uint64_t)last)
			t = (int64_t)plain;
	} else if (!parse_rfc3339(s, &t)) {
		t = -1;
	}
	if (t < 0 || t > last)
		return err_set(e, ERR_ARG,
		    WORD
		    " is not a time: Unix "
		    "seconds, or as 2026-11-30T12:00:00Z, from 1970 to 9999",
		    s);
	*unix_s = t;
	return 0;
}

/* One digit after the point while it says something. */
static void
format_number(double v, const char *unit, char *out)
{
	double tenths = floor(v * 10 + 0.5);

	if (v < 9.95 && fmod(tenths, 10) >= 1)
		snprintf(out, UNITS_TEXT_MAX, "%.1f %s", tenths / 10, unit);
	else if (v < 1e9)
		snprintf(out, UNITS_TEXT_MAX, "%.0f %s", v, unit);
	else
		snprintf(out, UNITS_TEXT_MAX, "%.2g %s", v, unit);
}

void
units_format_size(uint64_t bytes, char *out)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB",
		"PiB", "EiB" };
	double v = (double)bytes;
	size_t i = 0;

	/* What would round to 1024 is 1 of the next. */
	while (v >= 1023.5 && i + 1 < sizeof(names) / sizeof(names[0])) {
		v /= 1024;
		i++;
	}
	format_number(v, names[i], out);
}

void
units_format_duration(double seconds, char *out)
{
	if (!isfinite(seconds) || seconds < 0)
		snprintf(out, UNITS_TEXT_MAX, "unknown");
	else if (seconds < 0.9995)
		snprintf(out, UNITS_TEXT_MAX, "%.0f ms", seconds * 1000);
	else if (seconds < 119.5)
		format_number(seconds, "s", out);
	else if (seconds < 119.5 * 60)
		format_number(seconds / 60, "min", out);
	else if (seconds < 47.5 * 3600)
		format_number(seconds / 3600, "h", out);
	else
		format_number(seconds / 86400, "days", out);
}

const char *
units_word(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}
