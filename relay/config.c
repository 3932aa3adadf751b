/*
 * config.c - reading amberd's configuration.  Printing and reloading are in
 * config_print.c, the check of the whole in config_check.c.
 */
#include <assert.h>
#include <ctype.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/units.h"
#include "relay/config.h"
#include "relay/config_keys.h"

static size_t
number_of(const struct config_key *k)
{
	size_t n;

	return (size_t)(k - config_keys(&n));
}

static void
list_clear(struct config_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->at[i]);
	free(l->at);
	free(l->where);
	*l = (struct config_list){ NULL, NULL, 0 };
}

static int
list_add(struct config_list *l, const char *value, size_t len, int given,
    struct err *e)
{
	char **at;
	int *where;

	if (l->n == CONFIG_LIST_MAX)
		return err_set(e, ERR_ARG, "more than %d values",
		    CONFIG_LIST_MAX);
	if ((at = reallocarray(l->at, l->n + 1, sizeof(*at))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the config");
	l->at = at;
	where = reallocarray(l->where, l->n + 1, sizeof(*where));
	if (where == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the config");
	l->where = where;
	l->where[l->n] = given;
	if ((l->at[l->n] = strndup(value, len)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the config");
	l->n++;
	return 0;
}

static int
text_set(char **at, const char *value, struct err *e)
{
	char *copy;

	if ((copy = strdup(value)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the config");
	free(*at);
	*at = copy;
	return 0;
}

static bool
is_word_of(const char *words, const char *value)
{
	size_t n = strlen(value);
	const char *at;

	if (strchr(value, ' ') != NULL)
		return false;
	for (at = words; n > 0 && (at = strstr(at, value)) != NULL; at += n)
		if ((at == words || at[-1] == ' ') &&
		    (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

static int
number_set(uint64_t *at, const struct config_key *k, const char *value,
    struct err *e)
{
	uint64_t v;
	int r;

	if (k->kind == CONFIG_SIZE)
		r = units_parse_size(value, &v, e);
	else if (k->kind == CONFIG_MS)
		r = units_parse_duration_ms(value, &v, e);
	else
		r = units_parse_uint(value, k->lo, k->hi, &v, e);
	if (r != 0)
		return r;
	if (v < k->lo || v > k->hi)
		return err_set(e, ERR_ARG, "%s is out of range: %llu..%llu %s",
		    value, (unsigned long long)k->lo, (unsigned long long)k->hi,
		    k->kind == CONFIG_MS ? "ms" : "bytes");
	*at = v;
	return 0;
}

static int
word_set(struct config *c, const struct config_key *k, const char *value,
    struct err *e)
{
	if (!is_word_of(k->words, value))
		return err_set(e, ERR_ARG, "\"%.40s\" is none of: %s", value,
		    k->words);
	return text_set(config_keys_at(c, k), value, e);
}

static int
flag_set(bool *at, const char *value, struct err *e)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return err_set(e, ERR_ARG, "\"%.40s\" is neither yes nor no",
		    value);
	*at = value[0] == 'y';
	return 0;
}

static int
value_set(struct config *c, const struct config_key *k, const char *value,
    int given, struct err *e)
{
	switch (k->kind) {
	case CONFIG_COUNT:
	case CONFIG_SIZE:
	case CONFIG_MS:
		return number_set(config_keys_at(c, k), k, value, e);
	case CONFIG_FLAG:
		return flag_set(config_keys_at(c, k), value, e);
	case CONFIG_TEXT:
		return text_set(config_keys_at(c, k), value, e);
	case CONFIG_WORD:
		return word_set(c, k, value, e);
	case CONFIG_LIST:
		return list_add(config_keys_at(c, k), value, strlen(value),
		    given, e);
	}
	return err_set(e, ERR_ARG, "no such kind of key");
}

/* A default's text: a list's values stand in one string. */
static int
default_set(struct config *c, const struct config_key *k, struct err *e)
{
	const char *at = k->demo;
	size_t n;
	int r = 0;

	if (config_is_production(c) && k->production != NULL)
		at = k->production;
	if (k->kind != CONFIG_LIST)
		return value_set(c, k, at, CONFIG_DEFAULT, e);
	list_clear(config_keys_at(c, k));
	for (; *at != '\0' && r == 0; at += n + strspn(at + n, " ")) {
		n = strcspn(at, " ");
		r = list_add(config_keys_at(c, k), at, n, CONFIG_DEFAULT, e);
	}
	return r;
}

bool
config_is_production(const struct config *c)
{
	return strcmp(c->profile, "production") == 0;
}

int
config_use_profile(struct config *c, const char *name, struct err *e)
{
	const struct config_key *k, *profile = config_keys_find("profile");
	size_t i, n;
	int r;

	k = config_keys(&n);
	assert(n <= CONFIG_KEYS_MAX);
	if ((r = word_set(c, profile, name, e)) != 0) {
		err_ctx(e, "profile");
		return r;
	}
	for (i = 0; i < n; i++)
		if (&k[i] != profile && c->where[i] == CONFIG_DEFAULT &&
		    (r = default_set(c, &k[i], e)) != 0)
			return r;
	return 0;
}

int
config_new(struct config **out, struct err *e)
{
	struct config *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the config");
	if ((r = config_use_profile(c, "demo", e)) != 0) {
		config_free(&c);
		return r;
	}
	*out = c;
	return 0;
}

void
config_free(struct config **cp)
{
	const struct config_key *k;
	size_t i, n;

	if (*cp == NULL)
		return;
	k = config_keys(&n);
	for (i = 0; i < n; i++) {
		if (k[i].kind == CONFIG_LIST)
			list_clear(config_keys_at(*cp, &k[i]));
		else if (k[i].kind == CONFIG_TEXT || k[i].kind == CONFIG_WORD)
			free(*(char **)config_keys_at(*cp, &k[i]));
	}
	free((*cp)->file);
	free(*cp);
	*cp = NULL;
}

static int
unknown_key(const char *name, struct err *e)
{
	const char *near = config_keys_nearest(name);

	/* inih takes what stands before "=" or ":" for a key. */
	if (strpbrk(name, " \t") != NULL)
		return err_set(e, ERR_ARG, "\"%.60s\": not \"key = value\"",
		    name);
	if (near != NULL)
		return err_set(e, ERR_ARG,
		    "unknown key \"%.40s\"; did you "
		    "mean \"%s\"?",
		    name, near);
	return err_set(e, ERR_ARG,
	    "unknown key \"%.40s\"; amberd "
	    "--print-config shows all",
	    name);
}

/* What one pass over a text knows. */
struct load {
	struct config	*c;
	const char	*at;			/* what is to be read */
	int		 line;			/* the last one read */
	struct err	 fail;			/* the first */
	bool		 is_seen[CONFIG_KEYS_MAX];	/* in this text */
	bool		 profile_only;
};

static int
load_key(struct load *l, const char *name, const char *value)
{
	const struct config_key *k = config_keys_find(name);
	size_t i;
	int r;

	if (k == NULL)
		return unknown_key(name, &l->fail);
	i = number_of(k);
	if (l->is_seen[i] && k->kind != CONFIG_LIST)
		return err_set(&l->fail, ERR_ARG, "\"%s\" is given twice",
		    name);
	if (k->kind == CONFIG_LIST && !l->is_seen[i])
		list_clear(config_keys_at(l->c, k));
	l->c->where[i] = l->is_seen[i] ? CONFIG_MANY : l->line;
	l->is_seen[i] = true;
	if (k->kind == CONFIG_LIST && value[0] == '\0')
		return 0;
	if ((r = value_set(l->c, k, value, l->line, &l->fail)) != 0)
		err_ctx(&l->fail, "%s", name);
	return r;
}

/* inih's handler: 0 is an error, whose line inih then returns. */
static int
load_on_pair(void *arg, const char *section, const char *name,
    const char *value)
{
	struct load *l = arg;

	if (l->fail.code != 0)
		return 1;	/* only the first counts */
	(void)section;		/* check_line() lets none through */
	if (l->profile_only) {
		if (strcmp(name, "profile") != 0)
			return 1;
		return config_use_profile(l->c, value, &l->fail) == 0;
	}
	return load_key(l, name, value) == 0;
}

/* What inih would take without a word: long lines, sections without keys, and
 * lines that begin with a blank, which it appends to the key before. */
static int
check_line(const char *at, size_t len, struct err *e)
{
	const char *close = memchr(at, ']', len);
	size_t blanks = 0;

	if (len > CONFIG_LINE_MAX)
		return err_set(e, ERR_ARG, "%zu bytes; at most %d are "
		    "possible (repeat the key for a list)", len,
		    CONFIG_LINE_MAX);
	while (blanks < len && isspace((unsigned char)at[blanks]))
		blanks++;
	if (blanks > 0 && blanks < len)
		return err_set(e, ERR_ARG, "begins with a blank");
	if (len > 0 && at[0] == '[')
		return err_set(e, ERR_ARG, "section %.*s: keys stand without "
		    "sections", (int)(close == NULL ? len :
		    (size_t)(close - at) + 1), at);
	return 0;
}

static int
check_lines(const char *text, size_t n, struct err *e)
{
	static const char mark[] = "\xef\xbb\xbf";	/* inih skips it too */
	const char *at = text, *end = text + n, *nl;
	unsigned line = 1;
	size_t len;
	int r;

	if (memchr(text, '\0', n) != NULL)
		return err_set(e, ERR_ARG, "a NUL byte: this is no text");
	if (n >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0)
		at += strlen(mark);
	for (; at < end; at += len + 1, line++) {
		nl = memchr(at, '\n', (size_t)(end - at));
		len = (size_t)((nl == NULL ? end : nl) - at);
		if ((r = check_line(at, len, e)) != 0) {
			err_ctx(e, "line %u", line);
			return r;
		}
	}
	return 0;
}

/* fgets(3) for inih, which tells its handler no lines. */
static char *
read_line(char *out, int size, void *arg)
{
	struct load *l = arg;
	size_t n = strcspn(l->at, "\n");

	if (*l->at == '\0')
		return NULL;
	n += l->at[n] == '\n';
	assert(n < (size_t)size);	/* check_lines() */
	memcpy(out, l->at, n);
	out[n] = '\0';
	l->at += n;
	l->line++;
	return out;
}

static int
load_pass(struct config *c, const char *text, bool profile_only, struct err *e)
{
	struct load l = { .c = c, .at = text, .profile_only = profile_only };
	int line;

	line = ini_parse_stream(read_line, &l, load_on_pair, &l);
	if (line == 0)
		return 0;
	if (line < 0)
		return err_set(e, ERR_NOMEM, "no memory for the config");
	if (l.fail.code == 0 && profile_only)
		return 0;	/* the second pass says it */
	if (l.fail.code == 0)
		return err_set(e, ERR_ARG, "line %d: not \"key = value\"",
		    line);
	if (e != NULL)
		*e = l.fail;
	err_ctx(e, "line %d", line);
	return l.fail.code;
}

int
config_load_text(struct config *c, const char *text, size_t n, struct err *e)
{
	char *copy;
	int r;

	if ((r = check_lines(text, n, e)) != 0)
		return r;
	if ((copy = strndup(text, n)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the config");
	if ((r = load_pass(c, copy, true, e)) == 0)
		r = load_pass(c, copy, false, e);
	free(copy);
	return r;
}

int
config_load_file(struct config *c, const char *path, struct err *e)
{
	struct bytes text = BYTES_INIT(CONFIG_FILE_MAX);
	int r;

	if ((r = io_read_file(path, &text, e)) == 0 &&
	    (r = text_set(&c->file, path, e)) == 0)
		r = config_load_text(c,
		    text.p == NULL ? "" : (const char *)text.p, text.len, e);
	if (r != 0)
		err_ctx(e, "config %s", path);
	bytes_free(&text);
	return r;
}

/* What could not stand on a line of a file: the relay is given all values as
 * one, and must understand what was checked here. */
static int
check_value(const char *assignment, const char *value, struct err *e)
{
	size_t n = strlen(value);
	const char *at;

	for (at = value; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return err_set(e, ERR_ARG,
			    "a control character in the value");
	if (n > 0 && (value[0] == ' ' || value[n - 1] == ' '))
		return err_set(e, ERR_ARG,
		    "the value begins or ends with a blank");
	if (strstr(value, " ;") != NULL)
		return err_set(e, ERR_ARG,
		    "\" ;\" in the value: in a file it begins a comment");
	if (strlen(assignment) > CONFIG_LINE_MAX)
		return err_set(e, ERR_ARG,
		    "%zu bytes; at most %d are possible", strlen(assignment),
		    CONFIG_LINE_MAX);
	return 0;
}

int
config_set(struct config *c, const char *assignment, struct err *e)
{
	const struct config_key *k;
	const char *eq = strchr(assignment, '=');
	char name[64];
	int *where, r;
	size_t n;

	if (eq == NULL || eq == assignment ||
	    (n = (size_t)(eq - assignment)) >= sizeof(name))
		return err_set(e, ERR_ARG, "\"%.60s\" is not key=value",
		    assignment);
	memcpy(name, assignment, n);
	name[n] = '\0';
	if ((k = config_keys_find(name)) == NULL)
		return unknown_key(name, e);
	if (strcmp(name, "profile") == 0)
		return config_use_profile(c, eq + 1, e);
	where = &c->where[number_of(k)];
	if (k->kind == CONFIG_LIST && eq[1] == '\0') {
		list_clear(config_keys_at(c, k));
		*where = CONFIG_FLAG_GIVEN;
		return 0;
	}
	*where = k->kind == CONFIG_LIST &&
		((struct config_list *)config_keys_at(c, k))->n > 0 ?
	    CONFIG_MANY : CONFIG_FLAG_GIVEN;
	if ((r = check_value(assignment, eq + 1, e)) != 0 ||
	    (r = value_set(c, k, eq + 1, CONFIG_FLAG_GIVEN, e)) != 0)
		err_ctx(e, "%s", name);
	return r;
}
