/*
 * load_sync.h - how long one durable append takes on a disk: the floor under
 * every answer of a relay.
 */
#ifndef AMBER_LOADTEST_LOAD_SYNC_H
#define AMBER_LOADTEST_LOAD_SYNC_H

#include <stddef.h>

#include "loadtest/load_sample.h"

struct err;

/* Appends size bytes and syncs them (fdatasync), count times, to a file in
 * folder that is removed again.  Adds each time to out. */
int	load_sync_measure(const char *folder, size_t size, unsigned count,
	struct load_sample *out, struct err *e);

#endif
