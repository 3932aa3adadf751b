/*
 * note.c - signed notes, read strictly and written.
 */
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "archive/note.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/utf8.h"

/* Em dash and a space: how each signature line begins. */
static const char dash[] = "\xe2\x80\x94 ";

enum {
	DASH_LEN = sizeof(dash) - 1,
	SIG_BLOB_LEN = VKEY_ID_LEN + VKEY_SIG_LEN,
	/* Other kinds of signatures may be longer (a witness adds a time). */
	SIG_BLOB_MAX = 1024,
	SIG_TEXT_LEN = 92,	/* base64 of SIG_BLOB_LEN, padded */
};

struct line {
	const char	*p;
	size_t		 n;	/* without the newline */
};

static int
bad(struct err *e, const char *what)
{
	return err_set(e, ERR_FORMAT, "not a signed note: %s", what);
}

static bool
has_control(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] < 0x20 && p[i] != '\n')
			return true;
	return false;
}

/* One signature line, by anyone: name, and key id and signature in blob. */
static int
parse_line(const struct line *l, struct line *name, uint8_t *blob, size_t *n,
    struct err *e)
{
	const char *sp;
	size_t left;

	if (l->n < DASH_LEN || memcmp(l->p, dash, DASH_LEN) != 0)
		return bad(e, "a signature line without its dash");
	name->p = l->p + DASH_LEN;
	left = l->n - DASH_LEN;
	sp = memchr(name->p, ' ', left);
	if (sp == NULL || sp == name->p ||
	    memchr(name->p, '+', (size_t)(sp - name->p)) != NULL)
		return bad(e, "a signature line without a key's name");
	name->n = (size_t)(sp - name->p);
	left -= name->n + 1;
	if (!base64_decode(blob, SIG_BLOB_MAX, sp + 1, left, n) ||
	    *n <= VKEY_ID_LEN)
		return bad(e, "a signature line without a signature");
	return 0;
}

static bool
is_name(const struct line *name, const struct vkey *pin)
{
	return name->n == strlen(pin->name) &&
	    memcmp(name->p, pin->name, name->n) == 0;
}

static bool
is_by(const struct line *name, const uint8_t *blob, const struct vkey *pin)
{
	return is_name(name, pin) &&
	    memcmp(blob, pin->id, VKEY_ID_LEN) == 0;
}

/* other: the id of a line of that name, or NULL. */
static int
not_by(const struct vkey *pin, const uint8_t *other, struct err *e)
{
	char want[2 * VKEY_ID_LEN + 1], id[2 * VKEY_ID_LEN + 1];

	(void)sodium_bin2hex(want, sizeof(want), pin->id, VKEY_ID_LEN);
	if (other == NULL)
		return err_set(e, ERR_AUTH,
		    "the signed note is not signed by %s+%s", pin->name, want);
	(void)sodium_bin2hex(id, sizeof(id), other, VKEY_ID_LEN);
	return err_set(e, ERR_AUTH,
	    "the signed note is not signed by %s+%s, but by %s+%s: another "
	    "key of that name",
	    pin->name, want, pin->name, id);
}

/* All signature lines; those by pin must hold. */
static int
check_lines(const char *text, size_t text_len, const char *p, size_t n,
    const struct vkey *pin, struct err *e)
{
	uint8_t blob[SIG_BLOB_MAX], other[VKEY_ID_LEN];
	bool is_signed = false, has_other = false;
	unsigned count = 0;
	size_t len;
	int r;

	while (n > 0) {
		const char *nl = memchr(p, '\n', n);
		struct line l = { p, 0 }, name = { NULL, 0 };

		if (nl == NULL)
			return bad(e, "its last line has no end");
		if (++count > NOTE_SIGNATURES_MAX)
			return bad(e, "too many signature lines");
		l.n = (size_t)(nl - p);
		if ((r = parse_line(&l, &name, blob, &len, e)) != 0)
			return r;
		if (pin != NULL && is_by(&name, blob, pin)) {
			if (len != SIG_BLOB_LEN)
				return bad(e, "a signature of another length");
			if ((r = vkey_verify(pin, text, text_len,
				 blob + VKEY_ID_LEN, e)) != 0) {
				err_ctx(e, "signed note");
				return r;
			}
			is_signed = true;
		} else if (pin != NULL && is_name(&name, pin)) {
			memcpy(other, blob, sizeof(other));
			has_other = true;
		}
		n -= l.n + 1;
		p = nl + 1;
	}
	if (count == 0)
		return bad(e, "no signature line");
	if (pin != NULL && !is_signed)
		return not_by(pin, has_other ? other : NULL, e);
	return 0;
}

int
note_open(const char **text, size_t *text_len, const char *note, size_t n,
    const struct vkey *pin, struct err *e)
{
	const char *gap, *at;
	size_t len;
	int r;

	if (n > NOTE_MAX)
		return bad(e, "longer than 4 KiB");
	if (!utf8_is_valid(note, n) || has_control(note, n))
		return bad(e, "control characters, or not UTF-8");
	/* The last empty line parts text and signatures. */
	for (gap = NULL, at = note; n - (size_t)(at - note) >= 2; at++)
		if (at[0] == '\n' && at[1] == '\n')
			gap = at;
	if (gap == NULL)
		return bad(e, "no empty line before the signatures");
	len = (size_t)(gap - note) + 1;
	if ((r = check_lines(note, len, gap + 2, n - len - 1, pin, e)) != 0)
		return r;
	*text = note;
	*text_len = len;
	return 0;
}

int
note_sign(struct bytes *out, const char *text, size_t n,
    const struct identity *id, struct err *e)
{
	const struct vkey *v = identity_vkey(id);
	uint8_t blob[SIG_BLOB_LEN];
	char b64[SIG_TEXT_LEN + 1];
	int r;

	if (n == 0 || text[n - 1] != '\n' || !utf8_is_valid(text, n) ||
	    has_control(text, n))
		return err_set(e, ERR_ARG, "a text that no note can hold");
	memcpy(blob, v->id, VKEY_ID_LEN);
	if ((r = identity_sign(id, text, n, blob + VKEY_ID_LEN, e)) != 0)
		return r;
	sodium_bin2base64(b64, sizeof(b64), blob, sizeof(blob),
	    sodium_base64_VARIANT_ORIGINAL);
	if ((r = bytes_append(out, text, n, e)) != 0)
		return r;
	return bytes_printf(out, e, "\n%s%s %s\n", dash, v->name, b64);
}
