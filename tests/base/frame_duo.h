/*
 * frame_duo.h - both ends of a frame_pair in the blocking form, and a child
 * that works on the other one while we wait on ours.
 */
#ifndef AMBER_TESTS_BASE_FRAME_DUO_H
#define AMBER_TESTS_BASE_FRAME_DUO_H

#include <stddef.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"

struct duo {
	int		 fds[2];
	struct bytes	 buf;
	struct frame	 f;
	struct err	 e;
	size_t		 open;		/* descriptors before */
};

void	duo_open(struct duo *n);
/* No descriptor is left over. */
void	duo_close(struct duo *n);
/* A frame of frame_rows_role at fds[0]; what frame_recv says. */
int	duo_recv(struct duo *n, int timeout_ms);
void	duo_is_wiped(const struct bytes *b);
/* Runs fn on fds[1], which is then no more ours. */
pid_t	duo_child(struct duo *n, int (*fn)(int fd));
void	duo_child_is_well(pid_t pid);

#endif
