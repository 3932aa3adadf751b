/*
 * load_stop.c - see load_stop.h.
 */
#include <signal.h>
#include <string.h>

#include "loadtest/load_stop.h"

static volatile sig_atomic_t is_wanted;

static void
stop_on_signal(int sig)
{
	(void)sig;
	is_wanted = 1;
}

void
load_stop_install(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = stop_on_signal;
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGHUP, &sa, NULL);
}

bool
load_stop_is_wanted(void)
{
	return is_wanted != 0;
}
