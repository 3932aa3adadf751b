/*
 * amberd_doubts.h - what in a sound config, on this machine, is probably not
 * what its operator wants.  --check prints it, a start logs it; neither fails
 * for it.
 */
#ifndef AMBER_RELAY_AMBERD_DOUBTS_H
#define AMBER_RELAY_AMBERD_DOUBTS_H

struct config;

/* Calls say once for each doubt, a sentence without its stop. */
void	amberd_doubts(const struct config *c, void (*say)(const char *text));

#endif
