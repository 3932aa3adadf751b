/*
 * admission.h - who may start now, counted.
 *
 * A permit covers a whole operation: fetch, capture, seal, commit.  With it
 * goes a reservation of response memory (the cap of a body and its head),
 * which shrinks to the answer's true size once that is known and is given
 * back as slices are cut.  Request bodies have a budget of their own.  There
 * is no queue: what does not fit is refused at once with the time after
 * which it is worth coming back, from how long recent operations took.
 *
 * Socket-free and loop-free; times come from the caller's clock.
 */
#ifndef AMBER_RELAY_ADMISSION_H
#define AMBER_RELAY_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct admission;

struct admission_limits {
	unsigned	permits;		/* 1..1024 */
	uint64_t	response_bytes;		/* all answers, in bytes */
	uint64_t	reserve_bytes;		/* for one operation */
	uint64_t	request_bytes;		/* all request bodies */
};

enum admission_refusal {
	ADMISSION_OK,
	ADMISSION_PERMITS,
	ADMISSION_MEMORY,
	ADMISSION_WARMING,
	ADMISSION_EXPIRED,
	ADMISSION_STORAGE,
	ADMISSION_DRAINING,
	ADMISSION_REFUSALS,		/* how many there are */
};

struct admission_counts {
	unsigned	in_use, permits, most_in_use;
	uint64_t	admitted, finished;
	uint64_t	refused[ADMISSION_REFUSALS];
	uint64_t	response_bytes, most_response_bytes;
	uint64_t	request_bytes, most_request_bytes;
};

/* A held permit; lives in the operation's own struct. */
struct admission_permit {
	struct admission	*owner;		/* NULL: holds nothing */
	bool			 has_permit;
	uint64_t		 bytes;		/* of response memory held */
	uint64_t		 since_ms;	/* monotonic */
};

int	admission_new(struct admission **out, const struct clock *clock,
	const struct admission_limits *l, struct err *e);
/* Asserts that every permit came back. */
void	admission_free(struct admission **ap);
/* Takes effect at once; what is held above a lowered limit stays held.
 * ERR_ARG when they contradict each other. */
int	admission_set_limits(struct admission *a,
	const struct admission_limits *l, struct err *e);

/* A reason that holds for all (no key yet, no room); ADMISSION_OK lifts it. */
void	admission_set_closed(struct admission *a, enum admission_refusal why);
enum admission_refusal admission_closed(const struct admission *a);
/* How long it is likely to last until an epoch serves; 0: not known. */
void	admission_set_wait_s(struct admission *a, uint64_t s);

/* Takes a permit and the reservation, or counts and returns the refusal. */
enum admission_refusal admission_take(struct admission *a,
    struct admission_permit *p);
/* The answer has this size (at most what is reserved, asserted). */
void	admission_shrink(struct admission_permit *p, uint64_t bytes);
/* The committer has let go: the permit is free, the memory stays. */
void	admission_finish(struct admission_permit *p);
/* Slices were cut: bytes of response memory are free again. */
void	admission_give(struct admission_permit *p, uint64_t bytes);
/* Everything back, whatever is still held; p may hold nothing. */
void	admission_drop(struct admission_permit *p);

/* Memory for request bodies, as it arrives. */
bool	admission_take_request(struct admission *a, uint64_t bytes);
void	admission_give_request(struct admission *a, uint64_t bytes);

/* Seconds for Retry-After, 1..120: without an epoch, until there is one, as
 * far as that is known; 5 at least while nobody is served; else the time
 * until a permit is likely to come back, from the mean of recent operations
 * and how many run. */
unsigned admission_retry_after_s(const struct admission *a);
/* The word of Amber-Reason. */
const char *admission_word(enum admission_refusal why);
void	admission_counts(const struct admission *a,
	struct admission_counts *out);

#endif
