/*
 * record.h - one record, opened: payload in, capture out.
 *
 * The payload is decrypted where it lies; the capture points into it and
 * both live until the record is opened again or freed.  Plaintext is wiped.
 */
#ifndef AMBER_ARCHIVE_RECORD_H
#define AMBER_ARCHIVE_RECORD_H

#include "archive/capture.h"
#include "base/bytes.h"

struct record {
	struct bytes	payload;
	size_t		capture_len;	/* bytes of the encoded map */
	struct capture	capture;
};

enum record_key {
	RECORD_EPOCH_KEY,	/* opens all records of an epoch */
	RECORD_RS,		/* this record's own */
};

void	record_init(struct record *r);
void	record_free(struct record *r);
/*
 * r->payload holds the whole payload of a type 1 frame.  ERR_AUTH: another
 * key's record; ERR_CORRUPT: right key, damaged ciphertext; ERR_FORMAT:
 * padding, CBOR or schema.
 */
int	record_open(struct record *r, const uint8_t *key,
	enum record_key kind, const char *origin, struct err *e);

#endif
