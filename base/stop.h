/*
 * stop.h - a command that is asked to stop: a flag for its loops to look at.
 *
 * SIGINT, SIGTERM and SIGHUP set it.  A SIGHUP that was ignored when the
 * program began stays so: whoever starts it by nohup(1) wants it to outlive
 * the terminal.  One flag a process, never lowered.
 */
#ifndef AMBER_BASE_STOP_H
#define AMBER_BASE_STOP_H

#include <signal.h>

/* The second signal of a kind ends the process at once. */
void	stop_catch(void);
/* No further signal does anything: for a program that has other processes to
 * end and folders to remove, which would be left behind. */
void	stop_catch_always(void);
/* Not 0 once asked. */
const volatile sig_atomic_t *stop_flag(void);

#endif
