/*
 * manifest_map.h - a manifest's CBOR map: writer and strict reader side by
 * side, and the header whose hash is the salt.
 *
 * The reader takes exactly the keys 1..15 in order (13 without the times 4
 * and 5 for the unsigned map), deterministic CBOR only, nothing after it,
 * and checks every limit of manifest.h.  Each fault is ERR_FORMAT with a
 * message of its own that begins with the key's number and name.
 */
#ifndef AMBER_TIMELOCK_MANIFEST_MAP_H
#define AMBER_TIMELOCK_MANIFEST_MAP_H

#include <stdbool.h>
#include <stddef.h>

struct bytes;
struct err;
struct manifest;
struct manifest_params;

/* Appends the map of the keys 1, 2, 3, 6..10 alone. */
int	manifest_map_put_header(const struct manifest_params *p,
	struct bytes *out, struct err *e);
/* Appends the map: without the times while !has_times. */
int	manifest_map_encode(const struct manifest *m, struct bytes *out,
	struct err *e);
/* has_times: the map to be found there is one with times.  Sets no id. */
int	manifest_map_decode(struct manifest **out, const void *p, size_t n,
	bool has_times, struct err *e);

#endif
