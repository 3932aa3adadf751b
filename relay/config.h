/*
 * config.h - amberd's configuration: one file, flags that override it, and
 * defaults by profile.
 *
 * The file is INI text (inih): "key = value" lines, no sections, comments by
 * ";" or "#".  A key that is a list is repeated, once a value; its first
 * appearance replaces the default, and an empty value empties the list.
 * Lines over 180 bytes are refused, since inih would cut them silently.
 * Unknown keys are refused with their line and the nearest known name; so
 * are keys given twice, values out of range, and settings that contradict
 * each other, the one given last being the one to blame.
 *
 * The one table of keys (config_keys.c) makes the defaults, the parser, the
 * printed config and the reference in docs/OPERATING.md, which a test
 * compares.
 */
#ifndef AMBER_RELAY_CONFIG_H
#define AMBER_RELAY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bytes;
struct err;

enum {
	CONFIG_LINE_MAX = 180,		/* bytes of a line, without its end */
	CONFIG_FILE_MAX = 256 << 10,	/* bytes of a file */
	CONFIG_LIST_MAX = 256,		/* values of a list */
	CONFIG_KEYS_MAX = 64,		/* keys there may be */
};

/* Where a key's value comes from; a line of the text if above 0. */
enum {
	CONFIG_DEFAULT = 0,
	CONFIG_FLAG_GIVEN = -1,		/* by config_set() */
	CONFIG_MANY = -2,		/* a list, from several places */
};

struct config_list {
	char	**at;
	int	 *where;	/* of each: see above */
	size_t	  n;
};

/* Sizes in bytes, durations in milliseconds.  Read only, once loaded. */
struct config {
	char		*profile;		/* "demo", "production" */
	/* names and places */
	char		*origin, *identity, *archive, *user, *timelock;
	bool		sync_each;
	/* listeners */
	struct config_list listen, direct_listen;
	char		*metrics_listen;
	uint64_t	connections, sessions, poll_ms;
	/* admission */
	uint64_t	permits, request_body, request_memory;
	uint64_t	response_body, response_memory, head, fields;
	uint64_t	slow_rate, slow_after_ms;
	/* upstream */
	uint64_t	fetch_ms, publish_ms, dns_ms;
	uint64_t	idle_connections, idle_ms;
	struct config_list allow, deny, own_address, allowed_ports;
	struct config_list dns_servers, redact;
	char		*ca_file, *token_file;
	/* epochs */
	char		*mode, *algorithm;	/* "light", "full"; "" newest */
	uint64_t	epoch_ms, min_sealed_ms;
	uint64_t	segments, steps, milestone, workers, first_cpu;
	/* the process */
	char		*log_level;
	bool		log_json;
	char		*confine;		/* "kill", "log" */

	/* The loader's own: the file, or NULL, and by keys' numbers where
	 * they were given. */
	char		*file;
	int		where[CONFIG_KEYS_MAX];
};

/* Defaults of the demo profile. */
int	config_new(struct config **out, struct err *e);
void	config_free(struct config **cp);

/*
 * Reads a file's text.  Errors are ERR_ARG, "line N: ...".  The profile is
 * looked for first, wherever it stands, so that the order of lines does not
 * matter.  What was loaded before stays where the text says nothing.
 */
int	config_load_text(struct config *c, const char *text, size_t n,
	struct err *e);
int	config_load_file(struct config *c, const char *path, struct err *e);
/* One "key=value" of a flag; a list grows, or is emptied by "key=". */
int	config_set(struct config *c, const char *assignment, struct err *e);
/* The profile's defaults for every key not given by file or flag. */
int	config_use_profile(struct config *c, const char *name, struct err *e);
bool	config_is_production(const struct config *c);
/* What single values cannot tell: contradictions and what must be named.
 * Call it last. */
int	config_check(const struct config *c, struct err *e);
/* Prepends the key that is to blame, and where it was given. */
void	config_ctx(const struct config *c, const char *key, struct err *e);
/* The same for one value of a list. */
void	config_ctx_at(const struct config *c, const char *key, int where,
	struct err *e);
/* Where a key was given. */
int	config_where(const struct config *c, const char *key);

/* Every key with its value, as a file that loads to the same config. */
void	config_print(const struct config *c, FILE *f);
/* The reference: key, default by profile, unit, whether SIGHUP re-reads it,
 * what it does; as a Markdown table. */
void	config_print_reference(FILE *f);

/*
 * The keys that differ between what runs and what was read anew: those that
 * SIGHUP changes are moved from fresh into c, the names of the others are
 * appended to refused, one a line.
 */
int	config_reload(struct config *c, struct config *fresh,
	struct bytes *refused, struct err *e);

#endif
