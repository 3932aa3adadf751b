/*
 * verify.c - the full verification.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/digest.h"
#include "archive/distinct.h"
#include "archive/epoch.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/record.h"
#include "archive/verify.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/units.h"

struct verify {
	const struct verify_opts	*o;
	struct verify_report		*out;
	struct walk			*walk;
	struct distinct			*salts;	/* NULL once it failed */
	struct record			 record;
	/* Numbers of the epochs seen, ascending, as the log has them. */
	uint64_t			*epochs;
	size_t				 nepochs;
};

void
verify_fault(struct verify_report *out, const struct verify_opts *o,
    const struct walk_place *place, const struct err *why)
{
	out->errors++;
	o->on_fault(o->arg, place, why);
}

int
verify_own_checkpoint(struct verify_report *out, const struct verify_opts *o,
    struct err *e)
{
	struct bytes b = BYTES_INIT(NOTE_MAX);
	struct err why = ERR_INIT;
	int r;

	r = layout_read_checkpoint(o->layout, &b, &why);
	if (r == ERR_NOENT) {
		o->on_note(o->arg,
		    "there is no file checkpoint: without it an end that was "
		    "cut off is not noticed, but by --against a kept one");
		r = 0;
	} else if (r == 0 || r == ERR_LIMIT) {
		if (r == 0)
			r = against_add(o->against, "the file checkpoint",
			    b.p == NULL ? (uint8_t *)"" : b.p, b.len, &why);
		if (r == ERR_FORMAT || r == ERR_AUTH || r == ERR_LIMIT) {
			verify_fault(out, o, NULL, &why);
			r = 0;
		}
	}
	if (r != 0)
		err_set(e, r, "%s", why.msg);
	bytes_free(&b);
	return r;
}

/* ---- frames ---- */

static void
fault_at(struct verify *v, const struct segment_frame *f,
    const struct err *why)
{
	struct walk_place p;

	walk_place(v->walk, &p);
	p.offset = f->offset;
	verify_fault(v->out, v->o, &p, why);
}

static int
open_record(struct verify *v, const struct segment_frame *f, struct err *e)
{
	const uint8_t *key;
	struct err why = ERR_INIT;
	int r;

	if (v->o->keys == NULL || f->type != SEGMENT_RECORD ||
	    (key = keyring_find(v->o->keys, f->head.puzzle)) == NULL)
		return 0;
	if ((r = segment_read_payload(walk_reader(v->walk), f,
		 &v->record.payload, &why)) == 0)
		r = record_open(&v->record, key, RECORD_EPOCH_KEY,
		    v->o->pin->name, &why);
	if (r == 0) {
		v->out->opened++;
		return 0;
	}
	if (r == ERR_NOMEM || r == ERR_SYS || r == ERR_CRYPTO)
		return err_set(e, r, "record %llu: %s",
		    (unsigned long long)f->index, why.msg);
	err_ctx(&why, "record %llu", (unsigned long long)f->index);
	fault_at(v, f, &why);
	return 0;
}

static void
lose_salts(struct verify *v, const struct err *why)
{
	char text[ERR_MSG_MAX];

	(void)snprintf(text, sizeof(text), "salts were not compared: %.400s",
	    why->msg);
	v->o->on_note(v->o->arg, text);
	v->out->is_incomplete = true;
	distinct_free(&v->salts);
}

static int
take_record(struct verify *v, const struct segment_frame *f, struct err *e)
{
	struct err why = ERR_INIT;

	v->out->records++;
	if (f->type == SEGMENT_PRUNED)
		v->out->pruned++;
	if (v->salts != NULL &&
	    distinct_add(v->salts, f->head.salt, f->index, &why) != 0)
		lose_salts(v, &why);
	return open_record(v, f, e);
}

/* epoch/<number>.cose is this very frame's payload. */
static int
take_manifest(struct verify *v, const struct segment_frame *f, struct err *e)
{
	uint64_t number = walk_scan(v->walk)->epoch.number, *epochs;
	struct bytes b = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	struct err why = ERR_INIT;
	char text[128];
	int r;

	v->out->manifests++;
	epochs = realloc(v->epochs, (v->nepochs + 1) * sizeof(*epochs));
	if (epochs == NULL)
		return err_set(e, ERR_NOMEM, "no memory for epochs");
	v->epochs = epochs;
	epochs[v->nepochs++] = number;
	r = layout_read_epoch(v->o->layout, number, &b, &why);
	if (r == ERR_NOENT) {
		(void)snprintf(text, sizeof(text),
		    "there is no file epoch/%llu.cose; the log has it",
		    (unsigned long long)number);
		v->o->on_note(v->o->arg, text);
		r = 0;
	} else if (r == ERR_LIMIT ||
	    (r == 0 && (b.len != f->payload_len ||
			   memcmp(b.p, f->payload, b.len) != 0))) {
		err_set(&why, ERR_CORRUPT,
		    "epoch/%llu.cose is not the manifest in the log",
		    (unsigned long long)number);
		verify_fault(v->out, v->o, NULL, &why);
		r = 0;
	} else if (r != 0)
		r = err_set(e, r, "epoch/%llu.cose: %s",
		    (unsigned long long)number, why.msg);
	bytes_free(&b);
	return r;
}

