/*
 * vault.h - numbered places of 32 bytes for seeds, states and keys.
 *
 * A generator holds thousands of secrets of one size that come and go.  They
 * all lie here: in locked pages that a fork does not inherit and a core dump
 * leaves out (base/secret.h), so "no secret anywhere else" can be checked.
 * A place is wiped when it is dropped and when the vault is freed.  After a
 * fork the child must not touch the vault at all: its pages are not there.
 */
#ifndef AMBER_TIMELOCK_VAULT_H
#define AMBER_TIMELOCK_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct vault;

enum {
	VAULT_PLACE_LEN = 32,
	VAULT_CHUNK = 1024,		/* places that are added at a time */
	VAULT_PLACES_MAX = 1 << 18,	/* 8 MiB; no puzzle needs half */
	VAULT_NONE = 0,			/* no place has this number */
};

int	vault_new(struct vault **out, struct err *e);
/* Wipes everything.  *vp may be NULL. */
void	vault_free(struct vault **vp);

/* A free place, all zeros.  0, ERR_NOMEM, ERR_LIMIT. */
int	vault_take(struct vault *v, uint32_t *place, struct err *e);
/* A place with 32 bytes from getrandom(2). */
int	vault_take_random(struct vault *v, uint32_t *place, struct err *e);
/* A place with a copy. */
int	vault_take_copy(struct vault *v, const uint8_t p[VAULT_PLACE_LEN],
	uint32_t *place, struct err *e);
/* Its bytes; the pointer stays valid until the place is dropped. */
uint8_t	*vault_at(const struct vault *v, uint32_t place);
/* Wipes it and sets *place to VAULT_NONE; *place may be VAULT_NONE. */
void	vault_drop(struct vault *v, uint32_t *place);

size_t	vault_used(const struct vault *v);
/* Did the kernel lock all of it?  Otherwise swap is a risk. */
bool	vault_is_locked(const struct vault *v);

#endif
