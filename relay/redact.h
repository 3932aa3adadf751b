/*
 * redact.h - credentials do not go into an archive that opens one day.
 *
 * Values of the named fields become "amber-redacted length=<bytes>" in a
 * head's captured copy (WIRE "Inner HTTP"): every occurrence, folded lines
 * included; everything else stays byte for byte.  The length is that of the
 * value without the blanks around it.
 */
#ifndef AMBER_RELAY_REDACT_H
#define AMBER_RELAY_REDACT_H

#include <stdbool.h>
#include <stddef.h>

struct bytes;
struct err;
struct redact;

enum { REDACT_NAMES_MAX = 256 };

int	redact_new(struct redact **out, struct err *e);
void	redact_free(struct redact **rp);
/* One field name (RFC 9110 token), any case; ERR_ARG for what is none. */
int	redact_add(struct redact *r, const char *name, size_t n,
	struct err *e);
/* The value of Amber-Redact: names parted by commas. */
int	redact_add_list(struct redact *r, const char *value, size_t n,
	struct err *e);
bool	redact_has(const struct redact *r, const char *name, size_t n);

/* Appends the head (or trailer section) to out, redacted.  *changed (may be
 * NULL) becomes true when a value was replaced and is otherwise left. */
int	redact_head(const struct redact *r, const void *head, size_t n,
	struct bytes *out, bool *changed, struct err *e);

#endif
