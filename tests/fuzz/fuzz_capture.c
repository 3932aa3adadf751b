/*
 * fuzz_capture.c - the capture decoder.  What it accepts must encode to the
 * very same bytes: there is one form of each capture.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/capture.h"
#include "base/bytes.h"
#include "base/err.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct bytes b = BYTES_INIT(1 << 21);
	struct err e = ERR_INIT;
	struct capture c;
	size_t n = 0;

	if (capture_decode(&c, p, len, &e) != 0) {
		if (e.code != ERR_FORMAT || e.msg[0] == '\0')
			abort();
		return 0;
	}
	if (capture_encoded_len(&c, &n, NULL) != 0 || n != len ||
	    capture_encode(&c, &b, NULL) != 0 || b.len != len ||
	    memcmp(b.p, p, len) != 0)
		abort();
	bytes_free(&b);
	return 0;
}
