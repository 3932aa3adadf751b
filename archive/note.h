/*
 * note.h - C2SP signed notes: text, an empty line, signature lines.
 *
 * Text is UTF-8 without control characters but newline, and ends in a
 * newline.  Lines of keys that are not the pinned one are read strictly and
 * otherwise ignored, as the C2SP page wants.
 */
#ifndef AMBER_ARCHIVE_NOTE_H
#define AMBER_ARCHIVE_NOTE_H

#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;
struct identity;
struct vkey;

enum {
	NOTE_MAX = 4096,		/* bytes of a whole note */
	NOTE_SIGNATURES_MAX = 16,
};

/* Checks the shape and the signature by pin; *text then points at the
 * signed text within note.  ERR_FORMAT, or ERR_AUTH when no line of pin's
 * key is there or its signature does not hold.  pin NULL: shape only. */
int	note_open(const char **text, size_t *text_len, const char *note,
	size_t n, const struct vkey *pin, struct err *e);

/* Appends text, the empty line and one signature line. */
int	note_sign(struct bytes *out, const char *text, size_t n,
	const struct identity *id, struct err *e);

#endif
