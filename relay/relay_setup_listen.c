/*
 * relay_setup_listen.c - what the config says of listeners: addresses, and
 * none of them twice.  It binds nothing: --check may run beside the relay.
 */
#include <limits.h>
#include <stdio.h>

#include "base/err.h"
#include "relay/config.h"
#include "relay/relay_life.h"
#include "relay/relay_setup.h"
#include "transport/listen_socket.h"

enum { LISTENERS = 2 * RELAY_LISTENERS_MAX + 1 };

struct listener {
	const char	*key, *address;
	int		 where;		/* CONFIG_DEFAULT, _FLAG_GIVEN, line */
};

struct listeners {
	struct listener	at[LISTENERS];
	size_t		n;
};

static int
check_address(const struct config *c, const struct listener *x,
    struct err *e)
{
	const bool is_metrics = x->address == c->metrics_listen;
	bool is_loopback = false;
	int r;

	if ((r = listen_socket_check(x->address, &is_loopback, e)) == 0 &&
	    is_metrics && !is_loopback)
		r = err_set(e, ERR_ARG, "%s is no loopback address: metrics "
		    "are for this machine alone", x->address);
	if (r != 0)
		config_ctx_at(c, x->key, x->where, e);
	return r;
}

static void
print_place(const struct listener *x, char *out, size_t size)
{
	if (x->where == CONFIG_FLAG_GIVEN)
		(void)snprintf(out, size, "of the command line");
	else if (x->where > 0)
		(void)snprintf(out, size, "of line %d", x->where);
	else
		(void)snprintf(out, size, "by default");
}

/* Flags come after the file, the file after the defaults. */
static int
rank(const struct listener *x)
{
	return x->where < 0 ? INT_MAX : x->where;
}

static int
check_overlap(const struct config *c, const struct listener *a,
    const struct listener *b, struct err *e)
{
	const struct listener *late = rank(a) > rank(b) ? a : b;
	const struct listener *early = late == a ? b : a;
	char place[48];

	if (!listen_socket_overlap(a->address, b->address))
		return 0;
	print_place(early, place, sizeof(place));
	err_set(e, ERR_ARG, "%s is taken already, by %s = %s %s",
	    late->address, early->key, early->address, place);
	config_ctx_at(c, late->key, late->where, e);
	return ERR_ARG;
}

static int
add(struct listeners *l, const struct config *c, const char *key,
    const struct config_list *list, struct err *e)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (i == RELAY_LISTENERS_MAX) {
			err_set(e, ERR_ARG, "more than %d listeners",
			    RELAY_LISTENERS_MAX);
			config_ctx_at(c, key, list->where[i], e);
			return ERR_ARG;
		}
		l->at[l->n++] = (struct listener){ key, list->at[i],
			list->where[i] };
	}
	return 0;
}

int
relay_setup_check_listeners(const struct config *c, struct err *e)
{
	struct listeners l = { .n = 0 };
	size_t i, k;
	int r;

	if ((r = add(&l, c, "listen", &c->listen, e)) != 0 ||
	    (r = add(&l, c, "direct_listen", &c->direct_listen, e)) != 0)
		return r;
	if (c->metrics_listen[0] != '\0')
		l.at[l.n++] = (struct listener){ "metrics_listen",
			c->metrics_listen, config_where(c, "metrics_listen") };
	for (i = 0; i < l.n; i++)
		if ((r = check_address(c, &l.at[i], e)) != 0)
			return r;
	for (i = 1; i < l.n; i++)
		for (k = 0; k < i; k++)
			if ((r = check_overlap(c, &l.at[k], &l.at[i], e)) != 0)
				return r;
	return 0;
}
