/*
 * resolver.c - c-ares' sockets and timer as events, and queries with a
 * deadline of their own.
 *
 * c-ares can cancel all queries of a channel but not one.  A query that is
 * over before c-ares says so is therefore detached: its ticket stays until
 * the library calls back, and then goes without a word.
 *
 * c-ares goes on to the next server after SERVFAIL and REFUSED, as it should;
 * but when all servers say so, old versions (Debian 12's 1.18) report that
 * none was reached.  Then the name is asked once more on a channel that takes
 * such an answer for one, which tells them apart.
 */
#include <netinet/in.h>
#include <sys/queue.h>

#include <ares.h>
#include <assert.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "relay/resolv_conf.h"
#include "relay/resolver.h"

enum {
	TRY_MS = 1500,		/* c-ares' wait for one server */
	TRIES = 3,
	SERVERS_TEXT_MAX = 4096,
	HOST_MAX = 256,		/* bytes of a name, with the NUL */
};

/* An event for each socket that c-ares has open. */
struct watch {
	TAILQ_ENTRY(watch)	 link;
	struct event		*ev;
	ares_socket_t		 fd;
};

/* What c-ares holds; q is NULL once the query is over for us. */
struct ticket {
	TAILQ_ENTRY(ticket)	 link;
	struct resolver		*r;
	struct resolver_query	*q;
	bool			 is_plain;	/* asked on the plain channel */
	char			 host[HOST_MAX];
};

struct resolver_query {
	TAILQ_ENTRY(resolver_query) link;
	struct resolver		*r;
	struct ticket		*ticket;	/* NULL: c-ares is done */
	struct event		*timer;		/* deadline, then delivery */
	struct resolver_result	 res;
	void			(*on_done)(const struct resolver_result *res,
				    void *arg);
	void			*arg;
};

TAILQ_HEAD(watches, watch);
TAILQ_HEAD(tickets, ticket);
TAILQ_HEAD(queries, resolver_query);

struct resolver {
	struct event_base	*base;
	ares_channel		 channel[2];	/* the usual, the plain */
	size_t			 nchannels;
	struct event		*timer;
	struct watches		 watches;
	struct tickets		 tickets;
	struct queries		 queries;
	unsigned		 silences;	/* queries in a row */
};

static void
arm_timer(struct resolver *r)
{
	struct timeval tv[2], *wait = NULL;
	size_t i;

	for (i = 0; i < r->nchannels; i++)
		wait = ares_timeout(r->channel[i], wait, &tv[i]);
	if (wait != NULL)
		(void)evtimer_add(r->timer, wait);
	else
		(void)evtimer_del(r->timer);
}

/* Lets c-ares see to a socket (each channel has its own) or to its time. */
static void
process(struct resolver *r, ares_socket_t in, ares_socket_t out)
{
	size_t i;

	for (i = 0; i < r->nchannels; i++)
		ares_process_fd(r->channel[i], in, out);
	arm_timer(r);
}

static void
resolver_on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct resolver *r = arg;

	process(r, what & EV_READ ? fd : ARES_SOCKET_BAD,
	    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
}

static void
resolver_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct resolver *r = arg;

	(void)fd;
	(void)what;
	process(r, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static void
watch_free(struct resolver *r, struct watch *w)
{
	TAILQ_REMOVE(&r->watches, w, link);
	event_free(w->ev);
	free(w);
}

/* c-ares tells which directions it waits for; none: the socket closes. */
static void
resolver_on_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	short what = (short)(EV_PERSIST | (readable ? EV_READ : 0) |
	    (writable ? EV_WRITE : 0));
	struct resolver *r = arg;
	struct watch *w;

	TAILQ_FOREACH(w, &r->watches, link)
		if (w->fd == fd) {
			watch_free(r, w);
			break;
		}
	if (!readable && !writable)
		return;
	/* Without memory the socket is not watched: c-ares then times out. */
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return;
	w->fd = fd;
	if ((w->ev = event_new(r->base, fd, what, resolver_on_socket, r)) ==
	    NULL) {
		free(w);
		return;
	}
	TAILQ_INSERT_TAIL(&r->watches, w, link);
	(void)event_add(w->ev, NULL);
}

/* ares_set_servers_ports_csv() wants one list. */
static int
set_servers(struct resolver *r, const char *const *servers, size_t n,
    struct err *e)
{
	struct bytes csv = BYTES_INIT(SERVERS_TEXT_MAX);
	size_t i;
	int ret = 0;

