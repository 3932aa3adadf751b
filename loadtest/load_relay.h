/*
 * load_relay.h - a real amberd under load: started in a folder of its own
 * with the demo's profile and a puzzle as small as can be, and ended.
 *
 * It is ready when its epoch serves and the next puzzle is made, so that no
 * generator runs beside what is measured.  It dies with this process.  Call
 * it before the process has threads.
 */
#ifndef AMBER_LOADTEST_LOAD_RELAY_H
#define AMBER_LOADTEST_LOAD_RELAY_H

#include <stddef.h>
#include <sys/types.h>

struct err;
struct load_relay;

struct load_relay_opts {
	const char	*program;	/* amberd */
	const char	*folder;	/* absolute; its data goes there */
	const char	*const *sets;	/* key=value for --set */
	size_t		 nsets;
};

int	load_relay_start(struct load_relay **out,
	const struct load_relay_opts *o, struct err *e);
/* Ends it in order (SIGTERM); ERR_PEER when it did not end so. */
int	load_relay_stop(struct load_relay *r, struct err *e);
/* Kills it, if it still runs. */
void	load_relay_free(struct load_relay **rp);

const char *load_relay_url(const struct load_relay *r);
const char *load_relay_where(const struct load_relay *r);	/* "a:p" */
const char *load_relay_metrics(const struct load_relay *r);	/* "a:p" */
const char *load_relay_pin(const struct load_relay *r);		/* a file */
const char *load_relay_log(const struct load_relay *r);		/* a file */
/* The supervisor, and the relay's process now; 0: not to be found. */
pid_t	load_relay_supervisor(const struct load_relay *r);
pid_t	load_relay_process(const struct load_relay *r);

#endif
