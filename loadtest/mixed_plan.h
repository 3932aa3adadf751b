/*
 * mixed_plan.h - what one client of a mixed load does next, by chance: the
 * request, what is right as its answer, and whether it is left in the middle.
 */
#ifndef AMBER_LOADTEST_MIXED_PLAN_H
#define AMBER_LOADTEST_MIXED_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/load_client.h"

enum { MIXED_URL_MAX = 2048 };

struct mixed_plan {
	struct load_request	rq;		/* url points here */
	char			url[MIXED_URL_MAX];
	bool			is_plain;	/* must be 200, without delay */
	bool			is_fault;	/* any status is right */
	bool			is_left;	/* after left_ms, silently */
	bool			is_last;	/* the session ends after it */
	unsigned		left_ms;
};

/* random is the state of the caller's generator; the same gives the same. */
void	mixed_plan_draw(struct mixed_plan *p, const char *origin_url,
	uint64_t *random);
/* The next number of it below n. */
uint64_t mixed_plan_random(uint64_t *random, uint64_t n);

#endif
