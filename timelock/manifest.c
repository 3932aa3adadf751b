/*
 * manifest.c - the manifest as an object: limits, times, signature, files.
 * Its bytes are manifest_map.c's; neither may reach RandomX.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cose.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "base/version.h"
#include "timelock/manifest.h"
#include "timelock/manifest_map.h"

static const char *const algorithm_names[] = {
	[MANIFEST_RX0] = "rx/0",
	[MANIFEST_RX2] = "rx/2",
};

const char *
manifest_algorithm_name(enum manifest_algorithm a)
{
	return algorithm_names[a];
}

int
manifest_algorithm_parse(const char *p, size_t n, enum manifest_algorithm *out,
    struct err *e)
{
	for (unsigned a = MANIFEST_RX0; a <= MANIFEST_RX2; a++) {
		if (strlen(algorithm_names[a]) == n &&
		    memcmp(algorithm_names[a], p, n) == 0) {
			*out = (enum manifest_algorithm)a;
			return 0;
		}
	}
	return err_set(e, ERR_FORMAT,
	    "unknown algorithm: this version knows "
	    "rx/0 and rx/2");
}

int
manifest_check_params(const struct manifest_params *p, struct err *e)
{
	if (!identity_is_origin(p->origin, strlen(p->origin)))
		return err_set(e, ERR_FORMAT,
		    "the origin is not 1..%d bytes "
		    "of [a-z0-9./-] beginning with a letter",
		    IDENTITY_NAME_MAX);
	if (p->segments < 1 || p->segments > MANIFEST_SEGMENTS_MAX)
		return err_set(e, ERR_FORMAT, "%u segments: 1..%d are allowed",
		    p->segments, MANIFEST_SEGMENTS_MAX);
	if (p->steps < 1 || p->steps > MANIFEST_STEPS_MAX)
		return err_set(e, ERR_FORMAT,
		    "%ju steps a segment: 1..2^40 "
		    "are allowed",
		    (uintmax_t)p->steps);
	if (p->interval < 1 || p->interval > p->steps)
		return err_set(e, ERR_FORMAT,
		    "a milestone every %ju steps: "
		    "1..%ju (the steps of a segment) are allowed",
		    (uintmax_t)p->interval, (uintmax_t)p->steps);
	if (chain_milestones(p->steps, p->interval) >
	    MANIFEST_MILESTONES_MAX / p->segments)
		return err_set(e, ERR_FORMAT,
		    "%u segments of %ju milestones: "
		    "more than %d milestones in all",
		    p->segments,
		    (uintmax_t)chain_milestones(p->steps, p->interval),
		    MANIFEST_MILESTONES_MAX);
	return 0;
}

enum {
	/* Signature, heads, and all keys but the arrays 12 and 14. */
	REST_MAX = 1024,
	WRAP_HEAD = 2,		/* of a byte string of 48 */
	TAGS_HEAD = 5,		/* of a segment's tags */
};

size_t
manifest_file_max(const struct manifest_params *p)
{
	const uint64_t tags = chain_milestones(p->steps, p->interval);

	return REST_MAX + p->segments * (size_t)(WRAP_HEAD + WRAP_LEN +
	    TAGS_HEAD + tags * CHAIN_TAG_LEN);
}

static int
make_salt(struct manifest *m, struct err *e)
{
	struct bytes header = BYTES_INIT(512);
	int r;

	if ((r = manifest_map_put_header(&m->params, &header, e)) == 0)
		crypto_hash_sha256(m->salt, header.p, header.len);
	bytes_free(&header);
	return r;
}

int
manifest_new(struct manifest **out, const struct manifest_params *p,
    struct err *e)
{
	struct manifest *m;
	int r;

	if ((r = manifest_check_params(p, e)) != 0)
		return r;
	if ((m = calloc(1, sizeof(*m))) == NULL)
		return err_set(e, ERR_NOMEM, "manifest");
	m->params = *p;
	m->wraps = calloc(p->segments, sizeof(m->wraps[0]));
	m->tags = calloc(p->segments * chain_milestones(p->steps, p->interval),
	    CHAIN_TAG_LEN);
	if (m->wraps == NULL || m->tags == NULL) {
		r = err_set(e, ERR_NOMEM, "manifest");
		goto out;
	}
	memcpy(m->software, "amber " AMBER_VERSION,
	    sizeof("amber " AMBER_VERSION));
	if ((r = make_salt(m, e)) != 0)
		goto out;
	*out = m;
	m = NULL;			/* handed over */
out:
	manifest_free(&m);
	return r;
}

void
manifest_free(struct manifest **mp)
{
	if (*mp == NULL)
		return;
	free((*mp)->wraps);
	free((*mp)->tags);
	free(*mp);
	*mp = NULL;
}

