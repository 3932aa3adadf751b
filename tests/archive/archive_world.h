/*
 * archive_world.h - an archive's writer beside an event loop, records on their
 * way to it, and what their callbacks told.  sample's identity writes.
 */
#ifndef AMBER_TESTS_ARCHIVE_ARCHIVE_WORLD_H
#define AMBER_TESTS_ARCHIVE_ARCHIVE_WORLD_H

#include <event2/event.h>

#include "archive/archive.h"
#include "archive/receipt.h"
#include "tests/archive/sample.h"

enum { RECORDS = 300 };

struct world {
	char			*folder, *path;
	struct event_base	*base;
	struct signer		*signer;
	struct archive		*a;
	struct archive_opts	 o;
	struct sample_epoch	 epochs[3];	/* 1, 2 and 3; sample's */
};

struct slot {
	struct capture	c;
	char		url[64];
	uint8_t		body[2000];
	int		calls, status;
	bool		is_full;
	uint64_t	index;
	uint8_t		rs[32];
	char		receipt[RECEIPT_MAX];
	size_t		receipt_len;
	uint64_t	append_ns, seal_ns, commit_ns;
};

/* Of the test that runs. */
extern struct slot slots[RECORDS];
extern int done_count;		/* callbacks called */

/* *state is a struct world, not open; for cmocka's tables. */
int	world_setup(void **state);
int	world_teardown(void **state);
/* With w->o, which may be changed before. */
void	world_open(struct world *w);
void	world_close(struct world *w);

/* The callback of all that follows; arg is a struct slot. */
void	world_on_done(const struct archive_done *d, void *arg);
/* Runs the loop until n callbacks were called in all. */
void	world_run(struct world *w, int n);
/* want: what archive_publish says. */
void	world_publish(struct world *w, struct sample_epoch *ep,
	struct slot *s, int want);
/* The same, and its callback came. */
void	world_publish_now(struct world *w, struct sample_epoch *ep);
/* One of slots, with a body of this size; what archive_append says. */
int	world_append(struct world *w, uint64_t epoch, struct slot *s,
	size_t body);
/* n slots from this one on are done, and their receipts are good. */
void	world_check(struct world *w, size_t from, size_t n);

#endif
