/*
 * epoch_number.h - the number of the first epoch that a supervisor makes.
 *
 * Numbers rise strictly along the log and none is used twice, so it is one
 * more than any that the archive's folder knows: of a manifest's file, or of
 * the last segment, whose epoch's manifest may have become durable without
 * its file.  Read only; whether the archive is sound is for its writer.
 */
#ifndef AMBER_RELAY_EPOCH_NUMBER_H
#define AMBER_RELAY_EPOCH_NUMBER_H

#include <stdint.h>

struct err;

/* 1 where there is no archive yet. */
int	epoch_number_next(const char *archive, uint64_t *out, struct err *e);

#endif