uint64_t
manifest_milestones(const struct manifest *m)
{
	return chain_milestones(m->params.steps, m->params.interval);
}

uint64_t
manifest_step(const struct manifest *m, uint64_t k)
{
	return chain_milestone_step(m->params.steps, m->params.interval, k);
}

uint8_t *
manifest_tag(const struct manifest *m, uint32_t segment, uint64_t k)
{
	const uint64_t each = manifest_milestones(m);

	assert(segment >= 1 && segment <= m->params.segments);
	assert(k >= 1 && k <= each);
	return m->tags + ((segment - 1) * each + (k - 1)) * CHAIN_TAG_LEN;
}

int
manifest_check_times(int64_t not_before, int64_t not_after, struct err *e)
{
	if (not_before < 0 || not_before > MANIFEST_TIME_MAX || not_after < 0 ||
	    not_after > MANIFEST_TIME_MAX)
		return err_set(e, ERR_ARG, "a time lies outside 1970..9999");
	if (not_after <= not_before)
		return err_set(e, ERR_ARG,
		    "not after (%jd) must be later "
		    "than not before (%jd)",
		    (intmax_t)not_after, (intmax_t)not_before);
	return 0;
}

int
manifest_set_times(struct manifest *m, int64_t not_before, int64_t not_after,
    struct err *e)
{
	int r;

	if ((r = manifest_check_times(not_before, not_after, e)) != 0)
		return r;
	m->not_before = not_before;
	m->not_after = not_after;
	m->has_times = true;
	return 0;
}

int
manifest_sign(struct manifest *m, const struct identity *id, struct bytes *out,
    struct err *e)
{
	struct bytes payload = BYTES_INIT(MANIFEST_FILE_MAX);
	struct bytes file = BYTES_INIT(MANIFEST_FILE_MAX);
	int r;

	if (!m->has_times)
		return err_set(e, ERR_ARG, "a manifest is signed with times");
	if (strcmp(identity_vkey(id)->name, m->params.origin) != 0)
		return err_set(e, ERR_ARG,
		    "the identity is %s, the "
		    "manifest's origin %s",
		    identity_vkey(id)->name, m->params.origin);
	if ((r = manifest_map_encode(m, &payload, e)) != 0 ||
	    (r = cose_sign1_make(&file, id, MANIFEST_AAD, payload.p,
		 payload.len, e)) != 0 ||
	    (r = bytes_append(out, file.p, file.len, e)) != 0)
		goto out;
	crypto_hash_sha256(m->id, payload.p, payload.len);
out:
	bytes_free(&payload);
	bytes_free(&file);
	return r;
}

int
manifest_open(struct manifest **out, const void *file, size_t n,
    const struct vkey *pin, struct err *e)
{
	struct manifest *m = NULL;
	struct cose_sign1 s;
	int r;

	if (n > MANIFEST_FILE_MAX)
		return err_set(e, ERR_FORMAT,
		    "%zu bytes: a manifest has at "
		    "most %d",
		    n, MANIFEST_FILE_MAX);
	if ((r = cose_sign1_parse(&s, file, n, e)) != 0) {
		err_ctx(e, "signed envelope");
		goto out;
	}
	if (pin != NULL &&
	    (r = cose_sign1_verify(&s, pin, MANIFEST_AAD, e)) != 0)
		goto out;
	if ((r = manifest_map_decode(&m, s.payload, s.payload_len, true, e)) !=
	    0)
		goto out;
	if (pin != NULL && strcmp(pin->name, m->params.origin) != 0) {
		r = err_set(e, ERR_AUTH,
		    "origin %s is not the pinned "
		    "verifier key's name, %s",
		    m->params.origin, pin->name);
		goto out;
	}
	crypto_hash_sha256(m->id, s.payload, s.payload_len);
	*out = m;
	m = NULL;			/* handed over */
out:
	manifest_free(&m);
	if (r != 0)
		err_ctx(e, "manifest");
	return r;
}

int
manifest_load(const char *path, const struct vkey *pin, struct manifest **out,
    struct err *e)
{
	struct bytes file = BYTES_INIT(MANIFEST_FILE_MAX);
	int r;

	if ((r = io_read_file(path, &file, e)) == 0)
		r = manifest_open(out, file.p, file.len, pin, e);
	else if (r == ERR_LIMIT)
		r = err_set(e, ERR_FORMAT, "more than %d bytes: no manifest",
		    MANIFEST_FILE_MAX);
	bytes_free(&file);
	if (r != 0)
		err_ctx(e, "%s", path);
	return r;
}
