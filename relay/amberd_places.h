/*
 * amberd_places.h - whether the folders that a config names are there, or
 * can be made.
 *
 * Nothing is made, and nothing inside the archive is read.  A folder that
 * exists is looked at with the rights of the user whom root's processes
 * become, in a child of its own, since only that one will work in it.
 * Before any thread.
 */
#ifndef AMBER_RELAY_AMBERD_PLACES_H
#define AMBER_RELAY_AMBERD_PLACES_H

#include <stdbool.h>

struct config;
struct err;

/* identity and archive.  will_make: what is missing is about to be made;
 * else a missing archive is an error.  The user must exist.  The message
 * begins with the key. */
int	amberd_places_check(const struct config *c, bool will_make,
	struct err *e);

#endif