	for (i = 0; i < n && ret == 0; i++)
		ret = bytes_printf(&csv, e, "%s%s", i == 0 ? "" : ",",
		    servers[i]);
	if (ret == 0)
		ret = bytes_terminate(&csv, e);
	for (i = 0; i < r->nchannels && ret == 0 && n > 0; i++)
		if (ares_set_servers_ports_csv(r->channel[i],
			(const char *)csv.p) != ARES_SUCCESS)
			ret = err_set(e, ERR_ARG, "dns_servers: not addresses "
						  "with or without a port");
	bytes_free(&csv);
	return ret;
}

static int
open_channel(struct resolver *r, int flags, struct err *e)
{
	struct ares_options o;
	char lookups[] = "b";
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
	    ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
	int s;

	memset(&o, 0, sizeof(o));
	o.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | flags;
	o.timeout = TRY_MS;
	o.tries = TRIES;
	o.lookups = lookups;
	o.sock_state_cb = resolver_on_state;
	o.sock_state_cb_data = r;
#ifdef ARES_OPT_QUERY_CACHE
	/* c-ares keeps answers from 1.31 on; a name is asked for once a
	 * request. */
	o.qcache_max_ttl = 0;
	mask |= ARES_OPT_QUERY_CACHE;
#endif
	s = ares_init_options(&r->channel[r->nchannels], &o, mask);
	if (s != ARES_SUCCESS)
		return err_set(e, s == ARES_ENOMEM ? ERR_NOMEM : ERR_ARG,
		    "the resolver does not start: %s", ares_strerror(s));
	r->nchannels++;
	return 0;
}

