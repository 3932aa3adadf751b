/*
 * upstream_idle.c - the list of kept connections, oldest first.
 */
#include <sys/queue.h>

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "relay/tls_conn.h"
#include "relay/upstream_idle.h"
#include "transport/url.h"

struct kept {
	TAILQ_ENTRY(kept)	 link;
	struct upstream_idle	*owner;
	struct tls_conn		*conn;
	struct event		*timer;
	uint64_t		 session;
	uint16_t		 port;
	char			 host[URL_NAME_MAX + 1];
};

TAILQ_HEAD(kepts, kept);

struct upstream_idle {
	struct event_base	*base;
	struct kepts		 list;
	size_t			 n, max;
	struct timeval		 wait;
};

/* Takes it out; the connection is the caller's. */
static struct tls_conn *
kept_remove(struct kept *k)
{
	struct tls_conn *conn = k->conn;

	TAILQ_REMOVE(&k->owner->list, k, link);
	k->owner->n--;
	event_free(k->timer);
	free(k);
	return conn;
}

static void
kept_close(struct kept *k)
{
	struct tls_conn *conn = kept_remove(k);

	tls_conn_free(&conn);
}

static void
upstream_idle_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	kept_close(arg);
}

static void
upstream_idle_on_read(struct tls_conn *c, const uint8_t *p, size_t n,
    void *arg)
{
	(void)c;
	(void)p;
	(void)n;
	kept_close(arg);	/* nobody asked for these bytes */
}

static void
upstream_idle_on_end(struct tls_conn *c, enum tls_conn_end why, void *arg)
{
	(void)c;
	(void)why;
	kept_close(arg);
}

static void
upstream_idle_on_nothing(struct tls_conn *c, void *arg)
{
	(void)c;
	(void)arg;
}

int
upstream_idle_new(struct upstream_idle **out, struct event_base *base,
    struct err *e)
{
	struct upstream_idle *i;

	if ((i = calloc(1, sizeof(*i))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for connections");
	i->base = base;
	TAILQ_INIT(&i->list);
	*out = i;
	return 0;
}

void
upstream_idle_free(struct upstream_idle **ip)
{
	if (*ip == NULL)
		return;
	upstream_idle_set_limits(*ip, 0, 0);
	free(*ip);
	*ip = NULL;
}

void
upstream_idle_set_limits(struct upstream_idle *i, size_t max, uint64_t ms)
{
	i->max = max;
	i->wait = clock_timeval_ms(ms);
	while (i->n > max)
		kept_close(TAILQ_FIRST(&i->list));
}

void
upstream_idle_put(struct upstream_idle *i, uint64_t session,
    const struct url *to, struct tls_conn **cp)
{
	struct tls_conn_cbs cbs = { upstream_idle_on_nothing,
		upstream_idle_on_read, upstream_idle_on_nothing,
		upstream_idle_on_end, NULL };
	struct kept *k = NULL;

	if (i->max == 0 || (k = calloc(1, sizeof(*k))) == NULL ||
	    (k->timer = evtimer_new(i->base, upstream_idle_on_timer, k)) ==
		NULL) {
		free(k);
		tls_conn_free(cp);
		return;
	}
	k->owner = i;
	k->conn = *cp;
	*cp = NULL;
	k->session = session;
	k->port = to->port;
	memcpy(k->host, to->host, sizeof(k->host));
	cbs.arg = k;
	tls_conn_set_cbs(k->conn, &cbs);
	TAILQ_INSERT_TAIL(&i->list, k, link);
	i->n++;
	(void)evtimer_add(k->timer, &i->wait);
	if (i->n > i->max)
		kept_close(TAILQ_FIRST(&i->list));
}

struct tls_conn *
upstream_idle_take(struct upstream_idle *i, uint64_t session,
    const struct url *to)
{
	struct kept *k;

	TAILQ_FOREACH_REVERSE(k, &i->list, kepts, link)
		if (k->session == session && k->port == to->port &&
		    strcmp(k->host, to->host) == 0)
			return kept_remove(k);
	return NULL;
}

void
upstream_idle_end_session(struct upstream_idle *i, uint64_t session)
{
	struct kept *k, *next;

	for (k = TAILQ_FIRST(&i->list); k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		if (k->session == session)
			kept_close(k);
	}
}

size_t
upstream_idle_count(const struct upstream_idle *i)
{
	return i->n;
}
