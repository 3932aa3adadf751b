/*
 * messages.c - encode and decode, side by side.  It must not keep pointers
 * into a frame.
 */
#include <string.h>

#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/err.h"
#include "relay/messages.h"

enum {
	TEXT_MAX = 1 << 20,		/* config and token texts */
	COSE_MAX = 2 << 20,		/* a manifest, by PUZZLE */
	LEAVES_MAX = 4096 * MERKLE_LEN,	/* of one MESSAGE_SIGN_EXTEND */
	NOTE_TEXT_MAX = 4096,
	KEY_LEN = 32,
};

static const struct frame_permit relay_permits[] = {
	{ MESSAGE_START, 2 * TEXT_MAX + 1024, false },
	{ MESSAGE_RELOAD, 2 * TEXT_MAX + 1024, false },
	{ MESSAGE_LEAF, 1024, false },
	{ MESSAGE_EPOCH, COSE_MAX + 1024, false },
	{ MESSAGE_GENERATOR, 1024, false },
	{ MESSAGE_STOP, 0, false },
};
static const struct frame_permit supervisor_permits[] = {
	{ MESSAGE_LEAF_PUB, 32, false },
	{ MESSAGE_READY, 64 << 10, false },
	{ MESSAGE_PUBLISHED, 64, false },
	{ MESSAGE_ALIVE, 0, false },
	{ MESSAGE_DRAINED, 0, false },
};
static const struct frame_permit signer_permits[] = {
	{ MESSAGE_SIGN_LAST, 0, false },
	{ MESSAGE_SIGN_RESUME, 8192, false },
	{ MESSAGE_SIGN_EXTEND, LEAVES_MAX, false },
};
static const struct frame_permit committer_permits[] = {
	{ MESSAGE_NOTE, NOTE_TEXT_MAX, false },
	{ MESSAGE_SIGN_REFUSED, 1024, false },
};

#define ROLE(name, permits)	\
	{ (name), (permits), sizeof(permits) / sizeof((permits)[0]) }

const struct frame_role message_role_relay = ROLE("supervisor", relay_permits);
const struct frame_role message_role_supervisor =
    ROLE("relay", supervisor_permits);
const struct frame_role message_role_signer = ROLE("committer", signer_permits);
const struct frame_role message_role_committer =
    ROLE("signer", committer_permits);

static void
write_text(struct cbor_write *w, const struct message_text *t)
{
	cbor_write_text(w, t->n == 0 ? "" : t->p, t->n);
}

/* Lengths are bounded by the frame's own cap. */
static void
read_text(struct cbor_read *r, struct message_text *t, struct err *e)
{
	if (cbor_read_text(r, &t->p, &t->n, e) != 0)
		*t = (struct message_text){ "", 0 };
}

static void
read_bytes(struct cbor_read *r, struct message_bytes *b, struct err *e)
{
	if (cbor_read_bytes(r, &b->p, &b->n, e) != 0)
		*b = (struct message_bytes){ NULL, 0 };
}

int
message_start_encode(const struct message_start *m, struct bytes *out,
    struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_array(&w, 4);
	write_text(&w, &m->config);
	write_text(&w, &m->tokens);
	write_text(&w, &m->vkey);
	cbor_write_uint(&w, m->epochs);
	return cbor_write_end(&w, e);
}

int
message_start_decode(struct message_start *m, const void *p, size_t n,
    struct err *e)
{
	struct cbor_read r;
	int ret;

	cbor_read_begin(&r, p, n);
	cbor_read_array_fixed(&r, 4, e);
	read_text(&r, &m->config, e);
	read_text(&r, &m->tokens, e);
	read_text(&r, &m->vkey, e);
	cbor_read_uint(&r, &m->epochs, e);
	if ((ret = cbor_read_end(&r, e)) != 0)
		return ret;
	if (m->epochs > MESSAGE_EPOCHS_MAX)
		return err_set(e, ERR_FORMAT, "%llu epochs at a start",
		    (unsigned long long)m->epochs);
	return 0;
}

int
message_epoch_encode(const struct message_epoch *m, struct bytes *out,
    struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_array(&w, 5);
	cbor_write_uint(&w, m->number);
	cbor_write_int(&w, m->not_before);
	cbor_write_int(&w, m->not_after);
	cbor_write_bytes(&w, m->cose.p, m->cose.n);
	cbor_write_bytes(&w, m->key.p, m->key.n);
	return cbor_write_end(&w, e);
}

int
message_epoch_decode(struct message_epoch *m, const void *p, size_t n,
    struct err *e)
{
	struct cbor_read r;
	int ret;

	cbor_read_begin(&r, p, n);
	cbor_read_array_fixed(&r, 5, e);
	cbor_read_uint(&r, &m->number, e);
	cbor_read_int(&r, &m->not_before, e);
	cbor_read_int(&r, &m->not_after, e);
	read_bytes(&r, &m->cose, e);
	read_bytes(&r, &m->key, e);
	if ((ret = cbor_read_end(&r, e)) != 0)
		return ret;
	if (m->key.n != KEY_LEN)
		return err_set(e, ERR_FORMAT, "an epoch key of %zu bytes",
		    m->key.n);
	return 0;
}

