/*
 * exchange_pool.c - see exchange_pool.h.  It looks into no answer and reads
 * no clock.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "transport/exchange_link.h"
#include "transport/exchange_pool.h"

enum { LINKS_MAX = 64 };

struct exchange_pool_link {
	struct exchange_pool	*pool;
	struct exchange_link	*k;		/* NULL: none */
	bool			 is_busy;
	uint64_t		 n;		/* asked for, if busy */
	size_t			 got;		/* bytes of its answer's body */
	uint64_t		 late_us;
};

struct exchange_pool {
	struct event_base		*base;
	const struct exchange_route	*route;
	struct exchange_pool_hooks	 hooks;
	struct exchange_pool_link	 links[LINKS_MAX];
	unsigned			 idle[LINKS_MAX]; /* the last one is
							   * the last used */
	unsigned			 nidle, open;
	uint64_t			 opened;
};

static void
link_close(struct exchange_pool_link *l)
{
	struct exchange_pool *p = l->pool;
	const unsigned at = (unsigned)(l - p->links);
	unsigned i;

	if (l->k == NULL)
		return;
	for (i = 0; i < p->nidle && p->idle[i] != at; i++)
		;
	if (i < p->nidle) {
		p->nidle--;
		memmove(&p->idle[i], &p->idle[i + 1],
		    (p->nidle - i) * sizeof(p->idle[0]));
	}
	exchange_link_free(&l->k);
	l->is_busy = false;
	p->open--;
}

static void
link_on_answer(struct exchange_link *k, const struct exchange_answer *a,
    bool is_kept, void *arg)
{
	struct exchange_pool_link *l = arg;
	struct exchange_pool *p = l->pool;

	(void)k;
	l->is_busy = false;
	p->hooks.on_answer(l->n, a, p->hooks.arg);
	if (l->k == NULL)
		return;			/* the owner closed them all */
	if (is_kept)
		p->idle[p->nidle++] = (unsigned)(l - p->links);
	else
		link_close(l);
}

static void
link_on_body(size_t n, void *arg)
{
	struct exchange_pool_link *l = arg;
	struct exchange_pool *p = l->pool;

	l->got += n;
	p->hooks.on_body(l->n, n, l->got, p->hooks.arg);
}

static void
link_on_lost(struct exchange_link *k, enum exchange_loss how,
    enum exchange_fault fault, const struct err *e, void *arg)
{
	struct exchange_pool_link *l = arg;
	struct exchange_pool *p = l->pool;
	const struct exchange_pool_loss loss = {
		.was_up = exchange_link_is_up(k),
		.was_busy = l->is_busy,
		.n = l->n,
		.how = how,
		.fault = fault,
		.err = e,
	};

	link_close(l);
	p->hooks.on_lost(&loss, p->hooks.arg);
}

/* ---- the owner's calls ---- */

int
exchange_pool_new(struct exchange_pool **out, struct event_base *base,
    const struct exchange_route *route,
    const struct exchange_pool_hooks *hooks, struct err *e)
{
	struct exchange_pool *p;
	size_t i;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for connections");
	p->base = base;
	p->route = route;
	p->hooks = *hooks;
	for (i = 0; i < LINKS_MAX; i++)
		p->links[i].pool = p;
	*out = p;
	return 0;
}

void
exchange_pool_free(struct exchange_pool **pp)
{
	if (*pp == NULL)
		return;
	exchange_pool_close(*pp);
	free(*pp);
	*pp = NULL;
}

bool
exchange_pool_has_room(const struct exchange_pool *p)
{
	return p->nidle > 0 || p->open < LINKS_MAX;
}

int
exchange_pool_take(struct exchange_pool *p, bool is_fresh, size_t i,
    struct exchange_pool_link **out, struct err *e)
{
	struct exchange_link_hooks h = { link_on_answer, link_on_lost,
		link_on_body, NULL };
	struct exchange_pool_link *l;
	size_t at;
	int r;

	if (!is_fresh && p->nidle > 0) {
		*out = &p->links[p->idle[--p->nidle]];
		return 0;
	}
	if (p->open == LINKS_MAX)
		link_close(&p->links[p->idle[0]]);
	for (at = 0; p->links[at].k != NULL; at++)
		;
	l = &p->links[at];
	h.arg = l;
	if ((r = exchange_link_new(&l->k, p->base, p->route, i, &h, e)) != 0)
		return r;
	p->open++;
	p->opened++;
	*out = l;
	return 0;
}

int
exchange_pool_ask(struct exchange_pool_link *l, uint64_t n, uint64_t late_us,
    const struct bytes *target, struct err *e)
{
	l->is_busy = true;
	l->n = n;
	l->got = 0;
	l->late_us = late_us;
	return exchange_link_ask(l->k, target, e);
}

bool
exchange_pool_expire(struct exchange_pool *p, uint64_t heard_us,
    uint64_t now_us, uint64_t *due, struct exchange_pool_loss *loss)
{
	struct exchange_pool_link *l;
	uint64_t late;
	size_t i;

	for (i = 0; i < LINKS_MAX; i++) {
		l = &p->links[i];
		if (l->k == NULL || !l->is_busy)
			continue;
		late = l->late_us > heard_us ? l->late_us : heard_us;
		if (now_us < late) {
			*due = late < *due ? late : *due;
			continue;
		}
		*loss = (struct exchange_pool_loss){
			.was_up = exchange_link_is_up(l->k),
			.was_busy = true,
			.n = l->n,
			.how = EXCHANGE_LOSS_LATE,
		};
		link_close(l);
		return true;
	}
	return false;
}

void
exchange_pool_close(struct exchange_pool *p)
{
	size_t i;

	for (i = 0; i < LINKS_MAX; i++)
		link_close(&p->links[i]);
}

void
exchange_pool_close_busy(struct exchange_pool *p)
{
	size_t i;

	for (i = 0; i < LINKS_MAX; i++)
		if (p->links[i].is_busy)
			link_close(&p->links[i]);
}

uint64_t
exchange_pool_opened(const struct exchange_pool *p)
{
	return p->opened;
}

unsigned
exchange_pool_open(const struct exchange_pool *p)
{
	return p->open;
}
