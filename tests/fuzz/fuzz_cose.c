/*
 * fuzz_cose.c - COSE_Sign1 from strangers.
 *
 * What parses must be the one encoding of its parts, and only what the key
 * below really signed (two payloads, in the corpus) may verify.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_write.h"
#include "base/cose.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/fuzz/fuzz_check.h"

#define PIN "fuzz.example+97b2f8a7+" \
	"ARkSmc0LLzhXHeqlA5sX5hfM59k1Pp0FXVNTPjbjTt5l"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void
check_verify(const struct cose_sign1 *s)
{
	static const char aad[] = "amber/1 manifest", text[] = "fuzz payload";
	static struct vkey pin;
	struct err e = ERR_INIT;
	int r;

	if (pin.name[0] == '\0') {
		fuzz_check(secret_init(NULL) == 0);
		fuzz_check(vkey_parse(&pin, PIN, strlen(PIN), NULL) == 0);
	}
	r = cose_sign1_verify(s, &pin, aad, &e);
	fuzz_check(r == 0 || r == ERR_AUTH);
	if (r == 0)
		fuzz_check(s->payload_len == 0 ||
		    (s->payload_len == sizeof(text) - 1 &&
		    memcmp(s->payload, text, sizeof(text) - 1) == 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct bytes out = BYTES_INIT(len + 64);
	struct err e = ERR_INIT;
	struct cose_sign1 s;
	struct cbor_write w;

	if (cose_sign1_parse(&s, p, len, &e) == 0) {
		cbor_write_begin(&w, &out);
		cbor_write_array(&w, 4);
		cbor_write_bytes(&w, s.protect, s.protect_len);
		cbor_write_map(&w, 0);
		cbor_write_bytes(&w, s.payload, s.payload_len);
		cbor_write_bytes(&w, s.sig, IDENTITY_SIG_LEN);
		fuzz_check(cbor_write_end(&w, &e) == 0);
		fuzz_check(out.len == len && memcmp(out.p, p, len) == 0);
		check_verify(&s);
	} else
		fuzz_check(e.code == ERR_FORMAT && e.msg[0] != '\0');
	bytes_clear(&out);
	fuzz_check(cose_encrypt0_aad(&out, p, len / 3, p + len / 3,
	    len - len / 3, &e) == 0);
	bytes_free(&out);
	return 0;
}
