/*
 * config_print.c - a config's values as text, its reference, and what SIGHUP
 * may change.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "relay/config.h"
#include "relay/config_keys.h"

/* The largest unit that keeps the number whole. */
static void
print_size(FILE *f, uint64_t v)
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB" };
	size_t i = 0;

	while (i < 3 && v != 0 && v % 1024 == 0) {
		v /= 1024;
		i++;
	}
	fprintf(f, "%" PRIu64 "%s", v, units[i]);
}

static void
print_ms(FILE *f, uint64_t v)
{
	static const struct { uint64_t ms; const char *unit; } rows[] = {
		{ 86400000, "d" }, { 3600000, "h" }, { 60000, "m" },
		{ 1000, "s" }, { 1, "ms" },
	};
	size_t i = 0;

	while (v % rows[i].ms != 0)
		i++;
	fprintf(f, "%" PRIu64 "%s", v / rows[i].ms, rows[i].unit);
}

static void
print_value(FILE *f, const struct config *c, const struct config_key *k)
{
	const void *at = config_keys_in(c, k);

	switch (k->kind) {
	case CONFIG_COUNT:
		fprintf(f, "%" PRIu64, *(const uint64_t *)at);
		break;
	case CONFIG_SIZE:
		print_size(f, *(const uint64_t *)at);
		break;
	case CONFIG_MS:
		print_ms(f, *(const uint64_t *)at);
		break;
	case CONFIG_FLAG:
		fputs(*(const bool *)at ? "yes" : "no", f);
		break;
	case CONFIG_TEXT:
	case CONFIG_WORD:
		fputs(*(char *const *)at, f);
		break;
	case CONFIG_LIST:
		break;
	}
}

/* A line that was read loads again: blanks around the "=" only where they do
 * not make it too long, nor ";" the beginning of a comment. */
static const char *
equals(const struct config_key *k, const char *value)
{
	return value[0] == ';' ||
		strlen(k->name) + 3 + strlen(value) > CONFIG_LINE_MAX ?
	    "=" :
	    " = ";
}

static const char *
text_of(const struct config *c, const struct config_key *k)
{
	return k->kind == CONFIG_TEXT ?
	    *(char *const *)config_keys_in(c, k) :
	    "";
}

void
config_print(const struct config *c, FILE *f)
{
	const struct config_key *k;
	const struct config_list *l;
	size_t i, j, n;

	k = config_keys(&n);
	for (i = 0; i < n; i++) {
		fprintf(f, "; %s\n", k[i].text);
		if (k[i].kind != CONFIG_LIST) {
			fprintf(f, "%s%s", k[i].name,
			    equals(&k[i], text_of(c, &k[i])));
			print_value(f, c, &k[i]);
			fputc('\n', f);
			continue;
		}
		l = config_keys_in(c, &k[i]);
		for (j = 0; j < l->n; j++)
			fprintf(f, "%s%s%s\n", k[i].name,
			    equals(&k[i], l->at[j]), l->at[j]);
		if (l->n == 0)
			fprintf(f, "%s =\n", k[i].name);
	}
}

static const char *
unit_of(const struct config_key *k)
{
	switch (k->kind) {
	case CONFIG_COUNT:
		return "number";
	case CONFIG_SIZE:
		return "size";
	case CONFIG_MS:
		return "duration";
	case CONFIG_FLAG:
		return "yes, no";
	case CONFIG_WORD:
		return k->words;
	case CONFIG_LIST:
		return "list";
	case CONFIG_TEXT:
		break;
	}
	return "text";
}

void
config_print_reference(FILE *f)
{
	const struct config_key *k;
	const char *prod;
	size_t i, n;

	fputs("| key | value | demo | production | SIGHUP | meaning |\n"
	      "|---|---|---|---|---|---|\n",
	    f);
	k = config_keys(&n);
	for (i = 0; i < n; i++) {
		prod = k[i].production != NULL ? k[i].production : k[i].demo;
		fprintf(f, "| `%s` | %s | %s | %s | %s | %s |\n", k[i].name,
		    unit_of(&k[i]), k[i].demo[0] ? k[i].demo : "(empty)",
		    prod[0] ? prod : "(empty)",
		    k[i].is_reloadable ? "yes" : "no", k[i].text);
	}
}

static bool
lists_are_equal(const struct config_list *a, const struct config_list *b)
{
	size_t i;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++)
		if (strcmp(a->at[i], b->at[i]) != 0)
			return false;
	return true;
}

static size_t
size_of(const struct config_key *k)
{
	switch (k->kind) {
	case CONFIG_FLAG:
		return sizeof(bool);
	case CONFIG_TEXT:
	case CONFIG_WORD:
		return sizeof(char *);
	case CONFIG_LIST:
		return sizeof(struct config_list);
	case CONFIG_COUNT:
	case CONFIG_SIZE:
	case CONFIG_MS:
		break;
	}
	return sizeof(uint64_t);
}

static bool
values_are_equal(const struct config *a, const struct config *b,
    const struct config_key *k)
{
	const void *x = config_keys_in(a, k), *y = config_keys_in(b, k);

	if (k->kind == CONFIG_LIST)
		return lists_are_equal(x, y);
	if (k->kind == CONFIG_TEXT || k->kind == CONFIG_WORD)
		return strcmp(*(char *const *)x, *(char *const *)y) == 0;
	return memcmp(x, y, size_of(k)) == 0;
}

/* Both stay whole: what c had goes into fresh, which frees it. */
static void
values_swap(struct config *a, struct config *b, const struct config_key *k)
{
	char *x = config_keys_at(a, k), *y = config_keys_at(b, k);
	char tmp[sizeof(struct config_list)];
	size_t n = size_of(k);

	memcpy(tmp, x, n);
	memcpy(x, y, n);
	memcpy(y, tmp, n);
}

int
config_reload(struct config *c, struct config *fresh, struct bytes *refused,
    struct err *e)
{
	const struct config_key *k;
	size_t i, n;
	int r;

	k = config_keys(&n);
	for (i = 0; i < n; i++) {
		if (values_are_equal(c, fresh, &k[i]))
			continue;
		if (k[i].is_reloadable)
			values_swap(c, fresh, &k[i]);
		else if ((r = bytes_printf(refused, e, "%s\n", k[i].name)) != 0)
			return r;
	}
	return 0;
}
