/*
 * config_keys.h - the table of amberd's keys.  For config*.c and its test.
 */
#ifndef AMBER_RELAY_CONFIG_KEYS_H
#define AMBER_RELAY_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

enum config_kind {
	CONFIG_COUNT,		/* uint64_t, a number */
	CONFIG_SIZE,		/* uint64_t, bytes */
	CONFIG_MS,		/* uint64_t, milliseconds */
	CONFIG_FLAG,		/* bool, yes or no */
	CONFIG_TEXT,		/* char *, anything */
	CONFIG_WORD,		/* char *, one of words */
	CONFIG_LIST,		/* struct config_list */
};

struct config_key {
	const char	*name;
	enum config_kind kind;
	size_t		 offset;	/* in struct config */
	bool		 is_reloadable;
	uint64_t	 lo, hi;	/* of numbers */
	const char	*words;		/* "kill log", for CONFIG_WORD */
	const char	*demo;		/* defaults, as text; a list's values */
	const char	*production;	/* are parted by blanks; NULL: same */
	const char	*text;		/* what it does, a sentence */
};

/* Where its value stands. */
static inline void *
config_keys_at(struct config *c, const struct config_key *k)
{
	return (char *)c + k->offset;
}

static inline const void *
config_keys_in(const struct config *c, const struct config_key *k)
{
	return (const char *)c + k->offset;
}

const struct config_key *config_keys(size_t *n);
const struct config_key *config_keys_find(const char *name);
/* The known name with the fewest edits, if that is few; else NULL. */
const char *config_keys_nearest(const char *name);

#endif
