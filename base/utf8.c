/*
 * utf8.c - well-formed UTF-8, sequence by sequence.  It judges encoding only,
 * not what a character is good for.
 */
#include <string.h>

#include "base/utf8.h"

size_t
utf8_step(const void *p, size_t n, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *b = p;
	uint32_t v;
	size_t len, i;

	if (n == 0)
		return 0;
	v = b[0];
	if (v < 0x80)
		len = 1;
	else if (v >= 0xc2 && v < 0xe0)
		len = 2;
	else if (v >= 0xe0 && v < 0xf0)
		len = 3;
	else if (v >= 0xf0 && v < 0xf5)
		len = 4;
	else
		return 0;	/* a continuation, or never in UTF-8 */
	if (len > n)
		return 0;
	if (len > 1)
		v &= 0x7fU >> len;
	for (i = 1; i < len; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (b[i] & 0x3fU);
	}
	if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0;
	if (c != NULL)
		*c = v;
	return len;
}

size_t
utf8_step_shown(const void *p, size_t n)
{
	uint32_t c;
	size_t step = utf8_step(p, n, &c);

	return step == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : step;
}

bool
utf8_is_valid(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t word;
	size_t step;

	while (n > 0) {
		/* Most text is ASCII, and a body may have 10 MiB of it. */
		if (n >= sizeof(word)) {
			memcpy(&word, b, sizeof(word));
			if ((word & 0x8080808080808080U) == 0) {
				b += sizeof(word);
				n -= sizeof(word);
				continue;
			}
		}
		if ((step = utf8_step(b, n, NULL)) == 0)
			return false;
		b += step;
		n -= step;
	}
	return true;
}
