/*
 * segment_hand.h - a segment that is written by hand, so that it can be
 * written wrongly.
 */
#ifndef AMBER_TESTS_ARCHIVE_SEGMENT_HAND_H
#define AMBER_TESTS_ARCHIVE_SEGMENT_HAND_H

#include "archive/commit.h"
#include "archive/merkle.h"
#include "base/bytes.h"
#include "tests/archive/sample.h"

/* b is freed by whoever began it. */
struct hand {
	struct bytes	b;
	struct merkle	tree;
	uint64_t	first, entries;
};

void	hand_begin(struct hand *h, uint64_t first, uint64_t epoch,
	const char *origin);
/* Frees the entry. */
void	hand_entry(struct hand *h, struct commit_entry *en);
void	hand_manifest(struct hand *h, const struct sample_epoch *ep);
void	hand_record(struct hand *h, const struct sample_epoch *ep);
/* The leaf of the record that hand_record would write, without payload. */
void	hand_pruned(struct hand *h, const struct sample_epoch *ep);
/* A checkpoint; spoil changes its root. */
void	hand_note(struct hand *h, const struct identity *by, uint64_t size,
	uint8_t spoil);
void	hand_trailer(struct hand *h, uint64_t entries);
void	hand_zeros(struct hand *h);
/* What was written, as a file without a name. */
int	hand_fd(const struct hand *h);

#endif
