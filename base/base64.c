/*
 * base64.c - see base64.h.  It allocates nothing.
 */
#include <sodium.h>

#include "base/base64.h"

bool
base64_decode(uint8_t *out, size_t max, const char *text, size_t n,
    size_t *len)
{
	const char *end = NULL;

	*len = 0;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return sodium_base642bin(out, max, text, n, NULL, len, &end,
		   sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    end == text + n;
}
