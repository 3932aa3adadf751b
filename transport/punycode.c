/*
 * punycode.c - RFC 3492 section 6.2, with the checks that matter to us.
 */
#include <stdint.h>

#include "transport/punycode.h"

/* RFC 3492 section 5 */
enum {
	BASE = 36,
	TMIN = 1,
	TMAX = 26,
	SKEW = 38,
	DAMP = 700,
	INITIAL_BIAS = 72,
	INITIAL_N = 0x80,
	LABEL_MAX = 59,		/* 63 less "xn--" */
};

/* How the bias follows the deltas (section 6.1). */
static uint32_t
adapt(uint32_t delta, uint32_t points, int is_first)
{
	uint32_t k = 0;

	delta = is_first ? delta / DAMP : delta / 2;
	delta += delta / points;
	for (; delta > ((BASE - TMIN) * TMAX) / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static uint32_t
digit(char c)
{
	if (c >= 'a' && c <= 'z')
		return (uint32_t)(c - 'a');
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0') + 26;
	return BASE;
}

static uint32_t
threshold(uint32_t k, uint32_t bias)
{
	if (k <= bias)
		return TMIN;
	return k >= bias + TMAX ? TMAX : k - bias;
}

static bool
is_character(uint32_t c)
{
	/* from U+00A1 (below: controls, no-break space), no surrogates, no
	 * noncharacters */
	return c >= 0xa1 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) &&
	    (c & 0xfffe) != 0xfffe && (c < 0xfdd0 || c > 0xfdef);
}

bool
punycode_is_valid(const char *p, size_t n)
{
	uint32_t c = INITIAL_N, i = 0, bias = INITIAL_BIAS, points = 0;
	uint32_t old, w, k, t, d;
	size_t at = 0, j;

	if (n == 0 || n > LABEL_MAX)
		return false;
	for (j = 0; j < n; j++)
		if (p[j] == '-')
			at = j + 1;
	/* the basic ones stand before the last hyphen; at 1 none does, which
	 * would be a second spelling */
	if (at == 1 || at == n)
		return false;
	points = at == 0 ? 0 : (uint32_t)at - 1;
	while (at < n) {
		old = i;
		w = 1;
		for (k = BASE;; k += BASE) {
			if (at == n || (d = digit(p[at++])) == BASE ||
			    d > (UINT32_MAX - i) / w)
				return false;
			i += d * w;
			t = threshold(k, bias);
			if (d < t)
				break;
			if (w > UINT32_MAX / (BASE - t))
				return false;
			w *= BASE - t;
		}
		points++;
		bias = adapt(i - old, points, old == 0);
		if (i / points > UINT32_MAX - c)
			return false;
		c += i / points;
		i %= points;
		if (!is_character(c))
			return false;
		i++;
	}
	return true;
}
