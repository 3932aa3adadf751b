/*
 * exchange_lookup.c - one question to the system's resolver, and a thread
 * that may outlive whoever asked it.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "transport/exchange_lookup.h"
#include "transport/url.h"

/* Shared by the asker and the thread; the last of the two frees it. */
struct lookup {
	pthread_mutex_t	 lock;
	pthread_cond_t	 answered;
	char		 host[URL_NAME_MAX + 1];
	char		 port[8];
	bool		 is_done, is_left;	/* by the asker */
	int		 code;			/* of getaddrinfo */
	int		 sys;			/* its errno, for EAI_SYSTEM */
	struct addrinfo	*all;
};

static int
resolve(const char *host, const char *port, int flags, struct addrinfo **out)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | flags };

	*out = NULL;
	return getaddrinfo(host, port, &hints, out);
}

static int
fail(int code, int sys, struct err *e)
{
	if (code == EAI_MEMORY)
		return err_set(e, ERR_NOMEM, "no memory for addresses");
	return err_set(e, ERR_NOENT, "%s", code == EAI_SYSTEM ?
	    strerror(sys) : gai_strerror(code));
}

static void
lookup_free(struct lookup *l)
{
	if (l->all != NULL)
		freeaddrinfo(l->all);
	pthread_cond_destroy(&l->answered);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void *
lookup_main(void *arg)
{
	struct lookup *l = arg;
	struct addrinfo *all;
	int code = resolve(l->host, l->port, 0, &all), sys = errno;
	bool is_left;

	pthread_mutex_lock(&l->lock);
	l->all = all;
	l->code = code;
	l->sys = sys;
	l->is_done = true;
	is_left = l->is_left;
	pthread_cond_signal(&l->answered);
	pthread_mutex_unlock(&l->lock);
	if (is_left)
		lookup_free(l);
	return NULL;
}

static int
lookup_new(struct lookup **out, const char *host, const char *port,
    struct err *e)
{
	pthread_condattr_t attr;
	struct lookup *l;
	int r;

	if (strlen(host) > URL_NAME_MAX)
		return err_set(e, ERR_NOENT, "the name is too long");
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a lookup");
	(void)snprintf(l->host, sizeof(l->host), "%s", host);
	(void)snprintf(l->port, sizeof(l->port), "%s", port);
	/* Neither can fail on Linux but for memory. */
	if ((r = pthread_condattr_init(&attr)) == 0) {
		(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		r = pthread_cond_init(&l->answered, &attr);
		pthread_condattr_destroy(&attr);
	}
	if (r != 0 || pthread_mutex_init(&l->lock, NULL) != 0) {
		free(l);
		return err_set(e, ERR_NOMEM, "no memory for a lookup");
	}
	*out = l;
	return 0;
}

/* Detached.  Signals stay the program's own threads' business. */
static int
lookup_start(struct lookup *l, struct err *e)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int r;

	if ((errno = pthread_attr_init(&attr)) != 0)
		return err_sys(e, "thread");
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, lookup_main, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (r == 0)
		return 0;
	errno = r;
	return err_sys(e, "thread");
}

/* The thread is not to be touched after this. */
static int
lookup_wait(struct lookup *l, uint64_t deadline_ms, struct addrinfo **out,
    struct err *e)
{
	const struct timespec until = { (time_t)(deadline_ms / 1000),
		(long)(deadline_ms % 1000) * 1000000 };
	bool is_done;
	int r = 0;

	pthread_mutex_lock(&l->lock);
	while (!l->is_done && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&l->answered, &l->lock, &until);
	is_done = l->is_done;
	l->is_left = !is_done;
	pthread_mutex_unlock(&l->lock);
	if (!is_done)
		return err_set(e, ERR_TIMEOUT, "the resolver has not answered "
		    "in time");
	r = l->code == 0 ? 0 : fail(l->code, l->sys, e);
	*out = l->all;
	l->all = NULL;
	lookup_free(l);
	return r;
}

int
exchange_lookup(const char *host, uint16_t port, uint64_t deadline_ms,
    struct addrinfo **out, struct err *e)
{
	struct lookup *l = NULL;
	char text[8];
	int r;

	(void)snprintf(text, sizeof(text), "%u", (unsigned)port);
	r = resolve(host, text, deadline_ms == 0 ? 0 : AI_NUMERICHOST, out);
	if (r == 0)
		return 0;
	if (deadline_ms == 0 || r != EAI_NONAME)
		return fail(r, errno, e);
	if ((r = lookup_new(&l, host, text, e)) != 0)
		return r;
	if ((r = lookup_start(l, e)) != 0) {
		lookup_free(l);
		return r;
	}
	return lookup_wait(l, deadline_ms, out, e);
}
