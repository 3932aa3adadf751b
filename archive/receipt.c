/*
 * receipt.c - C2SP tlog-proof text.
 */
#include <sodium.h>
#include <string.h>

#include "base/decimal.h"
#include "archive/note.h"
#include "archive/receipt.h"
#include "archive/segment.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/err.h"

static const char first_line[] = "c2sp.org/tlog-proof@v1";

enum {
	HASH_TEXT_LEN = 44,
	EXTRA_TEXT_MAX = (SEAL_LEAF_LEN + 2) / 3 * 4,
};

struct cursor {
	const char	*p;
	size_t		 n;
};

static int
bad(struct err *e, const char *what)
{
	return err_set(e, ERR_FORMAT, "not a receipt: %s", what);
}

/* Takes a line; false when there is no newline. */
static bool
take_line(struct cursor *c, struct cursor *line)
{
	const char *nl = memchr(c->p, '\n', c->n);

	if (nl == NULL)
		return false;
	line->p = c->p;
	line->n = (size_t)(nl - c->p);
	c->n -= line->n + 1;
	c->p = nl + 1;
	return true;
}

static bool
take_word(struct cursor *line, const char *word)
{
	size_t n = strlen(word);

	if (line->n < n || memcmp(line->p, word, n) != 0)
		return false;
	line->p += n;
	line->n -= n;
	return true;
}

int
receipt_make(struct bytes *out, const uint8_t *leaf_data, size_t n,
    const struct merkle_proof *proof, const char *note, size_t note_len,
    struct err *e)
{
	char text[EXTRA_TEXT_MAX + 1];
	int r;

	if (n > SEAL_LEAF_LEN)
		return err_set(e, ERR_ARG, "leaf data of %zu bytes", n);
	sodium_bin2base64(text, sizeof(text), leaf_data, n,
	    sodium_base64_VARIANT_ORIGINAL);
	if ((r = bytes_printf(out, e, "%s\nextra %s\nindex %llu\n",
		 first_line, text, (unsigned long long)proof->index)) != 0)
		return r;
	for (size_t i = 0; i < proof->n; i++) {
		sodium_bin2base64(text, sizeof(text), proof->node[i].b,
		    MERKLE_LEN, sodium_base64_VARIANT_ORIGINAL);
		if ((r = bytes_printf(out, e, "%s\n", text)) != 0)
			return r;
	}
	if ((r = bytes_append_byte(out, '\n', e)) != 0)
		return r;
	return bytes_append(out, note, note_len, e);
}

static int
parse_leaf(struct receipt *rc, const struct cursor *text, struct err *e)
{
	uint8_t data[SEAL_LEAF_LEN], again[SEGMENT_MANIFEST_LEAF_LEN];
	size_t n;

	if (!base64_decode(data, sizeof(data), text->p, text->n, &n))
		return bad(e, "its leaf data is no base64, or too long");
	merkle_leaf(&rc->leaf, data, n);
	if (n == SEGMENT_MANIFEST_LEAF_LEN) {
		memcpy(rc->digest, data + n - sizeof(rc->digest),
		    sizeof(rc->digest));
		segment_manifest_leaf(again, rc->digest);
		if (memcmp(again, data, n) != 0)
			return bad(e, "its leaf data is not a manifest's");
		rc->is_manifest = true;
		return 0;
	}
	return seal_parse_leaf(&rc->head, rc->digest, data, n, e);
}

int
receipt_parse(struct receipt *out, const char *p, size_t n, struct err *e)
{
	struct cursor c = { p, n }, line;
	struct receipt rc;
	size_t got;
	int r;

	memset(&rc, 0, sizeof(rc));
	if (n > RECEIPT_MAX)
		return bad(e, "longer than 8 KiB");
	if (!take_line(&c, &line) || line.n != sizeof(first_line) - 1 ||
	    !take_word(&line, first_line))
		return bad(e, "its first line is another");
	if (!take_line(&c, &line) || !take_word(&line, "extra "))
		return bad(e, "no line with the leaf data");
	if ((r = parse_leaf(&rc, &line, e)) != 0)
		return r;
	if (!take_line(&c, &line) || !take_word(&line, "index ") ||
	    !decimal_parse(line.p, line.n, MERKLE_SIZE_MAX, &rc.proof.index))
		return bad(e, "no line with the index");
	for (;;) {
		if (!take_line(&c, &line))
			return bad(e, "no empty line behind the hashes");
		if (line.n == 0)
			break;
		if (rc.proof.n == MERKLE_LEVELS)
			return bad(e, "more hashes than any log needs");
		if (line.n != HASH_TEXT_LEN ||
		    !base64_decode(rc.proof.node[rc.proof.n].b, MERKLE_LEN,
			line.p, line.n, &got) ||
		    got != MERKLE_LEN)
			return bad(e, "a line that is no hash");
		rc.proof.n++;
	}
	rc.note = c.p;
	rc.note_len = c.n;
	*out = rc;
	return 0;
}

int
receipt_verify(struct receipt *out, struct checkpoint *cp, const char *p,
    size_t n, const struct vkey *pin, struct err *e)
{
	struct checkpoint c;
	struct receipt rc;
	int r;

	if ((r = receipt_parse(&rc, p, n, e)) != 0 ||
	    (r = checkpoint_open(&c, rc.note, rc.note_len, pin, e)) != 0)
		goto out;
	rc.proof.size = c.size;
	if ((r = merkle_proof_verify(&rc.proof, &rc.leaf, &c.root, e)) != 0)
		goto out;
	*out = rc;
	if (cp != NULL)
		*cp = c;
out:
	if (r != 0)
		err_ctx(e, "receipt");
	return r;
}
