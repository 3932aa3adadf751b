/*
 * head_view.h - a stored HTTP head, looked at without judging it.
 *
 * A record holds heads as they came, malformed ones too.  This finds lines
 * and fields in them and never fails: what has no colon is passed over, a
 * folded line belongs to the field before it, bare LF ends a line like CRLF.
 * Nothing is copied.  (The relay's strict parser lives elsewhere; an archive
 * reader must show what that one refused.)
 */
#ifndef AMBER_ARCHIVE_HEAD_VIEW_H
#define AMBER_ARCHIVE_HEAD_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "archive/capture.h"

struct bytes;
struct err;

struct head_view {
	const char	*p;		/* what is left */
	size_t		 n;
};

struct head_line {
	const char	*line;		/* with its line end and folded lines */
	size_t		 line_len;
	const char	*name;		/* NULL: no field (the first line, */
	size_t		 name_len;	/* the empty one, rubbish) */
	const char	*value;		/* without blanks around it */
	size_t		 value_len;
};

void	head_view_begin(struct head_view *v, const struct capture_bytes *head);
/* False at the end.  The first line counts as one without a name. */
bool	head_view_next(struct head_view *v, struct head_line *out);

/* Without regard to case. */
bool	head_view_is_name(const struct head_line *l, const char *name);
/* The i-th such field's value (from 0); absent: p is NULL. */
struct capture_text head_view_find(const struct capture_bytes *head,
    const char *name, size_t i);
/* How many such fields. */
size_t	head_view_count(const struct capture_bytes *head, const char *name);

/*
 * A head that fits a body without transfer coding: Transfer-Encoding and
 * Trailer dropped; if length is not SIZE_MAX, Content-Length dropped too and
 * set to it, the last field.  All other bytes stay as they are.  Appends to
 * out; *is_changed tells whether it differs.
 */
int	head_view_rewrite(struct bytes *out, const struct capture_bytes *head,
	size_t length, bool *is_changed, struct err *e);

#endif
