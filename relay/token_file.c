/*
 * token_file.c - parsing the file and checking a token.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "relay/token_file.h"

enum { HASH_LEN = crypto_hash_sha256_BYTES };

struct token {
	char		name[TOKEN_FILE_NAME_MAX + 1];
	uint8_t		hash[HASH_LEN];
	uint64_t	uses;
};

struct token_file {
	struct token	*at;
	size_t		 n;
};

static bool
is_name(const char *s, size_t n)
{
	static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789._-";

	return n > 0 && n <= TOKEN_FILE_NAME_MAX && strspn(s, chars) >= n;
}

static bool
hash_parse(uint8_t out[HASH_LEN], const char *hex, size_t n)
{
	size_t len = 0;

	return n == 2 * HASH_LEN &&
	    sodium_hex2bin(out, HASH_LEN, hex, n, NULL, &len, NULL) == 0 &&
	    len == HASH_LEN;
}

static int
token_add(struct token_file *t, const struct token *x, struct err *e)
{
	struct token *at;
	size_t i;

	for (i = 0; i < t->n; i++) {
		if (strcmp(t->at[i].name, x->name) == 0)
			return err_set(e, ERR_ARG, "\"%s\" stands twice",
			    x->name);
		if (memcmp(t->at[i].hash, x->hash, HASH_LEN) == 0)
			return err_set(e, ERR_ARG,
			    "\"%s\" has the token of \"%s\"", x->name,
			    t->at[i].name);
	}
	if (t->n == TOKEN_FILE_MAX)
		return err_set(e, ERR_LIMIT, "more than %d tokens",
		    TOKEN_FILE_MAX);
	if ((at = reallocarray(t->at, t->n + 1, sizeof(*at))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the tokens");
	t->at = at;
	t->at[t->n++] = *x;
	return 0;
}

/* One line, NUL-terminated, without its end. */
static int
line_parse(struct token_file *t, const char *s, struct err *e)
{
	struct token x = { .uses = 0 };
	size_t n, h;

	s += strspn(s, " \t");
	if (*s == '\0' || *s == '#')
		return 0;
	n = strcspn(s, " \t");
	if (!is_name(s, n))
		return err_set(e, ERR_ARG, "a name is 1..%d of [A-Za-z0-9._-]",
		    TOKEN_FILE_NAME_MAX);
	memcpy(x.name, s, n);
	s += n + strspn(s + n, " \t");
	h = strcspn(s, " \t");
	if (!hash_parse(x.hash, s, h) || s[h + strspn(s + h, " \t")] != '\0')
		return err_set(e, ERR_ARG,
		    "\"%s\" is not followed by the "
		    "SHA-256 of its token as 64 hex digits alone",
		    x.name);
	return token_add(t, &x, e);
}

static int
lines_parse(struct token_file *t, char *text, struct err *e)
{
	unsigned line = 0;
	char *s, *next;
	int r;

	for (s = text; s != NULL; s = next) {
		line++;
		if ((next = strchr(s, '\n')) != NULL)
			*next++ = '\0';
		s[strcspn(s, "\r")] = '\0';
		if ((r = line_parse(t, s, e)) != 0) {
			err_ctx(e, "line %u", line);
			return r;
		}
	}
	if (t->n == 0)
		return err_set(e, ERR_ARG,
		    "no token in it: nobody could "
		    "fetch; leave token_file empty for open access");
	return 0;
}

int
token_file_parse(struct token_file **out, const char *text, size_t n,
    struct err *e)
{
	struct token_file *t;
	char *copy = NULL;
	int r;

	if (memchr(text, '\0', n) != NULL)
		return err_set(e, ERR_ARG, "a NUL byte: this is no text");
	if ((t = calloc(1, sizeof(*t))) == NULL ||
	    (copy = strndup(text, n)) == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for the tokens");
	else
		r = lines_parse(t, copy, e);
	free(copy);
	if (r != 0)
		token_file_free(&t);
	else
		*out = t;
	return r;
}

int
token_file_load(struct token_file **out, const char *path, struct err *e)
{
	struct bytes text = BYTES_INIT(TOKEN_FILE_BYTES_MAX);
	int r;

	if ((r = io_read_file(path, &text, e)) == 0)
		r = token_file_parse(out,
		    text.p == NULL ? "" : (const char *)text.p, text.len, e);
	if (r != 0)
		err_ctx(e, "token file %s", path);
	bytes_free(&text);
	return r;
}

void
token_file_free(struct token_file **tp)
{
	if (*tp == NULL)
		return;
	free((*tp)->at);
	free(*tp);
	*tp = NULL;
}

int
token_file_check(const struct token_file *t, const char *value, size_t n)
{
	static const char scheme[] = "Bearer ";
	uint8_t hash[HASH_LEN];
	size_t i, skip = sizeof(scheme) - 1;
	int found = -1;

	if (n <= skip || strncasecmp(value, scheme, skip) != 0)
		return -1;
	while (skip < n && value[skip] == ' ')
		skip++;
	crypto_hash_sha256(hash, (const uint8_t *)value + skip, n - skip);
	/* No early end: the time tells nothing about which line matched. */
	for (i = 0; i < t->n; i++)
		if (sodium_memcmp(hash, t->at[i].hash, HASH_LEN) == 0)
			found = (int)i;
	WIPE(hash);
	return found;
}

size_t
token_file_count(const struct token_file *t)
{
	return t->n;
}

const char *
token_file_name(const struct token_file *t, size_t i)
{
	return t->at[i].name;
}

uint64_t
token_file_uses(const struct token_file *t, size_t i)
{
	return t->at[i].uses;
}

void
token_file_use(struct token_file *t, size_t i)
{
	t->at[i].uses++;
}

void
token_file_keep_uses(struct token_file *t, const struct token_file *old)
{
	size_t i, j;

	for (i = 0; i < t->n; i++)
		for (j = 0; j < old->n; j++)
			if (strcmp(t->at[i].name, old->at[j].name) == 0)
				t->at[i].uses = old->at[j].uses;
}
