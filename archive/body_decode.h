/*
 * body_decode.h - a body's content coding undone: gzip and deflate.
 *
 * A record keeps bodies as they came.  Decoding is for who asks for it, and
 * it is bounded: a few kilobytes can be made to grow a thousandfold, and
 * again with each coding, so the output of each stops at a cap.  Brotli and
 * others are named and refused.  Streams; holds 64 KiB a coding.
 */
#ifndef AMBER_ARCHIVE_BODY_DECODE_H
#define AMBER_ARCHIVE_BODY_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "archive/capture.h"

struct err;

enum {
	BODY_DECODE_CODINGS = 4,	/* one on top of another, at most */
};

struct body_decode_opts {
	uint64_t	cap;		/* bytes of output, of each coding */
	int		(*put)(void *arg, const void *p, size_t n,
			    struct err *e);
	void		*arg;
};

/*
 * Undoes what head's Content-Encoding fields list, the last first.
 * ERR_UNSUPPORTED: a coding we lack, before any output; ERR_FORMAT: damaged
 * or cut short (what was decoded before has been put); ERR_LIMIT: the cap.
 */
int	body_decode(const struct capture_bytes *head,
	const struct capture_bytes *body, const struct body_decode_opts *o,
	struct err *e);

#endif
