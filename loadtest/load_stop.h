/*
 * load_stop.h - the user's wish to stop (SIGINT, SIGTERM, SIGHUP), as a flag
 * that what takes long looks at, so that a summary is printed and nothing is
 * left behind.
 */
#ifndef AMBER_LOADTEST_LOAD_STOP_H
#define AMBER_LOADTEST_LOAD_STOP_H

#include <stdbool.h>

void	load_stop_install(void);
bool	load_stop_is_wanted(void);

#endif
