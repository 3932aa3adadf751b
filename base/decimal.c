/*
 * decimal.c - see decimal.h.
 */
#include "base/decimal.h"

size_t
decimal_prefix(const char *p, size_t n, uint64_t max, uint64_t *out)
{
	uint64_t v = 0, digit;
	size_t i;

	for (i = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
		digit = (uint64_t)(p[i] - '0');
		if ((i > 0 && v == 0) || digit > max ||
		    v > (max - digit) / 10)
			return 0;
		v = v * 10 + digit;
	}
	if (i > 0)
		*out = v;
	return i;
}

bool
decimal_parse(const char *p, size_t n, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (n == 0 || decimal_prefix(p, n, max, &v) != n)
		return false;
	*out = v;
	return true;
}
