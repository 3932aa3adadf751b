/*
 * notify.c - sd_notify's datagrams.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "relay/notify.h"

struct notify {
	int		 fd;		/* -1: nobody listens */
	uint64_t	 watchdog_ms;
};

static int
connect_to(int fd, const char *name, struct err *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	socklen_t len;

	if ((name[0] != '/' && name[0] != '@') || n < 2 ||
	    n >= sizeof(sun.sun_path))
		return err_set(e, ERR_ARG,
		    "NOTIFY_SOCKET is neither a path nor an abstract name");
	memcpy(sun.sun_path, name, n);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	if (name[0] == '@')
		sun.sun_path[0] = '\0';
	else
		len++;		/* with its NUL */
	if (connect(fd, (const struct sockaddr *)&sun, len) == -1)
		return err_sys(e, "connect to NOTIFY_SOCKET");
	return 0;
}

/* systemd's word, when it is meant for this process. */
static uint64_t
watchdog_of(const char *usec, const char *pid)
{
	uint64_t us, p;

	if (usec == NULL ||
	    units_parse_uint(usec, 1, UINT64_MAX, &us, NULL) != 0)
		return 0;
	if (pid != NULL &&
	    (units_parse_uint(pid, 1, INT32_MAX, &p, NULL) != 0 ||
		(pid_t)p != getpid()))
		return 0;
	return us / 2000 > 0 ? us / 2000 : 1;
}

int
notify_new(struct notify **out, struct err *e)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct notify *n;
	int r = 0;

	if ((n = calloc(1, sizeof(*n))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for notifications");
	n->fd = -1;
	if (name != NULL) {
		n->watchdog_ms = watchdog_of(getenv("WATCHDOG_USEC"),
		    getenv("WATCHDOG_PID"));
		n->fd = socket(AF_UNIX,
		    SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		r = n->fd == -1 ? err_sys(e, "socket for NOTIFY_SOCKET") :
				  connect_to(n->fd, name, e);
	}
	if (r != 0) {
		notify_free(&n);
		return r;
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	*out = n;
	return 0;
}

void
notify_free(struct notify **np)
{
	if (*np == NULL)
		return;
	if ((*np)->fd != -1)
		close((*np)->fd);
	free(*np);
	*np = NULL;
}

int
notify_send(struct notify *n, const char *lines, struct err *e)
{
	size_t len = strlen(lines);

	if (n->fd == -1)
		return 0;
	if (send(n->fd, lines, len, MSG_NOSIGNAL) != (ssize_t)len)
		return err_sys(e, "notify the service manager");
	return 0;
}

uint64_t
notify_watchdog_ms(const struct notify *n)
{
	return n->watchdog_ms;
}

int
notify_fd(const struct notify *n)
{
	return n->fd;
}
