/*
 * stop.h - a command that is asked to stop: a flag for its loops to look at.
 *
 * SIGINT, SIGTERM and SIGHUP set it.  The second of a kind ends the process
 * at once.  A SIGHUP that was ignored when the program began stays so: whoever
 * starts it by nohup(1) wants it to outlive the terminal.  One flag a
 * process, never lowered.
 */
#ifndef AMBER_BASE_STOP_H
#define AMBER_BASE_STOP_H

#include <signal.h>

void	stop_catch(void);
/* Not 0 once asked. */
const volatile sig_atomic_t *stop_flag(void);

#endif
