/*
 * signer_remote.c - struct signer over blocking frames.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/note.h"
#include "archive/signer.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "relay/messages.h"
#include "relay/signer_remote.h"

struct signer_remote {
	struct signer	pub;		/* first: the interface's view */
	int		fd;
	int		dead;		/* the ERR_* of the first failure */
	uint64_t	job;		/* of the last question */
	struct bytes	buf;
};

static struct signer_remote *
remote_of(struct signer *s)
{
	return (struct signer_remote *)s;
}

/* The supervisor said no: its reason, as its own error. */
static int
refused(const struct frame *f, struct err *e)
{
	struct message_refused m;
	int r;

	if ((r = message_refused_decode(&m, f->body, f->len, e)) != 0)
		return r;
	return err_set(e, m.code, "the signer refuses: %.*s", (int)m.why.n,
	    m.why.p);
}

static int
answer(struct signer_remote *s, struct bytes *note, bool *is_lost,
    struct err *e)
{
	struct frame f;
	int r;

	*is_lost = true;
	if ((r = frame_recv(s->fd, &message_role_committer, &f, &s->buf,
	    SIGNER_REMOTE_MS, e)) != 0)
		return r;
	if (f.job != s->job)
		return err_set(e, ERR_PEER, "an answer to another question");
	*is_lost = false;
	if (f.type == MESSAGE_SIGN_REFUSED)
		return refused(&f, e);
	return bytes_append(note, f.body, f.len, e);
}

static int
ask(struct signer_remote *s, uint32_t type, const void *body, size_t n,
    struct bytes *note, struct err *e)
{
	struct frame f = { .type = type, .body = body, .len = n, .fd = -1 };
	bool is_lost = true;
	int r;

	if (s->dead != 0)
		return err_set(e, s->dead, "the signer was lost before");
	f.job = ++s->job;
	if ((r = frame_send(s->fd, &f, e)) == 0)
		r = answer(s, note, &is_lost, e);
	if (is_lost) {
		s->dead = r;
		err_ctx(e, "signer");
	}
	return r;
}

static int
remote_last(struct signer *s, struct bytes *note, struct err *e)
{
	return ask(remote_of(s), MESSAGE_SIGN_LAST, NULL, 0, note, e);
}

static int
remote_resume(struct signer *s, const struct merkle *at, const char *text,
    size_t n, struct err *e)
{
	struct message_tree m = { .at = *at, .note = { text, n } };
	struct bytes body = BYTES_INIT(8192), note = BYTES_INIT(NOTE_MAX);
	int r;

	if ((r = message_tree_encode(&m, &body, e)) == 0)
		r = ask(remote_of(s), MESSAGE_SIGN_RESUME, body.p, body.len,
		    &note, e);
	bytes_free(&body);
	bytes_free(&note);
	return r;
}

static int
remote_extend(struct signer *s, const struct merkle_hash *leaves, size_t n,
    struct bytes *note, struct err *e)
{
	return ask(remote_of(s), MESSAGE_SIGN_EXTEND, leaves,
	    n * sizeof(*leaves), note, e);
}

static void
remote_free(struct signer *s)
{
	struct signer_remote *rs = remote_of(s);

	bytes_free(&rs->buf);
	close(rs->fd);
	free(rs);
}

int
signer_remote_new(struct signer **out, int fd, struct err *e)
{
	struct signer_remote *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the signer");
	s->pub = (struct signer){ remote_last, remote_resume, remote_extend,
		remote_free };
	s->fd = fd;
	bytes_init(&s->buf, NOTE_MAX + FRAME_ROOM);
	*out = &s->pub;
	return 0;
}
