/*
 * frame_cbor.h - a frame whose body is one item of CBOR, to a blocking peer.
 */
#ifndef AMBER_BASE_FRAME_CBOR_H
#define AMBER_BASE_FRAME_CBOR_H

#include <stdint.h>

struct bytes;
struct cbor_write;
struct err;

/* Ends w, which writes to body, and sends that as a frame without a
 * descriptor; see cbor_write_end() and frame_send().  Whatever happens, body
 * is wiped and freed: it may hold secrets. */
int	frame_cbor_send(int fd, uint32_t type, struct cbor_write *w,
	struct bytes *body, struct err *e);

#endif
