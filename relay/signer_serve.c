/*
 * signer_serve.c - questions in, notes out.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "archive/note.h"
#include "archive/signer.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "relay/messages.h"
#include "relay/signer_serve.h"

struct signer_serve {
	struct frame_peer	*peer;
	struct signer		*signer;
	void			(*on_end)(const struct err *why, void *arg);
	void			*arg;
	uint64_t		 count;
};

/* Its answer is an empty note: an empty tree has none yet. */
static int
do_resume(struct signer_serve *s, const struct frame *f, struct err *e)
{
	struct message_tree m;
	int r;

	if ((r = message_tree_decode(&m, f->body, f->len, e)) != 0)
		return r;
	return signer_resume(s->signer, &m.at, m.note.n == 0 ? NULL : m.note.p,
	    m.note.n, e);
}

static int
do_extend(struct signer_serve *s, const struct frame *f, struct bytes *note,
    struct err *e)
{
	/* The body's bytes have no alignment to rely on, and need none. */
	const struct merkle_hash *leaves = (const void *)f->body;

	if (f->len % sizeof(*leaves) != 0)
		return err_set(e, ERR_FORMAT, "%zu bytes are no leaf hashes",
		    f->len);
	return signer_extend(s->signer, leaves, f->len / sizeof(*leaves),
	    note, e);
}

static int
do_question(struct signer_serve *s, const struct frame *f, struct bytes *note,
    struct err *e)
{
	switch (f->type) {
	case MESSAGE_SIGN_LAST:
		return signer_last(s->signer, note, e);
	case MESSAGE_SIGN_RESUME:
		return do_resume(s, f, e);
	default:		/* the role lets no fourth through */
		return do_extend(s, f, note, e);
	}
}

static int
send_refusal(struct signer_serve *s, uint64_t job, const struct err *why,
    struct err *e)
{
	struct message_refused m = { why->code,
		{ why->msg, strlen(why->msg) } };
	struct bytes body = BYTES_INIT(1024);
	struct frame f = { .type = MESSAGE_SIGN_REFUSED, .job = job,
		.fd = -1 };
	int r;

	if ((r = message_refused_encode(&m, &body, e)) == 0) {
		f.body = body.p;
		f.len = body.len;
		r = frame_peer_send(s->peer, &f, e);
	}
	bytes_free(&body);
	return r;
}

static void
serve_on_end(struct frame_peer *peer, const struct err *why, void *arg)
{
	struct signer_serve *s = arg;

	(void)peer;
	frame_peer_free(&s->peer);
	s->on_end(why, s->arg);		/* may free s: last */
}

static void
serve_on_frame(struct frame_peer *peer, const struct frame *q, void *arg)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct frame f = { .type = MESSAGE_NOTE, .job = q->job, .fd = -1 };
	struct signer_serve *s = arg;
	struct err e = ERR_INIT;
	int r;

	if (do_question(s, q, &note, &e) == 0) {
		f.body = note.p;
		f.len = note.len;
		s->count++;
		r = frame_peer_send(peer, &f, &e);
	} else {
		r = send_refusal(s, q->job, &e, &e);
	}
	bytes_free(&note);
	if (r != 0)
		serve_on_end(peer, &e, s);
}

int
signer_serve_new(struct signer_serve **out, struct event_base *base, int fd,
    struct signer *signer, void (*on_end)(const struct err *why, void *arg),
    void *arg, struct err *e)
{
	struct frame_peer_cbs cbs = { serve_on_frame, serve_on_end, NULL };
	struct signer_serve *s;
	int r;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the signer");
	s->signer = signer;
	s->on_end = on_end;
	s->arg = arg;
	cbs.arg = s;
	if ((r = frame_peer_new(&s->peer, base, fd, &message_role_signer,
	    &cbs, 0, e)) != 0) {
		free(s);
		return r;
	}
	if (event_base_get_npriorities(base) > 1)
		(void)frame_peer_prioritise(s->peer, 0, NULL);
	*out = s;
	return 0;
}

void
signer_serve_free(struct signer_serve **sp)
{
	if (*sp == NULL)
		return;
	frame_peer_free(&(*sp)->peer);
	free(*sp);
	*sp = NULL;
}

uint64_t
signer_serve_count(const struct signer_serve *s)
{
	return s->count;
}
