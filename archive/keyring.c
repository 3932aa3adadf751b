/*
 * keyring.c - keys by file.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "archive/epochs.h"
#include "archive/keyring.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/key_file.h"
#include "base/secret.h"

enum {
	HEX_LEN = 2 * SEAL_KEY_LEN,
	BASE64_LEN = 43,
};

struct slot {
	struct secret	*key;
	char		*path;
	bool		 is_numbered, is_bound;
	uint64_t	 number;
	uint8_t		 puzzle[SEAL_ID_LEN];
};

struct keyring {
	struct slot	*v;
	size_t		 n;
};

int
keyring_new(struct keyring **out, struct err *e)
{
	if ((*out = calloc(1, sizeof(**out))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for keys");
	return 0;
}

void
keyring_free(struct keyring **kp)
{
	struct keyring *k = *kp;

	if (k == NULL)
		return;
	for (size_t i = 0; i < k->n; i++) {
		secret_free(&k->v[i].key);
		free(k->v[i].path);
	}
	free(k->v);
	free(k);
	*kp = NULL;
}

size_t
keyring_count(const struct keyring *k)
{
	return k->n;
}

/* ---- the two texts ---- */

static size_t
without_newline(const char *p, size_t n)
{
	return n > 0 && p[n - 1] == '\n' ? n - 1 : n;
}

bool
keyring_parse_hex(uint8_t out[SEAL_KEY_LEN], const char *p, size_t n)
{
	const char *end = NULL;
	size_t got = 0;

	n = without_newline(p, n);
	return n == HEX_LEN &&
	    sodium_hex2bin(out, SEAL_KEY_LEN, p, n, NULL, &got, &end) == 0 &&
	    got == SEAL_KEY_LEN && end == p + n;
}

bool
keyring_parse_base64url(uint8_t out[SEAL_KEY_LEN], const char *p, size_t n)
{
	const char *end = NULL;
	size_t got = 0;

	n = without_newline(p, n);
	if (n != BASE64_LEN)
		return false;
	/* libsodium takes bytes above 0x7F for a digit. */
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] > 0x7f)
			return false;
	return sodium_base642bin(out, SEAL_KEY_LEN, p, n, NULL, &got, &end,
		   sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
	    got == SEAL_KEY_LEN && end == p + n;
}

static int
read_key(const char *path,
    bool (*parse)(uint8_t out[SEAL_KEY_LEN], const char *p, size_t n),
    const char *form, struct secret **out, struct err *e)
{
	struct bytes text = BYTES_INIT(KEY_FILE_MAX);
	struct secret *key = NULL;
	int r;

	if ((r = secret_new(&key, SEAL_KEY_LEN, e)) != 0)
		return r;
	r = key_file_read(path, &text, e);
	if (r == ERR_LIMIT ||
	    (r == 0 && !parse(key->p, (const char *)text.p, text.len)))
		r = err_set(e, ERR_FORMAT, "it is not %s", form);
	bytes_free(&text);
	if (r == 0) {
		*out = key;
		key = NULL;
	} else
		err_ctx(e, "key file %s", path);
	secret_free(&key);
	return r;
}

int
keyring_read_record_key(const char *path, struct secret **out, struct err *e)
{
	return read_key(path, keyring_parse_base64url,
	    "a record's key: 43 characters of base64url and a newline", out,
	    e);
}

/* ---- collecting ---- */

static int
add(struct keyring *k, const char *path, bool is_numbered, uint64_t number,
    struct err *e)
{
	struct slot s = { .is_numbered = is_numbered, .number = number }, *v;
	int r;

	if (k->n == KEYRING_MAX)
		return err_set(e, ERR_LIMIT, "more than %d keys",
		    KEYRING_MAX);
	if ((r = read_key(path, keyring_parse_hex,
		 "an epoch's key: 64 hex digits and a newline, as "
		 "amber-timelock solve writes it",
		 &s.key, e)) != 0)
		return r;
	s.path = strdup(path);
	v = realloc(k->v, (k->n + 1) * sizeof(*v));
	if (v != NULL)
		k->v = v;
	if (s.path == NULL || v == NULL) {
		secret_free(&s.key);
		free(s.path);
		return err_set(e, ERR_NOMEM, "no memory for keys");
	}
	k->v[k->n++] = s;
	return 0;
}

int
keyring_add(struct keyring *k, const char *path, struct err *e)
{
	return add(k, path, false, 0, e);
}

int
keyring_add_numbered(struct keyring *k, const char *arg, struct err *e)
{
	const char *eq = strchr(arg, '=');
	uint64_t number;

	if (eq == NULL || eq[1] == '\0' ||
	    !decimal_parse(arg, (size_t)(eq - arg), UINT64_MAX, &number))
		return err_set(e, ERR_ARG,
		    "an epoch's key is given as N=FILE, N a number");
	return add(k, eq + 1, true, number, e);
}

/* ---- whose are they? ---- */

static int
bind_one(struct slot *s, const struct epochs *epochs, struct err *e)
{
	bool is_known = false;

	for (size_t i = 0; i < epochs->n; i++) {
		const struct epoch *ep = &epochs->v[i].epoch;

		if (s->is_numbered && ep->number != s->number)
			continue;
		is_known = true;
		if (epoch_check_key(ep, s->key->p, NULL) != 0)
			continue;
		s->is_bound = true;
		memcpy(s->puzzle, ep->puzzle, sizeof(s->puzzle));
		return 0;
	}
	if (!s->is_numbered)
		return err_set(e, ERR_AUTH,
		    "key file %s: it is the key of none of the archive's "
		    "epochs (%zu)",
		    s->path, epochs->n);
	return err_set(e, ERR_AUTH,
	    is_known ? "key file %s: it is not the key of epoch %llu" :
		       "key file %s: the archive has no epoch %llu",
	    s->path, (unsigned long long)s->number);
}

int
keyring_bind(struct keyring *k, const struct epochs *epochs, struct err *e)
{
	int r;

	for (size_t i = 0; i < k->n; i++)
		if ((r = bind_one(&k->v[i], epochs, e)) != 0)
			return r;
	return 0;
}

const uint8_t *
keyring_find(const struct keyring *k, const uint8_t puzzle[SEAL_ID_LEN])
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].is_bound &&
		    memcmp(k->v[i].puzzle, puzzle, SEAL_ID_LEN) == 0)
			return k->v[i].key->p;
	return NULL;
}
