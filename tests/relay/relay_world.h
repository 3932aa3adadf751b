/*
 * relay_world.h - everything that a relay's process has, but for its sockets
 * and its supervisor: an archive with one epoch, admission, upstream with an
 * origin behind it.  It fails the running test when it cannot.
 */
#ifndef AMBER_TESTS_RELAY_RELAY_WORLD_H
#define AMBER_TESTS_RELAY_RELAY_WORLD_H

#include "relay/service.h"
#include "tests/archive/sample.h"
#include "tests/relay/upstream_rig.h"

struct relay_world {
	struct rig		 rig;
	struct identity		*id;
	struct signer		*signer;
	struct archive		*archive;
	struct sample_epoch	 epoch;		/* number 1 */
	struct config		*config;
	struct redact		*redact;
	struct tls_context	*leaf, *pin;
	struct service		 s;
	char			*path;		/* of the archive */
	bool			 has_published;
};

/* config: lines of amberd's, on top of the demo's. */
void	relay_world_open(struct relay_world *w, const char *config);
/* Asserts that every fetch is over and every permit came back. */
void	relay_world_close(struct relay_world *w);
/* Publishes ep too; w->has_published says when that is done, on the loop. */
void	relay_world_publish(struct relay_world *w,
	const struct sample_epoch *ep);

#endif
