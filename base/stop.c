/*
 * stop.c - see stop.h.  Its handler does nothing but raise the flag.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/stop.h"

static volatile sig_atomic_t flag;

static void
stop_on_signal(int sig)
{
	(void)sig;
	flag = 1;
}

static bool
is_ignored(int sig)
{
	struct sigaction sa;

	return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

static void
catch_all(int flags)
{
	struct sigaction sa = { .sa_handler = stop_on_signal,
		.sa_flags = flags };

	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGINT, &sa, NULL);
	if (!is_ignored(SIGHUP))
		(void)sigaction(SIGHUP, &sa, NULL);
}

void
stop_catch(void)
{
	catch_all((int)SA_RESETHAND);
}

void
stop_catch_always(void)
{
	catch_all(0);
}

const volatile sig_atomic_t *
stop_flag(void)
{
	return &flag;
}
