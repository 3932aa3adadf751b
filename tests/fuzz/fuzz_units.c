/*
 * fuzz_units.c - every word that a user may give to units.h: what is taken
 * is in range and says the same when printed and read again; what is
 * refused leaves the result alone and has a message.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

enum { UNTOUCHED = 4711 };

typedef int parse_fn(const char *s, uint64_t *out, struct err *e);

static void
check(int r, const struct err *e, bool untouched)
{
	if (r == 0)
		return;
	assert(r == ERR_ARG && e->code == ERR_ARG && untouched);
	assert(strstr(e->msg, " is not a ") != NULL);
}

/* factor: of the unit that a bare number has. */
static void
try_unit(parse_fn *fn, const char *s, uint64_t factor)
{
	uint64_t v = UNTOUCHED, again = 0;
	char text[32], shown[UNITS_TEXT_MAX];
	struct err e = ERR_INIT;
	int r;

	r = fn(s, &v, &e);
	check(r, &e, v == UNTOUCHED);
	if (r != 0 || v % factor != 0)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, v / factor);
	r = fn(text, &again, NULL);
	assert(r == 0 && again == v);
	units_format_size(v, shown);
	assert(strlen(shown) < UNITS_TEXT_MAX);
	units_format_duration((double)v / 1000, shown);
	assert(strlen(shown) < UNITS_TEXT_MAX);
}

static void
try_uint(const char *s)
{
	uint64_t v = UNTOUCHED;
	struct err e = ERR_INIT;
	int r;

	r = units_parse_uint(s, 10, 99999, &v, &e);
	check(r, &e, v == UNTOUCHED);
	assert(r != 0 || (v >= 10 && v <= 99999));
}

static void
try_time(const char *s)
{
	int64_t t = UNTOUCHED, again = 0;
	struct err e = ERR_INIT;
	char text[32];
	int r;

	r = units_parse_time(s, &t, &e);
	check(r, &e, t == UNTOUCHED);
	if (r != 0)
		return;
	assert(t >= 0 && t <= INT64_C(253402300799));
	snprintf(text, sizeof(text), "%" PRId64, t);
	r = units_parse_time(text, &again, NULL);
	assert(r == 0 && again == t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	char *s;

	if ((s = malloc(len + 1)) == NULL)
		return 0;
	if (len > 0)
		memcpy(s, p, len);
	s[len] = '\0';
	try_uint(s);
	try_unit(units_parse_size, s, 1);
	try_unit(units_parse_duration_ms, s, 1000);
	try_unit(units_parse_rate, s, 1);
	try_time(s);
	free(s);
	return 0;
}
