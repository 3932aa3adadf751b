/*
 * checkpoint.c - the three lines of a log's checkpoint.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "archive/checkpoint.h"
#include "base/decimal.h"
#include "archive/note.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/units.h"

enum { ROOT_TEXT_LEN = 44 };	/* base64 of 32 bytes, padded */

static int
bad(struct err *e, const char *what)
{
	return err_set(e, ERR_FORMAT, "not a checkpoint: %s", what);
}

/* The next line of the text without its newline; false at the end. */
static bool
next_line(const char **p, size_t *n, const char **line, size_t *len)
{
	const char *nl = memchr(*p, '\n', *n);

	if (nl == NULL)
		return false;
	*line = *p;
	*len = (size_t)(nl - *p);
	*n -= *len + 1;
	*p = nl + 1;
	return true;
}

int
checkpoint_sign(struct bytes *out, const struct identity *id, uint64_t size,
    const struct merkle_hash *root, struct err *e)
{
	char b64[ROOT_TEXT_LEN + 1], text[IDENTITY_NAME_MAX + 80];
	int n;

	sodium_bin2base64(b64, sizeof(b64), root->b, sizeof(root->b),
	    sodium_base64_VARIANT_ORIGINAL);
	n = snprintf(text, sizeof(text), "%s\n%llu\n%s\n",
	    identity_vkey(id)->name, (unsigned long long)size, b64);
	return note_sign(out, text, (size_t)n, id, e);
}

int
checkpoint_open(struct checkpoint *out, const char *note, size_t n,
    const struct vkey *pin, struct err *e)
{
	struct checkpoint c;
	const char *text, *line;
	size_t text_len, len, got;
	int r;

	memset(&c, 0, sizeof(c));
	if ((r = note_open(&text, &text_len, note, n, pin, e)) != 0)
		return r;
	if (!next_line(&text, &text_len, &line, &len) ||
	    !identity_is_origin(line, len))
		return bad(e, "its first line is no origin");
	memcpy(c.origin, line, len);
	if (pin != NULL && strcmp(c.origin, pin->name) != 0)
		return err_set(e, ERR_AUTH,
		    "the checkpoint is of another log than %s", pin->name);
	if (!next_line(&text, &text_len, &line, &len) ||
	    !decimal_parse(line, len, MERKLE_SIZE_MAX, &c.size))
		return bad(e, "its second line is no size");
	if (!next_line(&text, &text_len, &line, &len) ||
	    len != ROOT_TEXT_LEN ||
	    !base64_decode(c.root.b, sizeof(c.root.b), line, len, &got) ||
	    got != sizeof(c.root.b))
		return bad(e, "its third line is no root hash");
	if (text_len != 0)
		return bad(e, "it has further lines");
	*out = c;
	return 0;
}

int
checkpoint_check_tree(const struct checkpoint *c, const struct merkle *tree,
    struct err *e)
{
	struct merkle_hash root;

	merkle_root(tree, &root);
	if (c->size != tree->size || !merkle_is_equal(&root, &c->root))
		return err_set(e, ERR_CORRUPT,
		    "the log of %llu %s has another root than its signed "
		    "checkpoint of %llu",
		    (unsigned long long)tree->size,
		    units_word(tree->size, "entry", "entries"),
		    (unsigned long long)c->size);
	return 0;
}
