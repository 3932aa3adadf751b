/*
 * amber_receipt.h - the record's fields of an answer, and what they prove
 * (FORMAT, "Receipt").
 */
#ifndef AMBER_CLIENT_AMBER_RECEIPT_H
#define AMBER_CLIENT_AMBER_RECEIPT_H

#include "transport/http_head.h"

struct amber_answer;
struct err;
struct vkey;

/*
 * Takes Amber-Record, Amber-Receipt and Amber-Record-Key into r and checks
 * them: the checkpoint's signature by the pin, the inclusion of that very
 * leaf, its index, and that the key is the record's by its commitment.  0
 * also when there is no record at all (r->has_record false), which only
 * answers of the relay's own may lack.
 */
int	amber_receipt_take(struct amber_answer *r, struct http_fields fields,
	const struct vkey *pin, struct err *e);

#endif
