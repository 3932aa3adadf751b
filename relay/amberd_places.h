/*
 * amberd_places.h - whether the folders that a config names are there, or
 * can be made; and the archive, which is begun here and nowhere else.
 *
 * A folder that exists is looked at, and an archive is made, with the rights
 * of the user whom root's processes become, in a child of its own, since only
 * that one will work in it.  Before any thread.
 *
 * An empty folder is no archive.  A relay that began a log in whatever folder
 * it finds, as one whose disk is not mounted, would have its identity sign
 * two logs that contradict each other, and every receipt would prove it.
 */
#ifndef AMBER_RELAY_AMBERD_PLACES_H
#define AMBER_RELAY_AMBERD_PLACES_H

#include <stdbool.h>

struct config;
struct err;
struct vkey;

/* identity and archive.  will_make: what is missing is about to be made;
 * else a missing archive is an error.  The user must exist.  The message
 * begins with the key. */
int	amberd_places_check(const struct config *c, bool will_make,
	struct err *e);

/* Of a folder that has passed; a broken archive is one. */
bool	amberd_places_has_archive(const struct config *c);
/* Is it the log of v?  ERR_AUTH; what else is wrong with it the relay says,
 * which mends some of that. */
int	amberd_places_check_log(const struct config *c, const struct vkey *v,
	struct err *e);
/* The error of one that is missing: ERR_NOENT. */
int	amberd_places_no_archive(const struct config *c, struct err *e);
/* Begins the log of v in the archive's folder, which is there. */
int	amberd_places_begin(const struct config *c, const struct vkey *v,
	struct err *e);

#endif
