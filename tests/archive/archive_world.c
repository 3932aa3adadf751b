/*
 * archive_world.c - see archive_world.h.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/signer.h"
#include "base/clock.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/archive/archive_world.h"
#include "tests/archive/check.h"
#include "tests/test_util.h"

enum { WAIT_S = 60 };

struct slot slots[RECORDS];
int done_count;

void
world_on_done(const struct archive_done *d, void *arg)
{
	struct slot *s = arg;

	s->calls++;
	s->status = d->status;
	s->is_full = d->is_full;
	done_count++;
	if (d->status != 0) {
		assert_non_null(d->err);
		return;
	}
	s->index = d->index;
	s->seal_ns = d->seal_ns;
	s->commit_ns = d->commit_ns;
	/* They are parts of what the caller waited for. */
	if (d->rs != NULL) {
		assert_true(d->seal_ns > 0 && d->commit_ns > 0);
		assert_true(d->seal_ns + d->commit_ns <=
		    clock_mono_ns(clock_system()) - s->append_ns);
	} else
		assert_true(d->seal_ns == 0 && d->commit_ns == 0);
	s->receipt_len = d->receipt_len;
	if (d->receipt != NULL)
		memcpy(s->receipt, d->receipt, d->receipt_len);
	if (d->rs != NULL)
		memcpy(s->rs, d->rs, sizeof(s->rs));
}

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

void
world_run(struct world *w, int n)
{
	const struct timeval tv = { WAIT_S, 0 };
	bool is_late = false;
	struct event *ev = evtimer_new(w->base, on_timeout, &is_late);

	evtimer_add(ev, &tv);
	while (done_count < n && !is_late)
		event_base_loop(w->base, EVLOOP_ONCE);
	event_free(ev);
	assert_false(is_late);
}

void
world_open(struct world *w)
{
	struct err e = ERR_INIT;

	assert_int_equal(signer_local_new(&w->signer, sample.id, NULL), 0);
	w->o.commit.recovery.signer = w->signer;
	if (archive_open_writer(&w->a, &w->o, NULL, &e) != 0)
		fail_msg("%s", e.msg);
}

void
world_close(struct world *w)
{
	struct err e = ERR_INIT;

	if (archive_close(&w->a, &e) != 0)
		fail_msg("%s", e.msg);
	signer_free(&w->signer);
}

int
world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->folder = test_folder_make();
	w->path = test_path(w->folder, "archive");
	w->base = event_base_new();
	w->o.path = w->path;
	w->o.vkey = identity_vkey(sample.id);
	w->o.base = w->base;
	w->o.may_create = true;
	w->epochs[0] = sample.ep;
	w->epochs[1] = sample.ep2;
	w->epochs[2] = sample.ep3;
	memset(slots, 0, sizeof(slots));
	done_count = 0;
	*state = w;
	return 0;
}

int
world_teardown(void **state)
{
	struct world *w = *state;

	if (w->a != NULL)
		(void)archive_close(&w->a, NULL);
	signer_free(&w->signer);
	event_base_free(w->base);
	test_folder_remove(w->folder);
	free(w->path);
	free(w->folder);
	free(w);
	return 0;
}

void
world_publish(struct world *w, struct sample_epoch *ep, struct slot *s, int
    want)
{
	const struct archive_cb cb = { world_on_done, s };
	struct secret *key = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(secret_copy(&key, ep->key, 32, NULL), 0);
	if (archive_publish(w->a, ep->cose.p, ep->cose.len, key, &cb, &e) !=
	    want)
		fail_msg("%s", e.msg);
	secret_free(&key);
}

void
world_publish_now(struct world *w, struct sample_epoch *ep)
{
	struct slot s = { .calls = 0 };
	int n = done_count + 1;

	world_publish(w, ep, &s, 0);
	world_run(w, n);
	assert_int_equal(s.status, 0);
}

int
world_append(struct world *w, uint64_t epoch, struct slot *s, size_t body)
{
	const struct archive_cb cb = { world_on_done, s };

	memset(s->body, (int)(s - slots), sizeof(s->body));
	sample_capture_body(&s->c, (uint64_t)(s - slots), s->body, body,
	    s->url);
	s->append_ns = clock_mono_ns(clock_system());
	return archive_append(w->a, epoch, &s->c, &cb, NULL);
}

void
world_check(struct world *w, size_t from, size_t n)
{
	struct check c;

	check_archive(&c, w->path, identity_vkey(sample.id), w->epochs, 3);
	for (size_t i = from; i < from + n; i++) {
		struct receipt rc;

		assert_int_equal(slots[i].calls, 1);
		assert_int_equal(slots[i].status, 0);
		check_receipt(&c, identity_vkey(sample.id), slots[i].receipt,
		    slots[i].receipt_len, slots[i].index);
		assert_int_equal(receipt_parse(&rc, slots[i].receipt,
				     slots[i].receipt_len, NULL),
		    0);
		assert_int_equal(seal_check_rs(&rc.head, slots[i].rs, NULL),
		    0);
	}
	assert_int_equal(c.opened, c.records);
	check_free(&c);
}
