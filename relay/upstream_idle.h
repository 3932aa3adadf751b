/*
 * upstream_idle.h - connections kept between two requests of one session.
 *
 * A login may be tied to a connection (NTLM, client certificates), so one is
 * given only to the inner session that made it, and only for the same host
 * and port.  Whatever arrives while it waits, bytes or an end, ends it.
 */
#ifndef AMBER_RELAY_UPSTREAM_IDLE_H
#define AMBER_RELAY_UPSTREAM_IDLE_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct event_base;
struct tls_conn;
struct upstream_idle;
struct url;

int	upstream_idle_new(struct upstream_idle **out, struct event_base *base,
	struct err *e);
void	upstream_idle_free(struct upstream_idle **ip);
/* max 0: nothing is kept.  Holds for those put from now on; more than max
 * are closed at once, the oldest first. */
void	upstream_idle_set_limits(struct upstream_idle *i, size_t max,
	uint64_t ms);

/* Takes *cp over, whatever happens, and sets it to NULL; at max the oldest
 * of all sessions goes. */
void	upstream_idle_put(struct upstream_idle *i, uint64_t session,
	const struct url *to, struct tls_conn **cp);
/* The newest that fits, to the caller; or NULL. */
struct tls_conn *upstream_idle_take(struct upstream_idle *i,
    uint64_t session, const struct url *to);
void	upstream_idle_end_session(struct upstream_idle *i, uint64_t session);
size_t	upstream_idle_count(const struct upstream_idle *i);

#endif
