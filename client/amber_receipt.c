/*
 * amber_receipt.c - taking and checking a receipt.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "archive/receipt.h"
#include "archive/seal.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/units.h"
#include "client/amber.h"
#include "client/amber_receipt.h"

static int
take_index(struct amber_answer *r, const struct http_field *f, struct err *e)
{
	char text[32];

	if (f->value_len >= sizeof(text))
		return err_set(e, ERR_FORMAT, "Amber-Record is no number");
	memcpy(text, f->value, f->value_len);
	text[f->value_len] = '\0';
	return units_parse_uint(text, 0, INT64_MAX, &r->index, e);
}

static int
take_receipt(struct amber_answer *r, const struct http_field *f,
    struct err *e)
{
	if ((r->receipt = calloc(1, RECEIPT_MAX + 1)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a receipt");
	if (!base64_decode((uint8_t *)r->receipt, RECEIPT_MAX, f->value,
		f->value_len, &r->receipt_len))
		return err_set(e, ERR_FORMAT, "Amber-Receipt is no base64");
	r->receipt[r->receipt_len] = '\0';
	return 0;
}

static int
take_key(struct amber_answer *r, const struct http_field *f, struct err *e)
{
	size_t n;

	if (sodium_base642bin(r->record_key, sizeof(r->record_key), f->value,
		f->value_len, NULL, &n, NULL,
		sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    n != sizeof(r->record_key))
		return err_set(e, ERR_FORMAT,
		    "Amber-Record-Key is not 32 bytes");
	return 0;
}

static int
check(struct amber_answer *r, const struct vkey *pin, struct err *e)
{
	struct receipt rec;
	int ret;

	if ((ret = receipt_verify(&rec, NULL, r->receipt, r->receipt_len,
		 pin, e)) != 0)
		return ret;
	if (rec.is_manifest)
		return err_set(e, ERR_AUTH, "it proves a manifest");
	if (rec.proof.index != r->index)
		return err_set(e, ERR_AUTH, "it proves entry %llu, not %llu",
		    (unsigned long long)rec.proof.index,
		    (unsigned long long)r->index);
	memcpy(r->puzzle, rec.head.puzzle, sizeof(r->puzzle));
	return seal_check_rs(&rec.head, r->record_key, e);
}

int
amber_receipt_take(struct amber_answer *r, struct http_fields fields,
    const struct vkey *pin, struct err *e)
{
	const struct http_field *index, *receipt, *key;
	int ret;

	index = http_head_only(fields, "Amber-Record");
	receipt = http_head_only(fields, "Amber-Receipt");
	key = http_head_only(fields, "Amber-Record-Key");
	if (index == NULL && receipt == NULL && key == NULL && r->is_relays)
		return 0;
	if (index == NULL || receipt == NULL || key == NULL)
		return err_set(e, ERR_AUTH,
		    "the answer comes without a receipt");
	r->has_record = true;
	if ((ret = take_index(r, index, e)) != 0 ||
	    (ret = take_receipt(r, receipt, e)) != 0 ||
	    (ret = take_key(r, key, e)) != 0 || (ret = check(r, pin, e)) != 0) {
		err_ctx(e, "receipt");
		return ret;
	}
	r->is_verified = true;
	return 0;
}
