/*
 * relay_epochs.c - publication, service, expiry, lease.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "archive/epoch.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/messages.h"
#include "relay/relay_epochs.h"
#include "relay/service.h"

enum { KEPT = SERVICE_EPOCHS };

struct one {
	struct relay_epochs	*owner;
	bool			 is_used, is_published;
	bool			 is_pending;	/* the archive has it */
	uint64_t		 lease_ms;
	struct epoch		 epoch;
	/* Until it is published. */
	struct bytes		 cose;
	struct secret		*key;
};

struct relay_epochs {
	struct service		*s;
	struct event		*timer;
	uint64_t		 lease_ms;
	bool			 has_served, is_draining;
	bool			 is_full;	/* the disk, as was told */
	struct one		 at[KEPT];
	struct relay_epochs_info info;
	void			(*on_published)(uint64_t number, void *arg);
	void			*arg;
};

static void
one_clear(struct one *o)
{
	bytes_free(&o->cose);
	secret_free(&o->key);
	memset(o, 0, sizeof(*o));
}

static void
one_forget(struct one *o)
{
	archive_forget(o->owner->s->archive, o->epoch.number);
	one_clear(o);
}

static int64_t
lease_end_ms(const struct one *o)
{
	return o->epoch.not_after * 1000 + (int64_t)o->lease_ms;
}

/* The next moment at which something changes, in wall milliseconds. */
static int64_t
next_change(const struct relay_epochs *ep, int64_t now)
{
	int64_t next = INT64_MAX, end, lease;
	const struct one *o;

	for (o = ep->at; o < ep->at + KEPT; o++) {
		if (!o->is_used)
			continue;
		end = o->epoch.not_after * 1000;
		lease = lease_end_ms(o);
		if (end > now && end < next)
			next = end;
		else if (end <= now && lease < next)
			next = lease;
	}
	return next;
}

static void
set_timer(struct relay_epochs *ep, int64_t now)
{
	int64_t next = next_change(ep, now), ms;
	struct timeval tv;

	if (next == INT64_MAX) {
		(void)evtimer_del(ep->timer);
		return;
	}
	/* At least every second: the disk may have room again, and the wall
	 * clock may be set. */
	ms = next - now < 0 ? 0 : next - now > 1000 ? 1000 : next - now;
	tv = clock_timeval_ms((uint64_t)ms + 1);
	(void)evtimer_add(ep->timer, &tv);
}

/* Which one serves now: the newest that is published, begun and not over. */
static const struct one *
serving(const struct relay_epochs *ep, int64_t now)
{
	const struct one *o, *best = NULL;

	for (o = ep->at; o < ep->at + KEPT; o++)
		if (o->is_used && o->is_published &&
		    o->epoch.not_before * 1000 <= now &&
		    o->epoch.not_after * 1000 > now &&
		    (best == NULL || o->epoch.number > best->epoch.number))
			best = o;
	return best;
}

/* What clients are told of: all that have begun and are published. */
static void
list(struct relay_epochs *ep, int64_t now)
{
	struct answer_epoch *at = ep->s->epochs, x;
	const struct one *o;
	size_t i, n = 0;

	for (o = ep->at; o < ep->at + KEPT; o++) {
		if (!o->is_used || !o->is_published ||
		    o->epoch.not_before * 1000 > now)
			continue;
		x = (struct answer_epoch){ .number = o->epoch.number,
			.not_before = o->epoch.not_before,
			.not_after = o->epoch.not_after };
		memcpy(x.puzzle, o->epoch.puzzle, sizeof(x.puzzle));
		for (i = n++; i > 0 && at[i - 1].number < x.number; i--)
			at[i] = at[i - 1];
		at[i] = x;
	}
	ep->s->nepochs = n;
}

static void
announce(struct relay_epochs *ep, const struct one *o)
{
	enum relay_epoch_state was = ep->info.state;

	ep->info.state = o != NULL ? RELAY_EPOCH_READY :
	    ep->has_served	       ? RELAY_EPOCH_EXPIRED :
					 RELAY_EPOCH_WARMING;
	if (o != NULL) {
		ep->has_served = true;
		ep->info.number = o->epoch.number;
		ep->info.not_before = o->epoch.not_before;
		ep->info.not_after = o->epoch.not_after;
		memcpy(ep->info.puzzle, o->epoch.puzzle,
		    sizeof(ep->info.puzzle));
	}
	if (o != NULL && o->epoch.number != ep->s->epoch)
		log_info("epoch %llu serves",
		    (unsigned long long)o->epoch.number);
	else if (was == RELAY_EPOCH_READY && o == NULL)
		log_warn("epoch %llu has expired and none follows yet",
		    (unsigned long long)ep->info.number);
	ep->s->epoch = o == NULL ? 0 : o->epoch.number;
}

static void relay_epochs_on_published(const struct archive_done *d, void *arg);

static int
publish(struct one *o, struct err *e)
{
	struct archive_cb cb = { relay_epochs_on_published, o };
	int r;

	r = archive_publish(o->owner->s->archive, o->cose.p, o->cose.len,
	    o->key, &cb, e);
	o->is_pending = r == 0;
	return r;
}

/* Those that the disk had no room for. */
static bool
publish_waiting(struct relay_epochs *ep)
{
	struct err e = ERR_INIT;
	bool is_waiting = false;
	struct one *o;

	for (o = ep->at; o < ep->at + KEPT; o++) {
		if (!o->is_used || o->is_published || o->is_pending)
			continue;
		is_waiting = true;
		if (archive_has_room(ep->s->archive) && publish(o, &e) != 0)
			log_warn_err(&e, "epoch %llu",
			    (unsigned long long)o->epoch.number);
	}
	return is_waiting;
}

