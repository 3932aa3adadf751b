/*
 * decimal.c - see decimal.h.  units.h reads what people type and is laxer.
 */
#include "archive/decimal.h"

bool
decimal_parse(const char *p, size_t n, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (n == 0 || (n > 1 && p[0] == '0'))
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t digit;

		if (p[i] < '0' || p[i] > '9')
			return false;
		digit = (uint64_t)(p[i] - '0');
		if (v > (max - digit) / 10 || digit > max)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}