static int
take(struct verify *v, const struct segment_frame *f, struct err *e)
{
	switch (f->type) {
	case SEGMENT_RECORD:
	case SEGMENT_PRUNED:
		return take_record(v, f, e);
	case SEGMENT_MANIFEST:
		return take_manifest(v, f, e);
	case SEGMENT_CHECKPOINT:
		v->out->checkpoints++;
		break;
	case SEGMENT_TRAILER:
		break;
	}
	return 0;
}

static void
on_bad(void *arg, const struct walk_place *p, const struct err *why)
{
	struct verify *v = arg;

	verify_fault(v->out, v->o, p, why);
}

/* From the fault to its segment's end the tree was taken from the signed
 * closing frames: what is there was neither counted nor opened. */
static void
passed_over(struct verify *v, uint64_t from)
{
	uint64_t to = walk_scan(v->walk)->tree.size;
	char text[160], which[64];

	if (to <= from)
		return;
	v->out->unverified += to - from;
	v->out->is_incomplete = true;
	if (to - from == 1)
		(void)snprintf(which, sizeof(which), "entry %llu was",
		    (unsigned long long)from);
	else
		(void)snprintf(which, sizeof(which),
		    "entries %llu to %llu were", (unsigned long long)from,
		    (unsigned long long)(to - 1));
	(void)snprintf(text, sizeof(text),
	    "%s neither counted nor opened, as the segment is damaged there",
	    which);
	v->o->on_note(v->o->arg, text);
}

static int
walk_all(struct verify *v, struct err *e)
{
	struct segment_frame f;
	struct walk_place p;
	uint64_t done, all, from;
	int r;

	for (;;) {
		struct err why = ERR_INIT;

		walk_progress(v->walk, &done, &all);
		v->o->on_progress(v->o->arg, done, all);
		r = walk_next(v->walk, &f, &why);
		if (r == 0) {
			if ((r = take(v, &f, e)) != 0)
				return r;
			continue;
		}
		if (r == ERR_EOF)
			return 0;
		if (r != ERR_FORMAT && r != ERR_CORRUPT && r != ERR_NOENT)
			return walk_where(v->walk,
			    err_set(e, r, "%s", why.msg), e);
		walk_place(v->walk, &p);
		verify_fault(v->out, v->o, &p, &why);
		from = walk_scan(v->walk)->tree.size;
		if ((r = walk_resume(v->walk, on_bad, v, &why)) == ERR_NOENT) {
			v->o->on_note(v->o->arg,
			    "nothing behind that place could be verified");
			v->out->is_incomplete = true;
			return 0;
		}
		if (r != 0)
			return err_set(e, r, "%s", why.msg);
		passed_over(v, from);
	}
}

/* ---- what only the whole shows ---- */

static void
on_twin(void *arg, uint64_t a, uint64_t b)
{
	struct verify *v = arg;
	struct err why = ERR_INIT;

	err_set(&why, ERR_FORMAT, "records %llu and %llu have the same salt",
	    (unsigned long long)a, (unsigned long long)b);
	verify_fault(v->out, v->o, NULL, &why);
}

static int
check_salts(struct verify *v)
{
	struct err why = ERR_INIT;

	if (v->salts != NULL && distinct_end(v->salts, on_twin, v, &why) != 0)
		lose_salts(v, &why);
	return 0;
}

static bool
has_epoch(const struct verify *v, uint64_t number)
{
	for (size_t i = 0; i < v->nepochs; i++)
		if (v->epochs[i] == number)
			return true;
	return false;
}

/* A manifest that what was read of the log does not hold: it may have come
 * since, or stand in a part that is damaged, but the log has signed it. */
