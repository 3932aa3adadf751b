/*
 * frame_cbor.c - see frame_cbor.h.
 */
#include "base/bytes.h"
#include "base/cbor_write.h"
#include "base/frame.h"
#include "base/frame_cbor.h"

int
frame_cbor_send(int fd, uint32_t type, struct cbor_write *w,
    struct bytes *body, struct err *e)
{
	struct frame f = { .type = type, .fd = -1 };
	int r;

	if ((r = cbor_write_end(w, e)) == 0) {
		f.body = body->p;
		f.len = body->len;
		r = frame_send(fd, &f, e);
	}
	bytes_free(body);
	return r;
}
