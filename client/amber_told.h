/*
 * amber_told.h - what a relay tells of itself: its state and the epochs that
 * it seals in (WIRE, "Inner HTTP").
 */
#ifndef AMBER_CLIENT_AMBER_TOLD_H
#define AMBER_CLIENT_AMBER_TOLD_H

#include "client/amber.h"
#include "transport/http_head.h"

struct bytes;
struct err;

/* Appends the request that asks for it.  token: NULL or the access token. */
int	amber_told_request(struct bytes *out, const char *token,
	struct err *e);
/* Reads Amber-State and Amber-Epoch.  ERR_FORMAT; then *out is empty. */
int	amber_told_take(struct amber_state *out, struct http_fields fields,
	struct err *e);
/* The epoch of that puzzle, or NULL. */
const struct amber_epoch *amber_told_find(const struct amber_state *s,
    const uint8_t puzzle[32]);

#endif
