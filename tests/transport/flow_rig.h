/*
 * flow_rig.h - an exchange_flow with a clock that is moved by hand, and
 * answers to its requests.
 */
#ifndef AMBER_TESTS_TRANSPORT_FLOW_RIG_H
#define AMBER_TESTS_TRANSPORT_FLOW_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/exchange_flow.h"

enum { S = 1000 * 1000, MS = 1000 };

struct flow_rig {
	struct exchange_flow	*f;
	uint64_t		 now;
	struct exchange_request	 rq;
	uint64_t		 c, up;	/* answered, accepted by now */
};

struct reply {
	uint64_t n, o, u, q;
	uint32_t l;
	bool end;
	unsigned status;
};

void	flow_open(struct flow_rig *g, unsigned window);
/* Opens a session with one byte up. */
void	flow_opened(struct flow_rig *g, unsigned window, uint64_t q);
bool	flow_next(struct flow_rig *g);
/* How many requests come now. */
unsigned flow_drain(struct flow_rig *g);
int	flow_answer(struct flow_rig *g, struct reply r);

#endif
