/*
 * fuzz_journal.c - journals that somebody else wrote.  The puzzle is fixed;
 * to let mutations get past the hashes, entries are also sealed anew.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/journal.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static struct manifest *
fixed_puzzle(void)
{
	const struct manifest_params params = { .origin = "a", .segments = 3,
		.steps = 10, .interval = 4 };
	struct manifest *m = NULL;

	if (secret_init(NULL) != 0 || manifest_new(&m, &params, NULL) != 0)
		abort();
	memset(m->id, 0x77, sizeof(m->id));
	return m;
}

static void
check(const struct manifest *m, const uint8_t *p, size_t len)
{
	struct journal_found f;
	struct err e = ERR_INIT;
	uint64_t good = 0;

	if (journal_scan(p, len, m, &f, &good, &e) != 0) {
		assert(e.code != 0 && e.msg[0] != '\0');
		return;
	}
	assert(good + f.cut == len);
	assert(good == 0 || good == JOURNAL_HEADER_LEN +
	    f.entries * JOURNAL_ENTRY_LEN);
	assert(f.has_base || !f.has_last);
	assert(f.doubt == 0 || (f.doubt >= JOURNAL_HEADER_LEN &&
	    f.doubt < good && (f.doubt - JOURNAL_HEADER_LEN) %
	    JOURNAL_ENTRY_LEN == 0));
	assert(f.doubt == 0 || f.base.kind != JOURNAL_VERIFIED);
	if (f.has_base)
		assert(f.base.segment >= 1 && f.base.segment <= 3 &&
		    f.base.step <= 10);
	if (f.has_last)
		assert(f.last.segment == f.base.segment &&
		    f.last.step > f.base.step && f.last.step < 10);
}

/* The hash of each whole entry made right, as journal.h defines it. */
static void
seal(uint8_t *p, size_t len, const uint8_t *id)
{
	static const uint8_t label[] = "amber/1 journal";
	uint8_t at[8] = { 0 };

	for (size_t off = JOURNAL_HEADER_LEN; off + JOURNAL_ENTRY_LEN <= len;
	    off += JOURNAL_ENTRY_LEN) {
		crypto_hash_sha256_state st;

		for (unsigned k = 0; k < 4; k++)
			at[k] = (uint8_t)(off >> (8 * k));
		crypto_hash_sha256_init(&st);
		crypto_hash_sha256_update(&st, label, sizeof(label) - 1);
		crypto_hash_sha256_update(&st, id, MANIFEST_ID_LEN);
		crypto_hash_sha256_update(&st, at, sizeof(at));
		crypto_hash_sha256_update(&st, p + off, 48);
		crypto_hash_sha256_final(&st, p + off + 48);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct manifest *m;
	uint8_t *copy;

	if (m == NULL)
		m = fixed_puzzle();
	check(m, p, len);
	if ((copy = malloc(len + 1)) == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, p, len);
	seal(copy, len, m->id);
	check(m, copy, len);
	free(copy);
	return 0;
}
