/*
 * amber_session.c - the session under a client's calls: opened, kept,
 * replaced; and what the relay says of itself in it.
 */
#include <sodium.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "client/amber_inside.h"
#include "client/amber_told.h"
#include "client/client_session.h"
#include "transport/http_parser.h"

enum {
	QUESTION_MAX = 8192,
	BODY_MAX = 64 << 10,
	/* The relay ends a session after 60 s without an exchange, and none
	 * is made between calls. */
	IDLE_MS = 45000,
};

double
amber_session_since(uint64_t start_ns)
{
	return (double)(clock_mono_ns(clock_system()) - start_ns) / 1e9;
}

void
amber_session_drop(struct amber *a)
{
	client_session_free(&a->session);
	a->has_told = false;
	a->exchanges = a->retries = 0;
}

static void
amber_session_on_tick(void *arg)
{
	struct amber *a = arg;
	struct amber_progress p;

	client_session_progress(a->session, &p);
	p.seconds = amber_session_since(a->start_ns);
	a->on_progress(&p, a->progress_arg);
}

static bool
is_usable(const struct amber *a)
{
	return a->session != NULL &&
	    clock_mono_ms(clock_system()) - a->used_ms < IDLE_MS &&
	    client_session_is_open(a->session);
}

int
amber_session_open(struct amber *a, uint64_t deadline_ms, double *took_s,
    struct err *e)
{
	struct client_session_opts o = { .relay = a->relay,
		.ca_file = a->ca_file,
		.pin = &a->pin,
		.window = a->window,
		.deadline_ms = deadline_ms,
		.on_tick = a->on_progress == NULL ? NULL :
						    amber_session_on_tick,
		.arg = a };
	uint64_t start = clock_mono_ns(clock_system());
	int r;

	*took_s = 0;
	if (is_usable(a)) {
		client_session_counts(a->session, &a->exchanges, &a->retries);
		return 0;
	}
	amber_session_drop(a);
	memset(&a->told, 0, sizeof(a->told));
	if ((r = client_session_new(&a->session, &o, &a->fault, e)) == 0 &&
	    (r = client_session_open(a->session, deadline_ms, e)) != 0)
		a->fault = client_session_fault(a->session);
	if (r != 0) {
		amber_session_drop(a);
		return r;
	}
	a->used_ms = clock_mono_ms(clock_system());
	*took_s = amber_session_since(start);
	return 0;
}

/* ---- what the relay says of itself ---- */

int
amber_session_question(const struct amber *a, struct bytes *out,
    struct err *e)
{
	return amber_told_request(out, a->token, e);
}

int
amber_session_told(struct amber *a, struct err *e)
{
	struct bytes body = BYTES_INIT(BODY_MAX);
	struct client_session_answer ans = { &body, NULL, 0 };
	int r;

	if ((r = client_session_receive(a->session, false, &ans, e)) != 0)
		a->fault = client_session_fault(a->session);
	/* A refusal (407) says nothing; the answer after it says why. */
	else if (ans.message->status == 200 &&
	    (r = amber_told_take(&a->told, ans.message->fields, e)) != 0)
		a->fault = AMBER_FAULT_HTTP;
	else
		a->has_told = true;
	bytes_free(&body);
	return r;
}

/* Whether or not that was done already. */
static int
ask_again(struct amber *a, uint64_t deadline_ms, struct err *e)
{
	struct bytes request = BYTES_INIT(QUESTION_MAX);
	int r;

	if ((r = amber_session_question(a, &request, e)) != 0)
		a->fault = AMBER_FAULT_ARG;
	else {
		client_session_send(a->session, &request, deadline_ms);
		r = amber_session_told(a, e);
	}
	bytes_free(&request);	/* wipes the token */
	return r;
}

int
amber_session_ask(struct amber *a, uint64_t deadline_ms, struct err *e)
{
	return a->has_told ? 0 : ask_again(a, deadline_ms, e);
}

static int
wrong_epoch(struct amber *a, struct amber_answer *r, struct err *e)
{
	char hex[17];

	sodium_bin2hex(hex, sizeof(hex), r->puzzle, 8);
	a->fault = AMBER_FAULT_RECEIPT;
	r->is_verified = false;
	if (a->told.nepochs == 0)
		return err_set(e, ERR_AUTH, "receipt: record %llu is sealed "
		    "for the puzzle %s..., and the relay says that no epoch "
		    "serves", (unsigned long long)r->index, hex);
	return err_set(e, ERR_AUTH, "receipt: record %llu is sealed for the "
	    "puzzle %s..., but the relay told of epoch %llu; it may be opened "
	    "at another time than you were told",
	    (unsigned long long)r->index, hex,
	    (unsigned long long)a->told.epochs[0].number);
}

int
amber_session_check_epoch(struct amber *a, struct amber_answer *r,
    uint64_t deadline_ms, struct err *e)
{
	uint64_t least = a->told.nepochs > 0 ? a->told.epochs[0].number : 0;
	const struct amber_epoch *ep = amber_told_find(&a->told, r->puzzle);
	double took_s;
	int ret;

	if (ep == NULL) {
		if (!a->is_kept)
			amber_session_drop(a);
		if ((ret = amber_session_open(a, deadline_ms, &took_s, e)) !=
			0 ||
		    (ret = ask_again(a, deadline_ms, e)) != 0)
			return ret;
		ep = amber_told_find(&a->told, r->puzzle);
	}
	if (ep == NULL || ep->number < least)
		return wrong_epoch(a, r, e);
	r->epoch = ep->number;
	return 0;
}
