/*
 * recovery_inside.h - what recovery's files share: first all is looked at
 * (recovery_base.c, recovery_history.c, recovery_scan.c), then, if nothing
 * speaks against it, mended (recovery_mend.c, recovery_copies.c); recovery.c
 * leads.  Nobody else includes it.
 */
#ifndef AMBER_ARCHIVE_RECOVERY_INSIDE_H
#define AMBER_ARCHIVE_RECOVERY_INSIDE_H

#include "archive/checkpoint.h"
#include "archive/layout.h"
#include "archive/recovery.h"
#include "archive/scan.h"

/* An entry after the last checkpoint frame: to be tried and copied. */
struct recovery_entry {
	uint64_t		index;
	uint64_t		offset;		/* of its head */
	uint64_t		payload_len;
	enum segment_type	type;
	struct merkle_hash	leaf;
	uint8_t			puzzle[SEAL_ID_LEN];
};

enum recovery_source {
	RECOVERY_FILE,		/* `checkpoint` */
	RECOVERY_SIGNER,
	RECOVERY_AGAINST,
	RECOVERY_SOURCES
};

struct recovery_known {
	bool			is_there;
	struct checkpoint	cp;
	struct bytes		note;
};

/* A checkpoint and the tree that bears it out. */
struct recovery_mark {
	bool			is_there;
	struct merkle		tree;
	struct bytes		note;
	uint64_t		offset;		/* of its frame, if any */
	uint64_t		entries;	/* of its segment, before it */
};

/* A segment that a successor overtakes before its end. */
struct recovery_unfinished {
	bool			is_there;
	uint64_t		first;
	uint64_t		cut;		/* where its entries must end */
	uint64_t		entries;	/* before the cut */
	uint64_t		size;		/* of the file */
	struct merkle		tree;		/* at the cut */
	struct bytes		note;		/* of that tree; empty: none */
	/* Its entries from the cut on, which the next one must repeat. */
	struct recovery_entry	*twin;
	size_t			ntwins;
	size_t			nsafe;		/* that it does repeat */
};

struct recovery_last {
	bool			is_there;
	uint64_t		first;
	int			fd;		/* for reading */
	bool			is_closed;	/* properly, to its end */
	uint64_t		good;		/* offset behind good frames */
	uint64_t		size;		/* of the file */
	struct recovery_mark	lead;		/* before any entry */
	struct recovery_mark	mark;		/* the last after an entry */
	uint64_t		entries;	/* in all */
};

struct recovery_run {
	struct layout			*l;
	const struct recovery_opts	*o;
	struct scan			 scan;
	uint64_t			*firsts;
	size_t				 n;
	struct recovery_known		 known[RECOVERY_SOURCES];
	uint64_t			 must;	/* S: this much was signed */
	struct recovery_mark		 best;	/* newest that holds */
	struct recovery_unfinished	 unfinished;
	struct recovery_last		 last;
	/* Entries of the last segment behind last.mark. */
	struct recovery_entry		*tail;
	size_t				 ntail;
	struct merkle			 tail_tree;	/* before them */
	uint64_t			 scanned;
	uint64_t			 done, all;	/* bytes, of progress */
	uint64_t			 quarantined;
	uint64_t			 unread;	/* segments */
	bool				 is_rewritten;
};

/* A segment, open for reading. */
struct recovery_segment {
	int			 fd;
	struct segment_read	*r;
	uint64_t		 first;
	uint64_t		 size;
};

int	recovery_base_open(const struct layout *l, uint64_t first,
	struct recovery_segment *s, struct err *e);
void	recovery_base_shut(struct recovery_segment *s);
/* ERR_CORRUPT that names the segment. */
int	recovery_base_corrupt(struct err *e, uint64_t first,
	const char *what);
/* r, for a reason that is not the archive's; names the segment. */
int	recovery_base_unread(struct err *e, uint64_t first, int r,
	const struct err *why);
int	recovery_base_mark(struct recovery_mark *m, const struct merkle *tree,
	const void *note, size_t n, struct err *e);
/* Is firsts[i] closed under our signature?  Then run->scan stands behind it. */
int	recovery_base_try(struct recovery_run *run, size_t i, bool *is_base,
	struct err *e);
/* The same of a segment that is open, by its own end alone.  t and note are
 * filled when *is_closed. */
int	recovery_base_closing(struct recovery_run *run,
	struct recovery_segment *s, struct segment_trailer *t,
	struct bytes *note, bool *is_closed, struct err *e);
/* What is known of the tree's size must be its root; ERR_CORRUPT. */
int	recovery_base_agree(struct recovery_run *run, const struct merkle *tree,
	struct err *e);
/* What precedes the base, firsts[base]: nothing is missing between segments,
 * and, where the whole is to be read, nothing is bad in them.  ERR_CORRUPT. */
int	recovery_history(struct recovery_run *run, size_t base,
	struct err *e);
/* The manifest of an epoch, from the log: its segment's first entry. */
int	recovery_base_manifest(struct layout *l, uint64_t number,
	struct bytes *out, struct err *e);
/* The same where that segment is known, of the epoch in its header; *ep is
 * filled.  ERR_CORRUPT. */
int	recovery_base_manifest_at(const struct layout *l, uint64_t first,
	uint64_t number, struct epoch *ep, struct bytes *copy,
	struct err *e);
/* The epoch in a segment's header, and nothing else of it. */
int	recovery_base_epoch(const struct layout *l, uint64_t first,
	uint64_t *epoch, struct err *e);
/* Looks at everything and decides; changes nothing.  ERR_CORRUPT. */
int	recovery_scan(struct recovery_run *run, struct err *e);
/* Carries it out; *out gets the segment to go on with. */
int	recovery_mend(struct recovery_run *run, struct recovery *out,
	struct err *e);
/* What readers find beside the segments: epoch/N.cose and `checkpoint`. */
int	recovery_copies(struct recovery_run *run, struct recovery *out,
	struct err *e);

#endif
