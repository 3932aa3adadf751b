/*
 * sample.h - captures, epochs and sealed entries that the archive's tests and
 * benchmarks write.  It fails the running test when it cannot.
 */
#ifndef AMBER_TESTS_ARCHIVE_SAMPLE_H
#define AMBER_TESTS_ARCHIVE_SAMPLE_H

#include "archive/capture.h"
#include "archive/commit.h"
#include "base/bytes.h"

struct identity;

/* A GET with a short answer; all 18 keys in use.  Static bytes. */
void	sample_capture_small(struct capture *c);
void	sample_capture_full(struct capture *c);
/* The small one with this response body and a URL that tells i. */
void	sample_capture_body(struct capture *c, uint64_t i, const void *body,
	size_t n, char url[64]);

/* An epoch that no puzzle hides: a manifest with dummy wrapped keys whose
 * commitment is to a key derived from the number.  Every test of the same
 * identity and number gets the same bytes. */
struct sample_epoch {
	struct bytes	cose;
	struct epoch	epoch;
	uint8_t		key[SEAL_KEY_LEN];
};
void	sample_epoch_make(struct sample_epoch *s, const struct identity *id,
	uint64_t number);
void	sample_epoch_free(struct sample_epoch *s);

/* What a group of tests writes with: a log, another of the same name, and
 * their epochs. */
struct sample {
	struct identity		*id, *other;
	struct sample_epoch	 ep, ep2, ep3;	/* id's 1, 2 and 3 */
	struct sample_epoch	 alien;		/* other's 1 */
};
extern struct sample sample;
/* For cmocka's groups; only errors are logged. */
int	sample_setup(void **state);
int	sample_teardown(void **state);

/* A sealed record's entry, its salt derived from i. */
void	sample_entry(struct commit_entry *en, const struct sample_epoch *s,
	const char *origin, uint64_t i, size_t body);
/* Its manifest's entry. */
void	sample_entry_manifest(struct commit_entry *en,
	const struct sample_epoch *s);

#endif
