/*
 * distinct.h - do any two of many 32-byte values agree?
 *
 * For millions of salts in bounded memory (about 16 MiB): values gather in
 * a buffer, sorted runs go to an unlinked temporary file under TMPDIR, and
 * the runs are merged in the end.  What it is given is not secret.
 */
#ifndef AMBER_ARCHIVE_DISTINCT_H
#define AMBER_ARCHIVE_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

struct distinct;
struct err;

enum {
	DISTINCT_LEN = 32,
	DISTINCT_ROOM = 200 << 10,	/* values in memory, by default */
};

/* room 0: the default; small ones are for tests. */
int	distinct_new(struct distinct **out, size_t room, struct err *e);
/* *dp may be NULL; sets it to NULL. */
void	distinct_free(struct distinct **dp);
/* tag tells the values apart in reports.  ERR_SYS: no room in TMPDIR; it
 * then sticks. */
int	distinct_add(struct distinct *d, const uint8_t value[DISTINCT_LEN],
	uint64_t tag, struct err *e);
/* Calls on_twin for each pair of neighbours that agree (a's tag is the
 * smaller); nothing can be added afterwards. */
int	distinct_end(struct distinct *d,
	void (*on_twin)(void *arg, uint64_t a, uint64_t b), void *arg,
	struct err *e);

#endif
