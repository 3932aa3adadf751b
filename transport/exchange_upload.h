/*
 * exchange_upload.h - one session's uploaded bytes put in order.
 *
 * A ring of 512 KiB by stream offset, in blocks that are allocated when they
 * are first written: in front of what the owner took, the bytes that wait
 * for it (in order, or held ahead in separate runs); behind it, the bytes it
 * took last, to tell a repeat from a conflict.  No I/O, no sessions.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_UPLOAD_H
#define AMBER_TRANSPORT_EXCHANGE_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	EXCHANGE_AHEAD_MAX = 256 * 1024, /* upload bytes not yet taken */
	EXCHANGE_HISTORY = 256 * 1024,	/* upload bytes kept to compare */
	EXCHANGE_RUNS_MAX = 64,		/* separate runs held ahead */
	EXCHANGE_BLOCK = 16 * 1024,
	EXCHANGE_BLOCKS = (EXCHANGE_AHEAD_MAX + EXCHANGE_HISTORY) /
	    EXCHANGE_BLOCK,
};

struct exchange_run {
	uint64_t	from;
	uint64_t	to;		/* one behind the last */
};

/* Zero is its start.  Fields are for reading. */
struct exchange_upload {
	uint64_t	taken;		/* by the owner */
	uint64_t	accepted;	/* in order, >= taken */
	uint64_t	end;		/* of the stream, if has_end */
	bool		has_end;
	size_t		nruns;		/* held beyond accepted */
	struct exchange_run runs[EXCHANGE_RUNS_MAX];	/* ascending, apart */
	uint8_t		*blocks[EXCHANGE_BLOCKS];
};

void	exchange_upload_free(struct exchange_upload *u);

/*
 * Bytes at an offset.  What lies beyond the window, would need a 65th run, or
 * finds no memory is not accepted, without an error.  ERR_CORRUPT: they
 * contradict bytes known at these offsets, or the end (nothing is changed).
 */
int	exchange_upload_add(struct exchange_upload *u, uint64_t at,
	const uint8_t *p, size_t n, struct err *e);
/* The stream ends at this offset; ERR_CORRUPT if that contradicts. */
int	exchange_upload_end(struct exchange_upload *u, uint64_t end,
	struct err *e);

/* The next bytes for the owner, in one piece; 0: none now. */
size_t	exchange_upload_peek(const struct exchange_upload *u,
	const uint8_t **p);
/* The owner took n of them. */
void	exchange_upload_take(struct exchange_upload *u, size_t n);
/* Has the owner taken all there will ever be? */
bool	exchange_upload_is_over(const struct exchange_upload *u);

#endif
