/*
 * notify.h - telling systemd how the service is (sd_notify(3)'s protocol),
 * without linking to it.
 *
 * A datagram to the AF_UNIX socket that $NOTIFY_SOCKET names, a path or,
 * with a leading '@', an abstract name.  Without the variable everything
 * succeeds and does nothing.
 */
#ifndef AMBER_RELAY_NOTIFY_H
#define AMBER_RELAY_NOTIFY_H

#include <stdint.h>

struct err;
struct notify;

/* Opens the socket and takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID
 * out of the environment, so that no child inherits them. */
int	notify_new(struct notify **out, struct err *e);
void	notify_free(struct notify **np);

/* One or more lines "NAME=value\n"; a service manager that is gone or busy is
 * an error to log, no reason to stop. */
int	notify_send(struct notify *n, const char *lines, struct err *e);
/* How often WATCHDOG=1 is wanted: half of systemd's limit; 0: never. */
uint64_t notify_watchdog_ms(const struct notify *n);
/* The socket, to be kept open; -1 without. */
int	notify_fd(const struct notify *n);

#endif
