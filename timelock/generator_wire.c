/*
 * generator_wire.c - see generator_wire.h.  Encoders and decoders side by
 * side; nothing here waits or keeps a copy of the key.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/err.h"
#include "base/frame_cbor.h"
#include "base/secret.h"
#include "timelock/generator_wire.h"
#include "timelock/manifest_map.h"

static const struct frame_permit to_supervisor[] = {
	{ GENERATOR_WIRE_PROGRESS, GENERATOR_WIRE_SMALL_MAX, false },
	{ GENERATOR_WIRE_NOTE, GENERATOR_WIRE_SMALL_MAX, false },
	{ GENERATOR_WIRE_RESULT, GENERATOR_WIRE_RESULT_MAX, false },
	{ GENERATOR_WIRE_FAILED, GENERATOR_WIRE_SMALL_MAX, false },
};
const struct frame_role generator_wire_to_supervisor = { "generator",
	to_supervisor, 4 };

static const struct frame_permit to_generator[] = {
	{ GENERATOR_WIRE_STOP, 1, false },
};
const struct frame_role generator_wire_to_generator = { "supervisor",
	to_generator, 1 };

static int
broken(struct err *e, const char *what)
{
	return err_set(e, ERR_PEER, "the generator's %s breaks its form",
	    what);
}

/*
 * ---- progress ----
 * {1: phase, 2: completed hashes, 3: total hashes, 4: completed segments,
 *  5: segments, 6: workers, 7: millihashes a second, 8: eta in ms or null,
 *  9: elapsed ms, 10: restarts, 11: recheck errors}
 */

int
generator_wire_send_progress(int fd, const struct generator_progress *p,
    struct err *e)
{
	const uint64_t numbers[] = { p->completed_hashes, p->total_hashes,
		p->completed_segments, p->segments, p->workers,
		(uint64_t)(p->rate_hps * 1000) };
	struct bytes body = BYTES_INIT(GENERATOR_WIRE_SMALL_MAX);
	struct cbor_write w;

	cbor_write_begin(&w, &body);
	cbor_write_map(&w, 11);
	cbor_write_uint(&w, 1);
	cbor_write_str(&w, p->phase);
	for (unsigned k = 0; k < 6; k++) {
		cbor_write_uint(&w, 2 + k);
		cbor_write_uint(&w, numbers[k]);
	}
	cbor_write_uint(&w, 8);
	if (p->eta_s < 0)
		cbor_write_null(&w);
	else
		cbor_write_uint(&w, (uint64_t)(p->eta_s * 1000));
	cbor_write_uint(&w, 9);
	cbor_write_uint(&w, (uint64_t)(p->elapsed_s * 1000));
	cbor_write_uint(&w, 10);
	cbor_write_uint(&w, p->restarts);
	cbor_write_uint(&w, 11);
	cbor_write_uint(&w, p->recheck_errors);
	return frame_cbor_send(fd, GENERATOR_WIRE_PROGRESS, &w, &body, e);
}

static void
read_uint(struct cbor_read *r, uint64_t key, uint64_t max, uint64_t *out)
{
	(void)cbor_read_key(r, key, NULL);
	(void)cbor_read_uint_range(r, 0, max, out, NULL);
}

int
generator_wire_get_progress(const struct frame *f,
    struct generator_wire_progress *out, struct err *e)
{
	struct generator_progress *p = &out->progress;
	uint64_t n[12] = { 0 };
	const char *text = NULL;
	struct cbor_read r;
	size_t len = 0;

	memset(out, 0, sizeof(*out));
	cbor_read_begin(&r, f->body, f->len);
	(void)cbor_read_map_fixed(&r, 11, NULL);
	(void)cbor_read_key(&r, 1, NULL);
	(void)cbor_read_text(&r, &text, &len, NULL);
	for (unsigned k = 2; k <= 7; k++)
		read_uint(&r, k, k == 2 || k == 3 || k == 7 ? UINT64_MAX :
		    UINT32_MAX, &n[k]);
	(void)cbor_read_key(&r, 8, NULL);
	p->eta_s = -1;
	if (cbor_read_peek(&r) == CBOR_ITEM_NULL)
		(void)cbor_read_null(&r, NULL);
	else if (cbor_read_uint(&r, &n[8], NULL) == 0)
		p->eta_s = (double)n[8] / 1000;
	for (unsigned k = 9; k <= 11; k++)
		read_uint(&r, k, UINT64_MAX, &n[k]);
	if (cbor_read_end(&r, NULL) != 0 || len > GENERATOR_WIRE_PHASE_MAX)
		return broken(e, "progress");
	memcpy(out->phase, text, len);
	p->phase = out->phase;
	p->completed_hashes = n[2];
	p->total_hashes = n[3];
	p->completed_segments = (uint32_t)n[4];
	p->segments = (uint32_t)n[5];
	p->workers = (unsigned)n[6];
	p->rate_hps = (double)n[7] / 1000;
	p->elapsed_s = (double)n[9] / 1000;
	p->restarts = n[10];
	p->recheck_errors = n[11];
	return 0;
}

/* ---- note {1: text}, failed {1: text, 2: code} ---- */

static int
send_text(int fd, enum generator_wire_type type, const char *text, int code,
    struct err *e)
{
	struct bytes body = BYTES_INIT(GENERATOR_WIRE_SMALL_MAX);
	size_t n = strnlen(text, GENERATOR_WIRE_TEXT_MAX);
	struct cbor_write w;

