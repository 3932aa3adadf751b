/*
 * life.h - one writer's life without threads: lock, recovery, batches, end.
 * For tests that want every step in their own hands.  Fails the running
 * test when it cannot do its job; only the opening's result is handed out.
 */
#ifndef AMBER_TESTS_ARCHIVE_LIFE_H
#define AMBER_TESTS_ARCHIVE_LIFE_H

#include "archive/commit.h"
#include "base/err.h"
#include "tests/archive/sample.h"

struct identity;
struct layout;

struct life {
	const struct identity	*id;
	struct layout		*l;
	struct signer		*signer;
	struct commit		*c;
	struct recovery		 report;
	struct commit_opts	 o;
	int			 fatals;	/* calls of the hook */
	struct err		 fatal;
};

/* System disk without syncs, a fresh signer, no keys; change f->o before
 * life_open. */
void	life_init(struct life *f, const struct identity *id);
/* Makes the archive when there is none; then as commit_new. */
int	life_open(struct life *f, const char *path, struct err *e);
/* life_open that must succeed. */
void	life_begin(struct life *f, const char *path);
void	life_end(struct life *f, bool is_clean);

void	life_manifest(struct life *f, struct sample_epoch *ep);
/* n records of a body size as one batch; what commit_batch says. */
int	life_batch(struct life *f, const struct sample_epoch *ep, size_t n,
	size_t body, struct err *e);
/* The same that must succeed. */
void	life_records(struct life *f, const struct sample_epoch *ep, size_t n,
	size_t body);

/* A disk whose syncs do nothing; static. */
const struct disk *life_disk(void);

#endif