int
resolver_new(struct resolver **out, struct event_base *base,
    const char *const *servers, size_t n, struct err *e)
{
	struct resolver *r;
	int ret;

	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS ||
	    (r = calloc(1, sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the resolver");
	r->base = base;
	TAILQ_INIT(&r->watches);
	TAILQ_INIT(&r->tickets);
	TAILQ_INIT(&r->queries);
	if ((r->timer = evtimer_new(base, resolver_on_timer, r)) == NULL)
		ret = err_set(e, ERR_NOMEM, "no memory for the resolver");
	else if ((ret = open_channel(r, 0, e)) == 0 &&
	    (ret = open_channel(r, ARES_FLAG_NOCHECKRESP, e)) == 0)
		ret = set_servers(r, servers, n, e);
	if (ret != 0) {
		resolver_free(&r);
		return ret;
	}
	*out = r;
	return 0;
}

static void
query_free(struct resolver_query *q)
{
	if (q->ticket != NULL)
		q->ticket->q = NULL;
	TAILQ_REMOVE(&q->r->queries, q, link);
	event_free(q->timer);
	free(q);
}

void
resolver_free(struct resolver **rp)
{
	struct resolver *r = *rp;
	struct resolver_query *q;
	struct watch *w;

	if (r == NULL)
		return;
	while ((q = TAILQ_FIRST(&r->queries)) != NULL)
		query_free(q);
	while (r->nchannels > 0)	/* calls every ticket back */
		ares_destroy(r->channel[--r->nchannels]);
	assert(TAILQ_EMPTY(&r->tickets));
	while ((w = TAILQ_FIRST(&r->watches)) != NULL)
		watch_free(r, w);
	if (r->timer != NULL)
		event_free(r->timer);
	ares_library_cleanup();
	free(r);
	*rp = NULL;
}

static enum resolver_status
status_of(int s)
{
	switch (s) {
	case ARES_SUCCESS:
		return RESOLVER_OK;
	case ARES_ENOTFOUND:
		return RESOLVER_NXDOMAIN;
	case ARES_ENODATA:
		return RESOLVER_NODATA;
	case ARES_ESERVFAIL:
		return RESOLVER_SERVFAIL;
	case ARES_EREFUSED:
		return RESOLVER_REFUSED;
	case ARES_ETIMEOUT:
	case ARES_ECONNREFUSED:	/* no server listens: as good as silent */
		return RESOLVER_TIMEOUT;
	default:
		return RESOLVER_FAILED;
	}
}

/* The next node of a family, from at on. */
static const struct ares_addrinfo_node *
next_of(const struct ares_addrinfo_node *at, int family)
{
	while (at != NULL && at->ai_family != family)
		at = at->ai_next;
	return at;
}

static bool
take(struct resolver_result *res, const struct ares_addrinfo_node **at,
    int family)
{
	if ((*at = next_of(*at, family)) == NULL ||
	    res->n == RESOLVER_ADDRS_MAX)
		return false;
	assert((size_t)(*at)->ai_addrlen <= sizeof(res->addrs[0]));
	memcpy(&res->addrs[res->n++], (*at)->ai_addr,
	    (size_t)(*at)->ai_addrlen);
	*at = (*at)->ai_next;
	return true;
}

static void
take_all(struct resolver_result *res, const struct ares_addrinfo *ai)
{
	const struct ares_addrinfo_node *v4 = ai->nodes, *v6 = ai->nodes;
	bool more = true, got;

	while (more) {
		got = take(res, &v6, AF_INET6);
		more = take(res, &v4, AF_INET) || got;
	}
	if (res->n == 0)
		res->status = RESOLVER_NODATA;
}

static void ask(struct ticket *t);

/* The result goes out from the loop, so never inside resolver_start(). */
static void
resolver_on_answer(void *arg, int status, int timeouts,
    struct ares_addrinfo *ai)
{
	static const struct timeval now = { 0, 0 };
	struct ticket *t = arg;
	struct resolver_query *q = t->q;

	(void)timeouts;
	if (status == ARES_ECONNREFUSED && q != NULL && !t->is_plain) {
		t->is_plain = true;
		ask(t);
		return;
	}
	TAILQ_REMOVE(&t->r->tickets, t, link);
	free(t);
	if (q != NULL) {
		q->ticket = NULL;
		q->res.status = status_of(status);
		if (q->res.status == RESOLVER_OK && ai == NULL)
			q->res.status = RESOLVER_FAILED;
		else if (q->res.status == RESOLVER_OK)
			take_all(&q->res, ai);
		(void)evtimer_add(q->timer, &now);
	}
	if (ai != NULL)
		ares_freeaddrinfo(ai);
}

static void
ask(struct ticket *t)
{
	struct ares_addrinfo_hints hints = { .ai_flags = ARES_AI_NOSORT,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM };

	ares_getaddrinfo(t->r->channel[t->is_plain ? 1 : 0], t->host, NULL,
	    &hints, resolver_on_answer, t);
}

/* One name's own servers may be silent; those of several in a row hardly. */
static void
note_silence(struct resolver *r, bool is_silent)
{
	if (is_silent && ++r->silences == RESOLVER_SILENCES)
		log_error("DNS: no server has answered %d queries in a row; "
		    "see dns_servers and " RESOLV_CONF, RESOLVER_SILENCES);
	else if (!is_silent && r->silences >= RESOLVER_SILENCES)
		log_info("DNS: a server answers again");
	if (!is_silent)
		r->silences = 0;
}

/* Either the answer is there, or the time is up. */
static void
resolver_on_due(evutil_socket_t fd, short what, void *arg)
{
	struct resolver_query *q = arg;
	struct resolver_result res;
	void (*on_done)(const struct resolver_result *, void *) = q->on_done;
	void *on_done_arg = q->arg;

	(void)fd;
	(void)what;
	if (q->ticket != NULL)
		q->res.status = RESOLVER_TIMEOUT;
	res = q->res;
	note_silence(q->r, res.status == RESOLVER_TIMEOUT);
	query_free(q);
	on_done(&res, on_done_arg);
}

int
resolver_start(struct resolver *r, const char *host, uint64_t ms,
    void (*on_done)(const struct resolver_result *res, void *arg), void *arg,
    struct resolver_query **out, struct err *e)
{
	struct timeval tv = clock_timeval_ms(ms);
	struct resolver_query *q;
	struct ticket *t = NULL;

	if (strlen(host) >= HOST_MAX)
		return err_set(e, ERR_ARG, "a name of %zu bytes", strlen(host));
	if ((q = calloc(1, sizeof(*q))) == NULL ||
	    (t = calloc(1, sizeof(*t))) == NULL ||
	    (q->timer = evtimer_new(r->base, resolver_on_due, q)) == NULL) {
		free(t);
		free(q);
		return err_set(e, ERR_NOMEM, "no memory to resolve a name");
	}
	q->r = r;
	q->on_done = on_done;
	q->arg = arg;
	TAILQ_INSERT_TAIL(&r->queries, q, link);
	q->ticket = t;
	t->r = r;
	t->q = q;
	TAILQ_INSERT_TAIL(&r->tickets, t, link);
	(void)evtimer_add(q->timer, &tv);
	memcpy(t->host, host, strlen(host) + 1);
	ask(t);
	arm_timer(r);
	*out = q;
	return 0;
}

void
resolver_cancel(struct resolver_query **qp)
{
	if (*qp == NULL)
		return;
	query_free(*qp);
	*qp = NULL;
}

const char *
resolver_status_text(enum resolver_status s)
{
	static const char *const texts[] = {
		[RESOLVER_OK] = "found",
		[RESOLVER_NXDOMAIN] = "NXDOMAIN",
		[RESOLVER_NODATA] = "no address",
		[RESOLVER_SERVFAIL] = "SERVFAIL",
		[RESOLVER_REFUSED] = "REFUSED",
		[RESOLVER_TIMEOUT] = "timeout",
		[RESOLVER_FAILED] = "no usable answer",
	};

	return texts[s];
}
