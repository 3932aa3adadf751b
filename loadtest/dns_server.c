/*
 * dns_server.c - names, addresses and misbehaviour.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "loadtest/dns_server.h"

enum { NAMES_MAX = 64, ADDRS_MAX = 16, TTL_S = 1, NAME_MAX_LEN = 254 };

struct entry {
	char			name[NAME_MAX_LEN];
	enum dns_behaviour	how;
	struct in_addr		v4[ADDRS_MAX];
	struct in6_addr		v6[ADDRS_MAX];
	int			n4, n6;
};

struct dns_server {
	struct evdns_server_port *port;
	unsigned		 number;
	struct entry		 entries[NAMES_MAX];
	size_t			 n;
	uint64_t		 count;
};

static struct entry *
find(struct dns_server *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcasecmp(s->entries[i].name, name) == 0)
			return &s->entries[i];
	return NULL;
}

static int
rcode_of(enum dns_behaviour how)
{
	switch (how) {
	case DNS_NXDOMAIN:
		return DNS_ERR_NOTEXIST;
	case DNS_SERVFAIL:
		return DNS_ERR_SERVERFAILED;
	case DNS_REFUSED:
		return DNS_ERR_REFUSED;
	case DNS_ANSWER:
	case DNS_SILENT:
		break;
	}
	return DNS_ERR_NONE;
}

/* One record an address: given several, evdns makes one broken record. */
static void
add_answers(struct evdns_server_request *rq, const char *name, int type,
    const struct entry *en)
{
	int i;

	for (i = 0; type == EVDNS_TYPE_A && i < en->n4; i++)
		(void)evdns_server_request_add_a_reply(rq, name, 1, &en->v4[i],
		    TTL_S);
	for (i = 0; type == EVDNS_TYPE_AAAA && i < en->n6; i++)
		(void)evdns_server_request_add_aaaa_reply(rq, name, 1,
		    &en->v6[i], TTL_S);
}

static void
dns_server_on_query(struct evdns_server_request *rq, void *arg)
{
	struct dns_server *s = arg;
	const struct entry *en;
	int i, rcode = DNS_ERR_NOTEXIST;

	s->count++;
	for (i = 0; i < rq->nquestions; i++) {
		if ((en = find(s, rq->questions[i]->name)) == NULL)
			continue;
		if (en->how == DNS_SILENT) {
			(void)evdns_server_request_drop(rq);
			return;
		}
		rcode = rcode_of(en->how);
		if (en->how == DNS_ANSWER)
			add_answers(rq, rq->questions[i]->name,
			    rq->questions[i]->type, en);
	}
	(void)evdns_server_request_respond(rq, rcode);
}

static int
bind_loopback(unsigned *port, struct err *e)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fd;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0)) == -1 ||
	    bind(fd, (const struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) == -1) {
		(void)err_sys(e, "bind the DNS server");
		if (fd != -1)
			close(fd);
		return -1;
	}
	*port = ntohs(sin.sin_port);
	return fd;
}

int
dns_server_new(struct dns_server **out, struct event_base *base,
    struct err *e)
{
	struct dns_server *s;
	int fd;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the DNS server");
	if ((fd = bind_loopback(&s->number, e)) == -1) {
		free(s);
		return ERR_SYS;
	}
	if ((s->port = evdns_add_server_port_with_base(base, fd, 0,
	    dns_server_on_query, s)) == NULL) {
		close(fd);
		free(s);
		return err_set(e, ERR_NOMEM, "no memory for the DNS server");
	}
	*out = s;
	return 0;
}

void
dns_server_free(struct dns_server **sp)
{
	if (*sp == NULL)
		return;
	evdns_close_server_port((*sp)->port);	/* closes the socket */
	free(*sp);
	*sp = NULL;
}

unsigned
dns_server_port(const struct dns_server *s)
{
	return s->number;
}

static int
add_addr(struct entry *en, const char *text, struct err *e)
{
	if (en->n4 < ADDRS_MAX &&
	    inet_pton(AF_INET, text, &en->v4[en->n4]) == 1) {
		en->n4++;
		return 0;
	}
	if (en->n6 < ADDRS_MAX &&
	    inet_pton(AF_INET6, text, &en->v6[en->n6]) == 1) {
		en->n6++;
		return 0;
	}
	return err_set(e, ERR_ARG, "\"%.60s\" is no address, or one too many",
	    text);
}

int
dns_server_add(struct dns_server *s, const char *name,
    enum dns_behaviour how, const char *addrs, struct err *e)
{
	struct entry en = { .how = how }, *at;
	char *copy, *word, *rest = NULL;
	int r = 0;

	if (strlen(name) >= sizeof(en.name))
		return err_set(e, ERR_ARG, "a name of %zu bytes",
		    strlen(name));
	strcpy(en.name, name);
	if ((copy = strdup(addrs)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a name");
	for (word = strtok_r(copy, " ", &rest); word != NULL && r == 0;
	    word = strtok_r(NULL, " ", &rest))
		r = add_addr(&en, word, e);
	free(copy);
	if (r != 0)
		return r;
	if ((at = find(s, name)) == NULL) {
		if (s->n == NAMES_MAX)
			return err_set(e, ERR_LIMIT, "more than %d names",
			    NAMES_MAX);
		at = &s->entries[s->n++];
	}
	*at = en;
	return 0;
}

uint64_t
dns_server_count(const struct dns_server *s)
{
	return s->count;
}
