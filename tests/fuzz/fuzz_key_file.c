/*
 * fuzz_key_file.c - the texts of epoch keys and record keys: each 32 bytes
 * have one spelling but for the final newline (and the case of hex).
 */
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "archive/keyring.h"
#include "tests/fuzz/fuzz_check.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t key[SEAL_KEY_LEN];
	const char *text = (const char *)p;
	char again[128];
	size_t len = n > 0 && p[n - 1] == '\n' ? n - 1 : n;

	if (keyring_parse_hex(key, text, n)) {
		sodium_bin2hex(again, sizeof(again), key, sizeof(key));
		fuzz_check(len == 64 && strncasecmp(again, text, len) == 0);
	}
	if (keyring_parse_base64url(key, text, n)) {
		sodium_bin2base64(again, sizeof(again), key, sizeof(key),
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		fuzz_check(len == 43 && memcmp(again, text, len) == 0);
	}
	return 0;
}
