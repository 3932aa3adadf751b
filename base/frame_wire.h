/*
 * frame_wire.h - one frame between memory and a socket, for the two forms of
 * frame.h and for nobody else.
 *
 * Neither half waits: when the socket is full or empty they return ERR_AGAIN
 * (without a message) and go on where they were at the next call.  Exactly
 * one frame is read, never a byte of the next one: so a descriptor, which
 * is sent with the frame's first byte, is known to belong to this frame when
 * it comes with the length, and to be stray otherwise.
 */
#ifndef AMBER_BASE_FRAME_WIRE_H
#define AMBER_BASE_FRAME_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

enum {
	FRAME_WIRE_LEN = 4,		/* the length prefix */
	FRAME_WIRE_MAP = 25,		/* most of the map before the body */
	FRAME_WIRE_HEAD = FRAME_WIRE_LEN + FRAME_WIRE_MAP,
};

/* On its way out.  body and fd are borrowed until it is sent. */
struct frame_wire_out {
	uint8_t		 head[FRAME_WIRE_HEAD];
	size_t		 nhead;
	const uint8_t	*body;
	size_t		 len;
	size_t		 off;		/* sent, of nhead + len */
	int		 fd;		/* -1 for none */
};

/* ERR_LIMIT when the payload would pass FRAME_MAX. */
int	frame_wire_out_begin(struct frame_wire_out *o, const struct frame *f,
	struct err *e);
/* 0 when the whole is sent, ERR_AGAIN, ERR_PEER (gone), ERR_SYS. */
int	frame_wire_send(struct frame_wire_out *o, int sock, struct err *e);

/* On its way in. */
struct frame_wire_in {
	const struct frame_role	*role;
	struct bytes		*buf;		/* the payload */
	uint8_t			 len[FRAME_WIRE_LEN];
	size_t			 nlen;		/* of len, received */
	size_t			 left;		/* of the payload, to come */
	int			 fd;
};

/* Clears buf, which is borrowed until the end. */
void	frame_wire_in_begin(struct frame_wire_in *in,
	const struct frame_role *role, struct bytes *buf);
/* 0 when the whole is there, ERR_AGAIN, ERR_EOF (before its first byte),
 * ERR_PEER, ERR_NOMEM, ERR_SYS. */
int	frame_wire_recv(struct frame_wire_in *in, int sock, struct err *e);
/* Some of it came. */
bool	frame_wire_is_begun(const struct frame_wire_in *in);
/* What came whole, against the role: 0 or ERR_PEER.  out->body lies in buf;
 * the descriptor is handed over. */
int	frame_wire_parse(struct frame_wire_in *in, struct frame *out,
	struct err *e);
/* Wipes buf and closes a descriptor not handed over. */
void	frame_wire_in_drop(struct frame_wire_in *in);

#endif