	cbor_write_begin(&w, &body);
	cbor_write_map(&w, code != 0 ? 2 : 1);
	cbor_write_uint(&w, 1);
	cbor_write_bytes(&w, text, n);
	if (code != 0) {
		cbor_write_uint(&w, 2);
		cbor_write_int(&w, code);
	}
	return frame_cbor_send(fd, type, &w, &body, e);
}

static int
get_text(const struct frame *f, const char *what,
    char text[GENERATOR_WIRE_TEXT_MAX + 1], int64_t *code, struct err *e)
{
	const uint8_t *p = NULL;
	struct cbor_read r;
	size_t n = 0;

	cbor_read_begin(&r, f->body, f->len);
	(void)cbor_read_map_fixed(&r, code != NULL ? 2 : 1, NULL);
	(void)cbor_read_key(&r, 1, NULL);
	(void)cbor_read_bytes(&r, &p, &n, NULL);
	if (code != NULL) {
		(void)cbor_read_key(&r, 2, NULL);
		(void)cbor_read_int(&r, code, NULL);
	}
	if (cbor_read_end(&r, NULL) != 0 || n > GENERATOR_WIRE_TEXT_MAX)
		return broken(e, what);
	memcpy(text, p, n);
	text[n] = '\0';
	return 0;
}

int
generator_wire_send_note(int fd, const char *text, struct err *e)
{
	return send_text(fd, GENERATOR_WIRE_NOTE, text, 0, e);
}

int
generator_wire_get_note(const struct frame *f,
    char text[GENERATOR_WIRE_TEXT_MAX + 1], struct err *e)
{
	return get_text(f, "note", text, NULL, e);
}

int
generator_wire_send_failed(int fd, const struct err *why, struct err *e)
{
	return send_text(fd, GENERATOR_WIRE_FAILED, why->msg, why->code, e);
}

int
generator_wire_get_failed(const struct frame *f, struct err *why,
    struct err *e)
{
	char text[GENERATOR_WIRE_TEXT_MAX + 1];
	int64_t code = 0;
	int r;

	if ((r = get_text(f, "failure", text, &code, e)) != 0)
		return r;
	if (code >= 0 || code < -1000)
		return broken(e, "failure");
	(void)err_set(why, (int)code, "%s", text);
	return 0;
}

/* ---- result {1: unsigned map, 2: epoch key} ---- */

int
generator_wire_send_result(int fd, const struct manifest *m,
    const struct secret *epoch_key, struct err *e)
{
	struct bytes map = BYTES_INIT(MANIFEST_FILE_MAX);
	struct bytes body = BYTES_INIT(GENERATOR_WIRE_RESULT_MAX);
	struct cbor_write w;
	int r;

	if ((r = manifest_map_encode(m, &map, e)) != 0) {
		bytes_free(&map);
		return r;
	}
	cbor_write_begin(&w, &body);
	cbor_write_map(&w, 2);
	cbor_write_uint(&w, 1);
	cbor_write_bytes(&w, map.p, map.len);
	cbor_write_uint(&w, 2);
	cbor_write_bytes(&w, epoch_key->p, epoch_key->len);
	bytes_free(&map);
	return frame_cbor_send(fd, GENERATOR_WIRE_RESULT, &w, &body, e);
}

int
generator_wire_get_result(const struct frame *f, struct manifest **out,
    struct secret **epoch_key, struct err *e)
{
	uint8_t commit[WRAP_COMMIT_LEN];
	const uint8_t *p = NULL, *key = NULL;
	struct secret *copy = NULL;
	struct manifest *m = NULL;
	struct cbor_read r;
	size_t n = 0, key_len = 0;
	int err;

	cbor_read_begin(&r, f->body, f->len);
	(void)cbor_read_map_fixed(&r, 2, NULL);
	(void)cbor_read_key(&r, 1, NULL);
	(void)cbor_read_bytes(&r, &p, &n, NULL);
	(void)cbor_read_key(&r, 2, NULL);
	(void)cbor_read_bytes(&r, &key, &key_len, NULL);
	if (cbor_read_end(&r, NULL) != 0 || key_len != WRAP_PLAIN_LEN)
		return broken(e, "result");
	if ((err = manifest_map_decode(&m, p, n, false, e)) != 0) {
		err = err == ERR_FORMAT ? broken(e, "manifest") : err;
		goto out;
	}
	wrap_commit(commit, key, m->salt);
	if (memcmp(commit, m->commit, sizeof(commit)) != 0) {
		err = err_set(e, ERR_PEER, "the generator's key is not the "
		    "one its manifest commits to");
		goto out;
	}
	if ((err = secret_copy(&copy, key, key_len, e)) != 0)
		goto out;
	*out = m;
	*epoch_key = copy;
	m = NULL;			/* handed over */
out:
	manifest_free(&m);
	return err;
}

int
generator_wire_send_stop(int fd, struct err *e)
{
	static const uint8_t empty[] = { 0xa0 };	/* an empty map */
	const struct frame f = { .type = GENERATOR_WIRE_STOP, .body = empty,
		.len = sizeof(empty), .fd = -1 };

	return frame_send(fd, &f, e);
}