static int
check_unseen(struct verify *v, uint64_t number, struct err *e)
{
	struct bytes b = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	struct err why = ERR_INIT;
	struct epoch ep;
	int r;

	r = layout_read_epoch(v->o->layout, number, &b, &why);
	if (r == 0)
		r = epoch_open(&ep, b.p, b.len, v->o->pin, &why);
	if (r == 0 && ep.number != number)
		r = err_set(&why, ERR_FORMAT, "it is of epoch %llu",
		    (unsigned long long)ep.number);
	bytes_free(&b);
	if (r == 0 || r == ERR_NOENT)
		return 0;
	err_ctx(&why, "epoch/%llu.cose", (unsigned long long)number);
	if (r != ERR_FORMAT && r != ERR_AUTH && r != ERR_LIMIT)
		return err_set(e, r, "%s", why.msg);
	verify_fault(v->out, v->o, NULL, &why);
	return 0;
}

/* Files in epoch/ of numbers that the log passed over, or has not. */
static int
check_epoch_files(struct verify *v, struct err *e)
{
	uint64_t *numbers = NULL;
	struct err why = ERR_INIT;
	size_t n = 0;
	int r;

	if ((r = layout_list_epochs(v->o->layout, &numbers, &n, &why)) != 0) {
		if (r != ERR_FORMAT)
			return err_set(e, r, "%s", why.msg);
		verify_fault(v->out, v->o, NULL, &why);
		return 0;
	}
	for (size_t i = 0; i < n && r == 0; i++) {
		if (has_epoch(v, numbers[i]))
			continue;
		if (v->nepochs == 0 || v->out->is_incomplete ||
		    numbers[i] > v->epochs[v->nepochs - 1]) {
			r = check_unseen(v, numbers[i], e);
			continue;
		}
		err_set(&why, ERR_FORMAT,
		    "epoch/%llu.cose: the log holds no such manifest",
		    (unsigned long long)numbers[i]);
		verify_fault(v->out, v->o, NULL, &why);
	}
	free(numbers);
	return r;
}

/* Known checkpoints that do not agree, or that the log does not reach. */
static void
check_against(struct verify *v)
{
	const struct scan *s = walk_scan(v->walk);

	for (size_t i = 0; i < against_count(v->o->against); i++) {
		const struct against_row *row = against_at(v->o->against, i);
		struct err why = ERR_INIT;

		switch (row->state) {
		case AGAINST_HOLDS:
			if (row->cp.size > v->out->checked)
				v->out->checked = row->cp.size;
			continue;
		case AGAINST_CONTRADICTS:
			v->out->inconsistent++;
			err_set(&why, ERR_CORRUPT,
			    "%s: signed with another root at %llu %s than "
			    "the archive has: the log was rewritten",
			    row->label, (unsigned long long)row->cp.size,
			    units_word(row->cp.size, "entry", "entries"));
			break;
		case AGAINST_OPEN:
			err_set(&why, ERR_CORRUPT,
			    "%s: %llu %s signed, the archive holds %llu that "
			    "can be verified",
			    row->label, (unsigned long long)row->cp.size,
			    units_word(row->cp.size, "entry was",
				"entries were"),
			    (unsigned long long)s->tree.size);
			break;
		case AGAINST_SKIPPED:
			err_set(&why, ERR_CORRUPT,
			    "%s: not compared, as the archive is damaged "
			    "there",
			    row->label);
			break;
		}
		verify_fault(v->out, v->o, NULL, &why);
	}
}

static int
verify_run(struct verify *v, struct err *e)
{
	const struct walk_opts wo = { v->o->layout, v->o->pin,
		v->o->against, v->o->stop };
	const struct scan *s;
	int r;

	if ((r = verify_own_checkpoint(v->out, v->o, e)) != 0 ||
	    (r = distinct_new(&v->salts, 0, e)) != 0 ||
	    (r = walk_new(&v->walk, &wo, e)) != 0)
		return r;
	r = walk_all(v, e);
	s = walk_scan(v->walk);
	v->out->size = s->tree.size;
	v->out->checked = s->checked;
	merkle_root(&s->tree, &v->out->root);
	v->out->has_root = true;
	walk_tail(v->walk, &v->out->tail);
	if (r != 0)
		return r;
	check_against(v);
	if ((r = check_salts(v)) != 0)
		return r;
	return check_epoch_files(v, e);
}

int
verify_full(struct verify_report *out, const struct verify_opts *o,
    struct err *e)
{
	struct verify v = { .o = o, .out = out };
	int r;

	memset(out, 0, sizeof(*out));
	record_init(&v.record);
	r = verify_run(&v, e);
	record_free(&v.record);
	distinct_free(&v.salts);
	walk_free(&v.walk);
	free(v.epochs);
	return r;
}