static void
forget_old(struct relay_epochs *ep, int64_t now)
{
	struct one *o;

	for (o = ep->at; o < ep->at + KEPT; o++)
		if (o->is_used && !o->is_pending && lease_end_ms(o) <= now) {
			log_info("epoch %llu: the lease is over, the key "
				 "goes",
			    (unsigned long long)o->epoch.number);
			one_forget(o);
		}
}

static enum admission_refusal
closed_by(const struct relay_epochs *ep, bool is_waiting)
{
	if (ep->is_draining)
		return ADMISSION_DRAINING;
	if (ep->info.state == RELAY_EPOCH_READY)
		return archive_has_room(ep->s->archive) ? ADMISSION_OK :
							  ADMISSION_STORAGE;
	if (is_waiting)
		return ADMISSION_STORAGE;
	return ep->info.state == RELAY_EPOCH_WARMING ? ADMISSION_WARMING :
						       ADMISSION_EXPIRED;
}

/* One line each way, however many requests are refused in between. */
static void
tell_room(struct relay_epochs *ep)
{
	const bool is_full = !archive_has_room(ep->s->archive);

	if (is_full && !ep->is_full)
		log_warn("the archive's disk is full: requests are refused "
			 "until there is room");
	else if (!is_full && ep->is_full)
		log_info("the archive's disk has room again");
	ep->is_full = is_full;
}

static void
settle(struct relay_epochs *ep)
{
	int64_t now = clock_wall_ms(ep->s->clock);
	bool is_waiting;

	forget_old(ep, now);
	is_waiting = publish_waiting(ep);
	tell_room(ep);
	announce(ep, serving(ep, now));
	list(ep, now);
	admission_set_closed(ep->s->admission, closed_by(ep, is_waiting));
	set_timer(ep, now);
}

static void
relay_epochs_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	settle(arg);
}

static void
relay_epochs_on_published(const struct archive_done *d, void *arg)
{
	struct one *o = arg;
	struct relay_epochs *ep = o->owner;
	uint64_t number = o->epoch.number;

	o->is_pending = false;
	if (d->status != 0) {
		log_err(d->err, "epoch %llu is not published",
		    (unsigned long long)number);
		if (!d->is_full)
			one_forget(o);
		settle(ep);
		return;
	}
	o->is_published = true;
	secret_free(&o->key);
	bytes_free(&o->cose);
	settle(ep);
	ep->on_published(number, ep->arg);
}

static struct one *
place_for(struct relay_epochs *ep, uint64_t number)
{
	struct one *o, *free_one = NULL;

	for (o = ep->at; o < ep->at + KEPT; o++)
		if (o->is_used && o->epoch.number == number)
			return NULL;		/* it is here already */
		else if (!o->is_used && free_one == NULL)
			free_one = o;
	return free_one;
}

int
relay_epochs_add(struct relay_epochs *ep, const struct message_epoch *m,
    struct err *e)
{
	struct one *o = place_for(ep, m->number);
	int r;

	if (o == NULL)
		return err_set(e, ERR_PHASE, "epoch %llu is one too many",
		    (unsigned long long)m->number);
	bytes_init(&o->cose, m->cose.n);
	if ((r = epoch_open(&o->epoch, m->cose.p, m->cose.n, ep->s->vkey,
		 e)) != 0 ||
	    (r = bytes_append(&o->cose, m->cose.p, m->cose.n, e)) != 0 ||
	    (r = secret_copy(&o->key, m->key.p, m->key.n, e)) != 0)
		goto out;
	o->owner = ep;
	o->is_used = true;
	o->lease_ms = ep->lease_ms;
	r = publish(o, e);
out:
	if (r != 0)
		one_clear(o);
	return r;
}

int
relay_epochs_new(struct relay_epochs **out, struct service *s,
    uint64_t lease_ms, void (*on_published)(uint64_t number, void *arg),
    void *arg, struct err *e)
{
	struct relay_epochs *ep;

	if ((ep = calloc(1, sizeof(*ep))) == NULL ||
	    (ep->timer = evtimer_new(s->base, relay_epochs_on_timer, ep)) ==
		NULL) {
		free(ep);
		return err_set(e, ERR_NOMEM, "no memory for epochs");
	}
	ep->s = s;
	ep->lease_ms = lease_ms;
	ep->on_published = on_published;
	ep->arg = arg;
	settle(ep);
	*out = ep;
	return 0;
}

void
relay_epochs_free(struct relay_epochs **ep)
{
	struct one *o;

	if (*ep == NULL)
		return;
	for (o = (*ep)->at; o < (*ep)->at + KEPT; o++)
		one_clear(o);
	event_free((*ep)->timer);
	free(*ep);
	*ep = NULL;
}

void
relay_epochs_set_lease(struct relay_epochs *ep, uint64_t lease_ms)
{
	struct one *o;

	ep->lease_ms = lease_ms;
	for (o = ep->at; o < ep->at + KEPT; o++)
		if (o->lease_ms < lease_ms)
			o->lease_ms = lease_ms;
	settle(ep);
}

void
relay_epochs_drain(struct relay_epochs *ep)
{
	ep->is_draining = true;
	settle(ep);
}

void
relay_epochs_info(const struct relay_epochs *ep,
    struct relay_epochs_info *out)
{
	*out = ep->info;
}

const char *
relay_epochs_word(enum relay_epoch_state s)
{
	static const char *const words[] = {
		[RELAY_EPOCH_WARMING] = "warming",
		[RELAY_EPOCH_READY] = "ready",
		[RELAY_EPOCH_EXPIRED] = "expired",
	};

	return words[s];
}
