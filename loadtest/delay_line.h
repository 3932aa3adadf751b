/*
 * delay_line.h - one direction of a line with a known delay and rate.
 *
 * What is put on it takes its time at the rate, behind all that was put on
 * it before, and arrives a delay later.  So everything is due in the order
 * it was put there: the line is a queue with one timer.  It copies nothing
 * and has no bound of its own; whoever fills it stops when it is full, and
 * waits.
 */
#ifndef AMBER_LOADTEST_DELAY_LINE_H
#define AMBER_LOADTEST_DELAY_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct delay_line;
struct err;
struct event_base;

/* From malloc(3); the line's while it is on it. */
struct delay_chunk {
	TAILQ_ENTRY(delay_chunk) link;	/* free for others off the line */
	uint64_t	 due_us;
	void		*owner;		/* whom it belongs to */
	size_t		 len, at;	/* at: for whom it arrives at */
	uint8_t		 p[];
};
TAILQ_HEAD(delay_chunks, delay_chunk);

struct delay_line_opts {
	struct event_base *base;	/* with precise timers, best */
	uint64_t bits_per_s;		/* 0: no limit */
	uint64_t delay_us;		/* one way */
	uint64_t queue_us;		/* full when more than that waits to be
					 * put on it */
	/* It is whoever's is called from here on. */
	void	(*on_arrive)(struct delay_chunk *c, void *arg);
	/* Half of the queue is gone, after delay_line_wait(). */
	void	(*on_room)(void *arg);
	void	*arg;
};

int	delay_line_new(struct delay_line **out,
	const struct delay_line_opts *o, struct err *e);
/* Frees what is on it.  *lp may be NULL. */
void	delay_line_free(struct delay_line **lp);

/* How many bytes at most are to be put on it at once: a slow line takes
 * small pieces, as many connections share it by packets. */
size_t	delay_line_piece(const struct delay_line *l);
bool	delay_line_is_full(const struct delay_line *l);
/* Of a full line: on_room is wanted. */
void	delay_line_wait(struct delay_line *l);
void	delay_line_put(struct delay_line *l, struct delay_chunk *c);
/* Takes the next one off, due or not; NULL: it is empty. */
struct delay_chunk *delay_line_take(struct delay_line *l);

#endif
