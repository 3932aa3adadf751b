/*
 * relay_ports.h - a relay_world with the relay's listeners on loopback.
 */
#ifndef AMBER_TESTS_RELAY_PORTS_H
#define AMBER_TESTS_RELAY_PORTS_H

#include "tests/relay/relay_world.h"

struct exchange_route;
struct exchange_server;
struct relay_direct;

struct world {
	struct relay_world	 r;
	struct exchange_server	*outer;
	struct exchange_route	*route;		/* to it */
	struct relay_direct	*direct;
	uint16_t		 direct_port;
};

/* config: lines of amberd's config.  An outer session whose client is gone
 * ends after silent_ms. */
void	world_open(struct world *w, const char *config, uint32_t silent_ms);
/* Every fetch must be over, every permit and byte be back (asserted). */
void	world_close(struct world *w);
/* Turns the loop until all that was admitted is over, at most a minute, and
 * asserts that every permit and byte came back. */
void	world_settle(struct world *w);

#endif
