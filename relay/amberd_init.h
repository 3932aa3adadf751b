/*
 * amberd_init.h - what has to be there before amberd runs: the identity and
 * the archive.
 *
 * Nothing that exists is changed or overwritten.  Started as root with a
 * user configured, the archive's folder is given to that user when it is
 * made here; the identity stays root's.
 */
#ifndef AMBER_RELAY_AMBERD_INIT_H
#define AMBER_RELAY_AMBERD_INIT_H

#include <stdbool.h>

struct config;
struct err;

/* Makes the identity and begins its log.  *made_identity: there was none.
 * With an identity but no archive: begins a log if new_log, else it is an
 * error, for that log may be elsewhere (amberd_places.h). */
int	amberd_init_make(const struct config *c, bool new_log,
	bool *made_identity, struct err *e);
/* Is the identity's file missing? */
bool	amberd_init_is_needed(const struct config *c);

/* Is there the user whom root's processes are to become? */
int	amberd_init_check_user(const struct config *c, struct err *e);
/* That, and whether the files that the config names can be read and are what
 * they should be: token_file, ca_file, the folders, and the identity if it is
 * there.  Not for the supervisor's process, which runs no X.509 code. */
int	amberd_init_check(const struct config *c, struct err *e);

#endif
