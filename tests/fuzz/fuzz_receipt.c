/*
 * fuzz_receipt.c - receipts.  What parses must be what receipt_make would
 * write of it, byte for byte: one receipt has one form.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/receipt.h"
#include "archive/segment.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

/* Of the key that signed the corpus; nobody has it any more. */
static const char vkey_text[] = "fuzz.example/log+74f2c378+"
	"AX5yu8hkssyhXakWsqL5Zcas2Jl2CHB2xxn1c1enYaEX";

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void
make_again(const struct receipt *rc, const uint8_t *p, size_t len)
{
	struct bytes b = BYTES_INIT(RECEIPT_MAX);
	uint8_t data[SEAL_LEAF_LEN];
	size_t n = SEAL_LEAF_LEN;

	if (rc->is_manifest) {
		segment_manifest_leaf(data, rc->digest);
		n = SEGMENT_MANIFEST_LEAF_LEN;
	} else
		seal_leaf_data(data, rc->head.protect, rc->digest);
	if (receipt_make(&b, data, n, &rc->proof, rc->note, rc->note_len,
		NULL) != 0 ||
	    b.len != len || memcmp(b.p, p, len) != 0)
		abort();
	bytes_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct vkey pin;
	struct err e = ERR_INIT;
	struct checkpoint cp;
	struct receipt rc;
	int r;

	if (pin.name[0] == '\0' &&
	    (secret_init(NULL) != 0 ||
		vkey_parse(&pin, vkey_text, strlen(vkey_text), NULL) != 0))
		abort();
	if (receipt_parse(&rc, (const char *)p, len, NULL) == 0)
		make_again(&rc, p, len);
	r = receipt_verify(&rc, &cp, (const char *)p, len, &pin, &e);
	if (r != 0 && r != ERR_FORMAT && r != ERR_AUTH)
		abort();
	if (r != 0 && e.msg[0] == '\0')
		abort();
	if (r == 0 && (rc.proof.index >= cp.size || rc.proof.size != cp.size))
		abort();
	return 0;
}
