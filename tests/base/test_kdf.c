/*
 * test_kdf.c - HKDF-Expand against RFC 5869 appendix A (its PRKs given), and
 * at the ends of its range.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kdf.h"
#include "tests/test_util.h"

static const struct { const char *name, *prk, *info, *okm; } rows[] = {
	{ "A.1",
	    "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
	    "f0f1f2f3f4f5f6f7f8f9",
	    "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
	    "34007208d5b887185865" },
	{ "A.2",
	    "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
	    "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
	    "d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
	    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
	    "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
	    "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
	    "cc30c58179ec3e87c14c01d5c1f3434f1d87" },
	{ "A.3",
	    "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
	    "",
	    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
	    "9d201395faa4b61a96c8" },
};

static void
test_rfc5869(void **state)
{
	uint8_t *prk, *info, *okm, out[82];
	size_t i, nprk, ninfo, nokm, split;
	struct kdf_part parts[3];

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		prk = test_unhex(rows[i].prk, &nprk);
		info = test_unhex(rows[i].info, &ninfo);
		okm = test_unhex(rows[i].okm, &nokm);
		assert_int_equal(nprk, KDF_KEY_LEN);
		/* info in one part, and cut at every place into three. */
		for (split = 0; split <= ninfo; split++) {
			parts[0] = (struct kdf_part){ info, split };
			parts[1] = (struct kdf_part){ "", 0 };
			parts[2] = (struct kdf_part){ info + split,
				ninfo - split };
			memset(out, 0, sizeof(out));
			kdf_expand(out, nokm, prk, parts, 3);
			assert_memory_equal(out, okm, nokm);
		}
		free(prk);
		free(info);
		free(okm);
	}
}

/* A shorter output is the beginning of a longer one; nothing lies behind. */
static void
test_lengths(void **state)
{
	static const size_t lens[] = { 1, 31, 32, 33, 64, 65, KDF_OUT_MAX - 1,
		KDF_OUT_MAX };
	static uint8_t all[KDF_OUT_MAX], out[KDF_OUT_MAX + 1];
	const uint8_t key[KDF_KEY_LEN] = { 1, 2, 3 };
	const struct kdf_part part = { "label", 5 };
	size_t i;

	(void)state;
	kdf_expand(all, sizeof(all), key, &part, 1);
	for (i = 0; i < TEST_COUNT(lens); i++) {
		memset(out, 0xee, sizeof(out));
		kdf_expand(out, lens[i], key, &part, 1);
		assert_memory_equal(out, all, lens[i]);
		assert_int_equal(out[lens[i]], 0xee);
	}
	/* The counter's last value was used: no block repeats. */
	assert_memory_not_equal(all, all + KDF_OUT_MAX - 32, 32);
}

static void
test_inputs_matter(void **state)
{
	uint8_t key[KDF_KEY_LEN] = { 0 }, a[32], b[32];
	struct kdf_part part = { "label", 5 };

	(void)state;
	kdf_expand(a, sizeof(a), key, NULL, 0);
	kdf_expand(b, sizeof(b), key, &part, 1);
	assert_memory_not_equal(a, b, sizeof(a));
	key[31] = 1;
	kdf_expand(a, sizeof(a), key, &part, 1);
	assert_memory_not_equal(a, b, sizeof(a));
}

static int
expand_in_child(void *arg)
{
	static uint8_t out[KDF_OUT_MAX + 1];
	const uint8_t key[KDF_KEY_LEN] = { 0 };

	signal(SIGABRT, SIG_DFL);
	close(STDERR_FILENO);
	kdf_expand(out, *(const size_t *)arg, key, NULL, 0);
	return 0;
}

static void
test_range_is_asserted(void **state)
{
	size_t lens[] = { 0, KDF_OUT_MAX + 1 };
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < TEST_COUNT(lens); i++) {
		status = test_child(expand_in_child, &lens[i], 60);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc5869),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_inputs_matter),
		cmocka_unit_test(test_range_is_asserted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