int
message_generator_encode(const struct message_generator *m, struct bytes *out,
    struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_array(&w, 8);
	write_text(&w, &m->phase);
	cbor_write_uint(&w, m->done);
	cbor_write_uint(&w, m->total);
	cbor_write_uint(&w, m->rate_mhps);
	cbor_write_uint(&w, m->eta_s);
	cbor_write_uint(&w, m->elapsed_s);
	cbor_write_uint(&w, m->restarts);
	cbor_write_uint(&w, m->recheck_errors);
	return cbor_write_end(&w, e);
}

int
message_generator_decode(struct message_generator *m, const void *p, size_t n,
    struct err *e)
{
	struct cbor_read r;

	cbor_read_begin(&r, p, n);
	cbor_read_array_fixed(&r, 8, e);
	read_text(&r, &m->phase, e);
	cbor_read_uint(&r, &m->done, e);
	cbor_read_uint(&r, &m->total, e);
	cbor_read_uint(&r, &m->rate_mhps, e);
	cbor_read_uint(&r, &m->eta_s, e);
	cbor_read_uint(&r, &m->elapsed_s, e);
	cbor_read_uint(&r, &m->restarts, e);
	cbor_read_uint(&r, &m->recheck_errors, e);
	return cbor_read_end(&r, e);
}

static void
write_texts(struct cbor_write *w, const struct message_text *t, size_t n)
{
	size_t i;

	cbor_write_array(w, n);
	for (i = 0; i < n; i++)
		write_text(w, &t[i]);
}

static int
read_texts(struct cbor_read *r, struct message_text *t, size_t *n,
    struct err *e)
{
	size_t i, count = 0;
	int ret;

	*n = 0;
	if ((ret = cbor_read_array(r, &count, e)) != 0)
		return ret;
	if (count > MESSAGE_LISTENERS_MAX)
		return err_set(e, ERR_FORMAT, "%zu listeners", count);
	for (i = 0; i < count; i++)
		read_text(r, &t[i], e);
	*n = count;
	return 0;
}

int
message_ready_encode(const struct message_ready *m, struct bytes *out,
    struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_array(&w, 3);
	write_texts(&w, m->outer, m->nouter);
	write_texts(&w, m->direct, m->ndirect);
	write_text(&w, &m->metrics);
	return cbor_write_end(&w, e);
}

int
message_ready_decode(struct message_ready *m, const void *p, size_t n,
    struct err *e)
{
	struct cbor_read r;
	int ret;

	cbor_read_begin(&r, p, n);
	cbor_read_array_fixed(&r, 3, e);
	if ((ret = read_texts(&r, m->outer, &m->nouter, e)) != 0 ||
	    (ret = read_texts(&r, m->direct, &m->ndirect, e)) != 0)
		return ret;
	read_text(&r, &m->metrics, e);
	return cbor_read_end(&r, e);
}

int
message_published_encode(uint64_t epoch, struct bytes *out, struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_uint(&w, epoch);
	return cbor_write_end(&w, e);
}

int
message_published_decode(uint64_t *epoch, const void *p, size_t n,
    struct err *e)
{
	struct cbor_read r;

	cbor_read_begin(&r, p, n);
	cbor_read_uint(&r, epoch, e);
	return cbor_read_end(&r, e);
}

int
message_tree_encode(const struct message_tree *m, struct bytes *out,
    struct err *e)
{
	struct merkle_hash frontier[MERKLE_LEVELS];
	struct cbor_write w;
	size_t n = merkle_frontier(&m->at, frontier);

	cbor_write_begin(&w, out);
	cbor_write_array(&w, 3);
	cbor_write_uint(&w, m->at.size);
	cbor_write_bytes(&w, frontier, n * MERKLE_LEN);
	write_text(&w, &m->note);
	return cbor_write_end(&w, e);
}

int
message_tree_decode(struct message_tree *m, const void *p, size_t n,
    struct err *e)
{
	struct merkle_hash frontier[MERKLE_LEVELS];
	struct message_bytes b;
	struct cbor_read r;
	uint64_t size = 0;
	int ret;

	cbor_read_begin(&r, p, n);
	cbor_read_array_fixed(&r, 3, e);
	cbor_read_uint(&r, &size, e);
	read_bytes(&r, &b, e);
	read_text(&r, &m->note, e);
	if ((ret = cbor_read_end(&r, e)) != 0)
		return ret;
	if (b.n % MERKLE_LEN != 0 || b.n > sizeof(frontier))
		return err_set(e, ERR_FORMAT, "a frontier of %zu bytes", b.n);
	if (b.n > 0)
		memcpy(frontier, b.p, b.n);
	return merkle_restore(&m->at, size, frontier, b.n / MERKLE_LEN, e);
}

int
message_refused_encode(const struct message_refused *m, struct bytes *out,
    struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_array(&w, 2);
	cbor_write_int(&w, m->code);
	write_text(&w, &m->why);
	return cbor_write_end(&w, e);
}

int
message_refused_decode(struct message_refused *m, const void *p, size_t n,
    struct err *e)
{
	struct cbor_read r;
	int64_t code = 0;
	int ret;

	cbor_read_begin(&r, p, n);
	cbor_read_array_fixed(&r, 2, e);
	cbor_read_int(&r, &code, e);
	read_text(&r, &m->why, e);
	if ((ret = cbor_read_end(&r, e)) != 0)
		return ret;
	/* A refusal that says 0 would read as success. */
	if (code >= 0 || code < -1000)
		return err_set(e, ERR_FORMAT, "a refusal with code %lld",
		    (long long)code);
	m->code = (int)code;
	return 0;
}
