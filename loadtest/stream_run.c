/*
 * stream_run.c - see stream_run.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "loadtest/stream_pattern.h"
#include "loadtest/stream_peer.h"
#include "loadtest/stream_run.h"

enum { CHUNK = 64 * 1024 };

struct stream_run {
	struct stream_run_opts	 o;
	struct exchange_client	*c;
	struct stream_result	 result;
	uint8_t			 head[STREAM_HEAD];
	uint8_t			 verdict[STREAM_VERDICT];
	uint64_t		 put, got;	/* with head, with verdict */
	uint64_t		 start_ns, last_ns;
	bool			 is_bad, is_over;
};

static uint64_t
run_ns(const struct stream_run *r)
{
	return clock_mono_ns(r->o.client.clock);
}

static void
run_on_done(void *arg)
{
	struct stream_run *r = arg;

	r->o.on_done(r, r->o.arg);
}

/* It came to its end, for better or worse. */
static void
run_over(struct stream_run *r)
{
	struct stream_result *x = &r->result;

	r->is_over = true;
	exchange_client_stats(r->c, &x->stats);
	x->bytes = r->o.down > 0 ? r->o.down : r->o.up;
	x->from_ns = r->start_ns;
	x->to_ns = r->last_ns;
	x->timed = x->bytes;
	if (r->o.down > x->stats.first_bytes) {
		x->from_ns = x->stats.first_us * 1000;
		x->timed -= x->stats.first_bytes;
	}
	exchange_client_finish(r->c, run_on_done, r);
}

static void
run_fail(struct stream_run *r, const char *text)
{
	(void)err_set(&r->result.err, ERR_CORRUPT, "stream: %s", text);
	run_over(r);
}

/* Verifies n bytes at offset got. */
static bool
run_take(struct stream_run *r, const uint8_t *p, size_t n)
{
	const uint64_t left = r->got < r->o.down ? r->o.down - r->got : 0;
	const size_t k = n < left ? n : (size_t)left;
	const size_t at = (size_t)(r->got + k - r->o.down);

	if (!stream_pattern_is(r->o.seed + 1, r->got, p, k))
		return false;
	if (k < n) {
		if (r->o.up == 0 || at + (n - k) > STREAM_VERDICT)
			return false;
		memcpy(r->verdict + at, p + k, n - k);
	}
	if (k > 0 || r->o.down == 0)
		r->last_ns = run_ns(r);
	r->got += n;
	return true;
}

static void
run_end(struct stream_run *r)
{
	const uint64_t want = r->o.down + (r->o.up > 0 ? STREAM_VERDICT : 0);

	if (r->got != want)
		run_fail(r, "it ended early");
	else if (r->o.up > 0 &&
	    stream_peer_read_number(r->verdict) != r->o.up)
		run_fail(r, "the upload did not arrive as it was");
	else {
		r->result.is_ok = true;
		run_over(r);
	}
}

static void
run_on_readable(void *arg)
{
	struct stream_run *r = arg;
	uint8_t buf[CHUNK];
	bool end = false;
	size_t n;

	if (r->is_over)
		return;
	while ((n = exchange_client_read(r->c, buf, sizeof(buf), &end)) > 0)
		if (!run_take(r, buf, n)) {
			run_fail(r, "a byte came that was not sent");
			return;
		}
	if (end)
		run_end(r);
}

static void
run_on_writable(void *arg)
{
	struct stream_run *r = arg;
	const uint64_t total = STREAM_HEAD + r->o.up;
	uint8_t buf[CHUNK];
	size_t n, k;

	while (!r->is_over && r->put < total) {
		n = total - r->put < sizeof(buf) ? (size_t)(total - r->put) :
		    sizeof(buf);
		if (r->put < STREAM_HEAD) {
			n = STREAM_HEAD - (size_t)r->put;
			memcpy(buf, r->head + r->put, n);
		} else
			stream_pattern_fill(r->o.seed, r->put - STREAM_HEAD,
			    buf, n);
		k = exchange_client_write(r->c, buf, n);
		r->put += k;
		if (k < n)
			return;
	}
	if (!r->is_over)
		exchange_client_end(r->c);
}

static void
run_on_fail(enum exchange_fault f, const struct err *e, void *arg)
{
	struct stream_run *r = arg;

	r->result.fault = f;
	r->result.err = *e;
	run_over(r);
}

int
stream_run_new(struct stream_run **out, const struct stream_run_opts *o,
    struct err *e)
{
	struct exchange_client_opts co = o->client;
	struct stream_run *r;
	int rc;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a stream");
	r->o = *o;
	co.on_readable = run_on_readable;
	co.on_writable = run_on_writable;
	co.on_fail = run_on_fail;
	co.arg = r;
	if ((rc = exchange_client_new(&r->c, &co, e)) != 0) {
		free(r);
		return rc;
	}
	exchange_client_on_exchange(r->c, o->on_exchange, o->arg);
	stream_peer_print_head(r->head, o->seed, o->down, o->up);
	r->start_ns = run_ns(r);
	run_on_writable(r);
	*out = r;
	return 0;
}

void
stream_run_free(struct stream_run **rp)
{
	struct stream_run *r = *rp;

	if (r == NULL)
		return;
	exchange_client_free(&r->c);
	free(r);
	*rp = NULL;
}

const struct stream_result *
stream_run_result(const struct stream_run *r)
{
	return &r->result;
}
