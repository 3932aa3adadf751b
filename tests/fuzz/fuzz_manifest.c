/*
 * fuzz_manifest.c - manifests from strangers: the map, with and without
 * times, and the signed file unverified.  What is accepted must encode to
 * just the bytes that were read.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cose.h"
#include "base/err.h"
#include "timelock/manifest.h"
#include "timelock/manifest_map.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void
check_map(const uint8_t *p, size_t len, bool has_times)
{
	struct bytes again = BYTES_INIT(MANIFEST_FILE_MAX);
	struct manifest *m = NULL;
	struct err e = ERR_INIT;

	if (manifest_map_decode(&m, p, len, has_times, &e) != 0) {
		assert(m == NULL && e.code != 0 && e.msg[0] != '\0');
		return;
	}
	assert(manifest_check_params(&m->params, NULL) == 0);
	assert(manifest_map_encode(m, &again, &e) == 0);
	assert(again.len == len && memcmp(again.p, p, len) == 0);
	manifest_free(&m);
	bytes_free(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct manifest *m = NULL;
	struct cose_sign1 s;

	check_map(p, len, true);
	check_map(p, len, false);
	if (cose_sign1_parse(&s, p, len, NULL) == 0)
		check_map(s.payload, s.payload_len, true);
	if (manifest_open(&m, p, len, NULL, NULL) == 0)
		manifest_free(&m);
	assert(m == NULL);
	return 0;
}
