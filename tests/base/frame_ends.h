/*
 * frame_ends.h - a frame_peer on a loop of its own, the other end of its
 * socket, and what the peer was told.
 */
#ifndef AMBER_TESTS_BASE_FRAME_ENDS_H
#define AMBER_TESTS_BASE_FRAME_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/frame.h"

struct bytes;
struct event_base;
struct frame_peer;

enum { BODY_MAX = 64, LOG_MAX = 512 };

/* What a callback does when it has noted the frame. */
enum deed { DEED_NONE, DEED_FREE, DEED_FREE_OTHER, DEED_ECHO };

struct ends {
	struct event_base	*base;
	int			 fd;		/* the other end */
	struct frame_peer	*peer, *other;
	enum deed		 deed;
	size_t			 nframes, nends;
	uint64_t		 jobs[LOG_MAX];
	uint8_t			 body[BODY_MAX];	/* the last small one */
	size_t			 len;
	int			 last_fd;
	unsigned		 turn;		/* of the last frame */
	struct err		 why, e;
	size_t			 open;
};

/* What n is told by; ends_open() gives it to the peer. */
struct frame_peer_cbs ends_cbs(struct ends *n);
void	ends_open(struct ends *n, size_t queue_max);
void	ends_close(struct ends *n);
/* All that can happen now. */
void	ends_run(struct ends *n);
void	ends_send_small(int fd, uint64_t job);
/* Fills the socket until frames have to wait. */
uint64_t ends_fill_socket(struct ends *n);
/* Reads a frame at the other end while the loop runs. */
int	ends_recv(struct ends *n, struct frame *f, struct bytes *buf);
/* Two peers on one loop; who wakes when. */
void	ends_open_pair(struct ends *a, struct ends *b);
void	ends_close_pair(struct ends *a, struct ends *b);

#endif
