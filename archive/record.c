/*
 * record.c - opening a record.
 */
#include "archive/record.h"
#include "archive/seal.h"
#include "base/err.h"

void
record_init(struct record *r)
{
	bytes_init(&r->payload, SEAL_PAYLOAD_MAX);
	r->capture_len = 0;
	capture_init(&r->capture);
}

void
record_free(struct record *r)
{
	bytes_free(&r->payload);
	r->capture_len = 0;
	capture_init(&r->capture);
}

int
record_open(struct record *r, const uint8_t *key, enum record_key kind,
    const char *origin, struct err *e)
{
	const uint8_t *p;
	size_t n;
	int rc;

	rc = kind == RECORD_RS ?
	    seal_open_rs(r->payload.p, r->payload.len, key, origin, &p, &n,
		e) :
	    seal_open(r->payload.p, r->payload.len, key, origin, &p, &n, e);
	if (rc != 0)
		return rc;
	if ((rc = capture_decode(&r->capture, p, n, e)) != 0) {
		err_ctx(e, "the capture");
		return rc;
	}
	r->capture_len = n;
	return 0;
}
