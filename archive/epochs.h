/*
 * epochs.h - all epochs that an archive's log begins, from the manifests in
 * its segments, and where one is damaged there from its copy in epoch/.
 *
 * A quick look at the first frames of segments, for readers that want keys
 * and numbers before they walk.  A manifest that cannot be read or that the
 * pin did not sign is left out here; to say so is a verifier's job.  Rows
 * know no index in the log.
 */
#ifndef AMBER_ARCHIVE_EPOCHS_H
#define AMBER_ARCHIVE_EPOCHS_H

#include <stddef.h>
#include <stdint.h>

#include "archive/epoch.h"

struct err;
struct layout;
struct vkey;

struct epochs_row {
	struct epoch	 epoch;
	const char	*algorithm;	/* "rx/0"; static */
	uint32_t	 segments;	/* of the puzzle */
	uint64_t	 steps;		/* of each */
};

/* In the log's order; fields are for reading. */
struct epochs {
	struct epochs_row	*v;
	size_t			 n;
};

/* 0, or an error of reading the folder. */
int	epochs_load(struct epochs *out, const struct layout *l,
	const struct vkey *pin, struct err *e);
void	epochs_free(struct epochs *ep);
/* NULL when there is none. */
const struct epochs_row *epochs_of_puzzle(const struct epochs *ep,
    const uint8_t puzzle[SEAL_ID_LEN]);
const struct epochs_row *epochs_of_number(const struct epochs *ep,
    uint64_t number);

#endif
