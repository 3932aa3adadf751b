/*
 * worker_wire.c - see worker_wire.h.  Encoders and decoders side by side.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/err.h"
#include "base/frame_cbor.h"
#include "timelock/worker_wire.h"

static const struct frame_permit to_worker[] = {
	{ WORKER_WIRE_JOB, WORKER_WIRE_BODY_MAX, false },
};
const struct frame_role worker_wire_to_worker = { "worker", to_worker, 1 };

static const struct frame_permit to_generator[] = {
	{ WORKER_WIRE_MILESTONE, WORKER_WIRE_BODY_MAX, false },
	{ WORKER_WIRE_END, WORKER_WIRE_BODY_MAX, false },
	{ WORKER_WIRE_CHECKED, WORKER_WIRE_BODY_MAX, false },
	{ WORKER_WIRE_RATE, WORKER_WIRE_BODY_MAX, false },
};
const struct frame_role worker_wire_to_generator = { "generator",
	to_generator, 4 };

/* ---- job: {1: kind, 2: segment, 3: from, 4: to, 5: state} ---- */

int
worker_wire_send_job(int fd, const struct worker_wire_job *j, struct err *e)
{
	struct bytes body = BYTES_INIT(WORKER_WIRE_BODY_MAX);
	struct cbor_write w;

	cbor_write_begin(&w, &body);
	cbor_write_map(&w, 5);
	cbor_write_uint(&w, 1);
	cbor_write_uint(&w, (uint64_t)j->kind);
	cbor_write_uint(&w, 2);
	cbor_write_uint(&w, j->segment);
	cbor_write_uint(&w, 3);
	cbor_write_uint(&w, j->from);
	cbor_write_uint(&w, 4);
	cbor_write_uint(&w, j->to);
	cbor_write_uint(&w, 5);
	cbor_write_bytes(&w, j->state, sizeof(j->state));
	return frame_cbor_send(fd, WORKER_WIRE_JOB, &w, &body, e);
}

int
worker_wire_get_job(const struct frame *f, struct worker_wire_job *j,
    struct err *e)
{
	uint64_t kind = 0, segment = 0;
	struct cbor_read r;

	cbor_read_begin(&r, f->body, f->len);
	(void)cbor_read_map_fixed(&r, 5, NULL);
	(void)cbor_read_key(&r, 1, NULL);
	(void)cbor_read_uint_range(&r, 0, WORKER_WIRE_KINDS - 1, &kind, NULL);
	(void)cbor_read_key(&r, 2, NULL);
	(void)cbor_read_uint_range(&r, 0, UINT32_MAX, &segment, NULL);
	(void)cbor_read_key(&r, 3, NULL);
	(void)cbor_read_uint(&r, &j->from, NULL);
	(void)cbor_read_key(&r, 4, NULL);
	(void)cbor_read_uint(&r, &j->to, NULL);
	(void)cbor_read_key(&r, 5, NULL);
	(void)cbor_read_bytes_fixed(&r, j->state, sizeof(j->state), NULL);
	if (cbor_read_end(&r, e) != 0 || j->from > j->to)
		return err_set(e, ERR_PEER, "a job that breaks its form");
	j->kind = (enum worker_wire_kind)kind;
	j->segment = (uint32_t)segment;
	return 0;
}

/*
 * ---- reports ----
 * MILESTONE, END: {1: step, 2: tag, 3: secret}; CHECKED: {1: step, 2: tag};
 * RATE: {1: hashes, 2: ns}
 */

static bool
has_secret(enum worker_wire_type type)
{
	return type == WORKER_WIRE_MILESTONE || type == WORKER_WIRE_END;
}

int
worker_wire_send_report(int fd, const struct worker_wire_report *rp,
    struct err *e)
{
	struct bytes body = BYTES_INIT(WORKER_WIRE_BODY_MAX);
	struct cbor_write w;

	cbor_write_begin(&w, &body);
	cbor_write_map(&w, has_secret(rp->type) ? 3 : 2);
	cbor_write_uint(&w, 1);
	cbor_write_uint(&w, rp->type == WORKER_WIRE_RATE ? rp->hashes :
	    rp->step);
	cbor_write_uint(&w, 2);
	if (rp->type == WORKER_WIRE_RATE)
		cbor_write_uint(&w, rp->ns);
	else
		cbor_write_bytes(&w, rp->tag, sizeof(rp->tag));
	if (has_secret(rp->type)) {
		cbor_write_uint(&w, 3);
		cbor_write_bytes(&w, rp->secret, sizeof(rp->secret));
	}
	return frame_cbor_send(fd, (uint32_t)rp->type, &w, &body, e);
}

int
worker_wire_get_report(const struct frame *f, struct worker_wire_report *rp,
    struct err *e)
{
	struct cbor_read r;

	memset(rp, 0, sizeof(*rp));
	rp->type = (enum worker_wire_type)f->type;
	cbor_read_begin(&r, f->body, f->len);
	(void)cbor_read_map_fixed(&r, has_secret(rp->type) ? 3 : 2, NULL);
	(void)cbor_read_key(&r, 1, NULL);
	(void)cbor_read_uint(&r, rp->type == WORKER_WIRE_RATE ? &rp->hashes :
	    &rp->step, NULL);
	(void)cbor_read_key(&r, 2, NULL);
	if (rp->type == WORKER_WIRE_RATE)
		(void)cbor_read_uint(&r, &rp->ns, NULL);
	else
		(void)cbor_read_bytes_fixed(&r, rp->tag, sizeof(rp->tag),
		    NULL);
	if (has_secret(rp->type)) {
		(void)cbor_read_key(&r, 3, NULL);
		(void)cbor_read_bytes_fixed(&r, rp->secret,
		    sizeof(rp->secret), NULL);
	}
	if (cbor_read_end(&r, e) != 0)
		return err_set(e, ERR_PEER, "a report that breaks its form");
	return 0;
}
