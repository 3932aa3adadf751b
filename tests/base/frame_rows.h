/*
 * frame_rows.h - what the tests of both forms of frames share: a role, the
 * table of what may come from a peer, and a look for remains in memory.
 */
#ifndef AMBER_TESTS_FRAME_ROWS_H
#define AMBER_TESTS_FRAME_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

#define ROW_BIG	UINT32_MAX		/* the largest type and body */
enum {
	ROW_SMALL = 7,			/* at most ROW_SMALL_MAX */
	ROW_SMALL_MAX = 16,
	ROW_WITH_FD = 8,		/* brings a descriptor */
	ROW_BIG_MAX = FRAME_MAX - 17,	/* ... of a frame of job 0 */
};
/* A ROW_SMALL of job 5 on the wire. */
#define ROW_SMALL_HEX "0000000b a4 0101 0207 0305 0442 beef"

extern const struct frame_role frame_rows_role;
/* The same without the big one. */
extern const struct frame_role frame_rows_small_role;

/* The peer sends these bytes and no more: code and a part of the message. */
struct frame_row {
	const char	*name, *hex;
	int		 want;
	const char	*part;
};
extern const struct frame_row frame_rows[];
extern const size_t frame_rows_count;

/* The hex's bytes, with fd (if not -1) on the byte at the given place. */
void	frame_rows_send(int sock, const char *hex, int fd, size_t at);

/* Bodies that appear nowhere else: fill() makes one of a seed, is() compares
 * without holding it. */
void	frame_rows_fill(uint64_t seed, void *p, size_t n);
int	frame_rows_is(uint64_t seed, const void *p, size_t n);
/* How often a run of 16 bytes of such a body lies in this process's writable
 * memory: at its beginning, middle and end. */
size_t	frame_rows_remains(uint64_t seed, size_t n);

#endif
