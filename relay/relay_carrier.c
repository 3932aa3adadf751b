/*
 * relay_carrier.c - an exchange session's stream is an inner session's
 * ciphertext.
 */
#include <stdlib.h>

#include "base/err.h"
#include "relay/inner.h"
#include "relay/relay_carrier.h"
#include "relay/service.h"
#include "transport/exchange_session.h"

struct carried {
	struct exchange_session	*session;
	struct inner		*inner;
};

static void
carried_on_wake(void *arg)
{
	exchange_session_wake(((struct carried *)arg)->session);
}

static void
carried_on_resume(void *arg)
{
	exchange_session_resume(((struct carried *)arg)->session);
}

static void
carried_on_established(void *arg)
{
	exchange_session_established(((struct carried *)arg)->session);
}

static void
carried_on_busy(bool busy, void *arg)
{
	exchange_session_set_busy(((struct carried *)arg)->session, busy);
}

/* The core calls carrier_on_close in its next turn; nothing before. */
static void
carried_on_abort(void *arg)
{
	exchange_session_close(((struct carried *)arg)->session);
}

static int
carrier_on_open(struct exchange_session *session, void **user, void *arg,
    struct err *e)
{
	struct inner_cbs cbs = { carried_on_wake, carried_on_resume,
		carried_on_established, carried_on_busy, carried_on_abort,
		NULL };
	struct carried *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a session");
	c->session = session;
	cbs.arg = c;
	if ((r = inner_new(&c->inner, arg, &cbs, e)) != 0) {
		free(c);
		return r;
	}
	*user = c;
	return 0;
}

static size_t
carrier_on_upload(void *user, const uint8_t *p, size_t n)
{
	return inner_feed(((struct carried *)user)->inner, p, n);
}

static void
carrier_on_upload_end(void *user)
{
	inner_feed_eof(((struct carried *)user)->inner);
}

static size_t
carrier_on_read(void *user, uint8_t *p, size_t n, bool *end)
{
	return inner_read(((struct carried *)user)->inner, p, n, end);
}

static uint64_t
carrier_on_pending(void *user)
{
	return inner_pending(((struct carried *)user)->inner);
}

static void
carrier_on_close(void *user, enum exchange_end why)
{
	struct carried *c = user;

	(void)why;
	inner_free(&c->inner);
	free(c);
}

void
relay_carrier_hooks(struct exchange_hooks *h, struct service *s)
{
	*h = (struct exchange_hooks){ .on_open = carrier_on_open,
		.on_upload = carrier_on_upload,
		.on_upload_end = carrier_on_upload_end,
		.on_read = carrier_on_read,
		.on_pending = carrier_on_pending,
		.on_close = carrier_on_close,
		.arg = s };
}
