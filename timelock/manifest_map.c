/*
 * manifest_map.c - see manifest_map.h.  Bytes only: no signature, no file,
 * and nothing that could reach RandomX.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/err.h"
#include "timelock/manifest.h"
#include "timelock/manifest_map.h"

enum {
	KEY_VERSION = 1,
	KEY_ORIGIN,
	KEY_EPOCH,
	KEY_NOT_BEFORE,
	KEY_NOT_AFTER,
	KEY_ALGORITHM,
	KEY_DATASET,
	KEY_SEGMENTS,
	KEY_STEPS,
	KEY_INTERVAL,
	KEY_SEED,
	KEY_WRAPS,
	KEY_COMMIT,
	KEY_TAGS,
	KEY_SOFTWARE,
	KEYS = KEY_SOFTWARE,
	KEYS_UNSIGNED = KEYS - 2,
	KEYS_HEADER = 8,
};

static const char *const key_names[] = {
	"",
	"version",
	"origin",
	"epoch",
	"not before",
	"not after",
	"algorithm",
	"dataset key",
	"segments",
	"steps",
	"milestone interval",
	"seed",
	"wrapped keys",
	"commitment",
	"tags",
	"software",
};

/* ---- writing ---- */

/* Keys 1..3, then what, then 6..10: the header's order and the map's. */
static void
put_front(struct cbor_write *w, const struct manifest_params *p)
{
	cbor_write_uint(w, KEY_VERSION);
	cbor_write_uint(w, MANIFEST_VERSION);
	cbor_write_uint(w, KEY_ORIGIN);
	cbor_write_str(w, p->origin);
	cbor_write_uint(w, KEY_EPOCH);
	cbor_write_uint(w, p->epoch);
}

static void
put_shape(struct cbor_write *w, const struct manifest_params *p)
{
	cbor_write_uint(w, KEY_ALGORITHM);
	cbor_write_str(w, manifest_algorithm_name(p->algorithm));
	cbor_write_uint(w, KEY_DATASET);
	cbor_write_bytes(w, p->key, sizeof(p->key));
	cbor_write_uint(w, KEY_SEGMENTS);
	cbor_write_uint(w, p->segments);
	cbor_write_uint(w, KEY_STEPS);
	cbor_write_uint(w, p->steps);
	cbor_write_uint(w, KEY_INTERVAL);
	cbor_write_uint(w, p->interval);
}

int
manifest_map_put_header(const struct manifest_params *p, struct bytes *out,
    struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_map(&w, KEYS_HEADER);
	put_front(&w, p);
	put_shape(&w, p);
	return cbor_write_end(&w, e);
}

static void
put_arrays(struct cbor_write *w, const struct manifest *m)
{
	const uint32_t n = m->params.segments;
	const size_t len = manifest_milestones(m) * CHAIN_TAG_LEN;

	cbor_write_uint(w, KEY_SEED);
	cbor_write_bytes(w, m->seed, sizeof(m->seed));
	cbor_write_uint(w, KEY_WRAPS);
	cbor_write_array(w, n);
	for (uint32_t i = 0; i < n; i++)
		cbor_write_bytes(w, m->wraps[i], WRAP_LEN);
	cbor_write_uint(w, KEY_COMMIT);
	cbor_write_bytes(w, m->commit, sizeof(m->commit));
	cbor_write_uint(w, KEY_TAGS);
	cbor_write_array(w, n);
	for (uint32_t i = 0; i < n; i++)
		cbor_write_bytes(w, manifest_tag(m, i + 1, 1), len);
}

int
manifest_map_encode(const struct manifest *m, struct bytes *out, struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_map(&w, m->has_times ? KEYS : KEYS_UNSIGNED);
	put_front(&w, &m->params);
	if (m->has_times) {
		cbor_write_uint(&w, KEY_NOT_BEFORE);
		cbor_write_uint(&w, (uint64_t)m->not_before);
		cbor_write_uint(&w, KEY_NOT_AFTER);
		cbor_write_uint(&w, (uint64_t)m->not_after);
	}
	put_shape(&w, &m->params);
	put_arrays(&w, m);
	cbor_write_uint(&w, KEY_SOFTWARE);
	cbor_write_str(&w, m->software);
	return cbor_write_end(&w, e);
}

/* ---- reading ---- */

/* key is the one being read, for the message. */
struct map_reader {
	struct cbor_read r;
	unsigned	 key;
};

static int
next_key(struct map_reader *mr, unsigned key, struct err *e)
{
	mr->key = key;
	return cbor_read_key(&mr->r, key, e);
}

static int
get_uint(struct map_reader *mr, unsigned key, uint64_t max, uint64_t *out,
    struct err *e)
{
	int r;

	if ((r = next_key(mr, key, e)) != 0 ||
	    (r = cbor_read_uint(&mr->r, out, e)) != 0)
		return r;
	if (*out > max)
		return err_set(e, ERR_FORMAT,
		    "%" PRIu64 " is more than %" PRIu64, *out, max);
	return 0;
}

static int
get_text(struct map_reader *mr, unsigned key, const char **p, size_t *n,
    struct err *e)
{
	int r;

	if ((r = next_key(mr, key, e)) != 0)
		return r;
	return cbor_read_text(&mr->r, p, n, e);
}

/* The next item: exactly n bytes. */
static int
get_item(struct map_reader *mr, void *out, size_t n, struct err *e)
{
	const uint8_t *p = NULL;
	size_t len = 0;
	int r;

	if ((r = cbor_read_bytes(&mr->r, &p, &len, e)) != 0)
		return r;
	if (len != n)
		return err_set(e, ERR_FORMAT, "%zu bytes where %zu belong", len,
		    n);
	memcpy(out, p, n);
	return 0;
}

static int
get_bytes(struct map_reader *mr, unsigned key, void *out, size_t n,
    struct err *e)
{
	int r;

	if ((r = next_key(mr, key, e)) != 0)
		return r;
	return get_item(mr, out, n, e);
}

/* An array of count byte strings of n bytes each, laid end to end in out. */
static int
get_array(struct map_reader *mr, unsigned key, uint8_t *out, size_t n,
    size_t count, struct err *e)
{
	size_t found = 0;
	int r;

	if ((r = next_key(mr, key, e)) != 0 ||
	    (r = cbor_read_array(&mr->r, &found, e)) != 0)
		return r;
	if (found != count)
		return err_set(e, ERR_FORMAT, "%zu entries for %zu segments",
		    found, count);
	for (size_t i = 0; i < count; i++) {
		if ((r = get_item(mr, out + i * n, n, e)) != 0) {
			err_ctx(e, "entry %zu", i + 1);
			return r;
		}
	}
	return 0;
}

static int
get_front(struct map_reader *mr, struct manifest_params *p, struct err *e)
{
	const char *text = NULL;
	uint64_t v = 0;
	size_t n = 0;
	int r;

	if ((r = get_uint(mr, KEY_VERSION, UINT64_MAX, &v, e)) != 0)
		return r;
	if (v != MANIFEST_VERSION)
		return err_set(e, ERR_FORMAT,
		    "version %" PRIu64 ": this "
		    "program reads version %d",
		    v, MANIFEST_VERSION);
	if ((r = get_text(mr, KEY_ORIGIN, &text, &n, e)) != 0)
		return r;
	if (!identity_is_origin(text, n))
		return err_set(e, ERR_FORMAT,
		    "not 1..%d bytes of "
		    "[a-z0-9./-] beginning with a letter",
		    IDENTITY_NAME_MAX);
	memcpy(p->origin, text, n);
	p->origin[n] = '\0';
	return get_uint(mr, KEY_EPOCH, UINT64_MAX, &p->epoch, e);
}

static int
get_times(struct map_reader *mr, int64_t *not_before, int64_t *not_after,
    struct err *e)
{
	uint64_t from = 0, to = 0;
	int r;

	if ((r = get_uint(mr, KEY_NOT_BEFORE, (uint64_t)MANIFEST_TIME_MAX,
		 &from, e)) != 0 ||
	    (r = get_uint(mr, KEY_NOT_AFTER, (uint64_t)MANIFEST_TIME_MAX, &to,
		 e)) != 0)
		return r;
	if (to <= from)
		return err_set(e, ERR_FORMAT,
		    "%" PRIu64 " is not later than "
		    "not before, %" PRIu64,
		    to, from);
	*not_before = (int64_t)from;
	*not_after = (int64_t)to;
	return 0;
}

static int
get_shape(struct map_reader *mr, struct manifest_params *p, struct err *e)
{
	const char *text = NULL;
	uint64_t segments = 0;
	size_t n = 0;
	int r;

	if ((r = get_text(mr, KEY_ALGORITHM, &text, &n, e)) != 0 ||
	    (r = manifest_algorithm_parse(text, n, &p->algorithm, e)) != 0 ||
	    (r = get_bytes(mr, KEY_DATASET, p->key, sizeof(p->key), e)) != 0 ||
	    (r = get_uint(mr, KEY_SEGMENTS, MANIFEST_SEGMENTS_MAX, &segments,
		 e)) != 0)
		return r;
	p->segments = (uint32_t)segments;
	if (segments == 0)
		return err_set(e, ERR_FORMAT, "no segments");
	if ((r = get_uint(mr, KEY_STEPS, MANIFEST_STEPS_MAX, &p->steps, e)) !=
	    0)
		return r;
	if (p->steps == 0)
		return err_set(e, ERR_FORMAT, "no steps");
	if ((r = get_uint(mr, KEY_INTERVAL, UINT64_MAX, &p->interval, e)) != 0)
		return r;
	return manifest_check_params(p, e);
}

/*
 * The arrays are allocated by the counts that the limits allow (48 KiB and
 * 1 MiB at most), and only when the input is long enough to hold them.
 */
static int
check_room(struct map_reader *mr, const struct manifest_params *p, size_t n,
    struct err *e)
{
	const uint64_t milestones = chain_milestones(p->steps, p->interval);
	const uint64_t need = p->segments *
	    (WRAP_LEN + 2 + milestones * CHAIN_TAG_LEN);

	if (need > n - cbor_read_offset(&mr->r))
		return err_set(e, ERR_FORMAT,
		    "%u segments of %" PRIu64
		    " milestones do not fit into the %zu bytes here",
		    p->segments, milestones, n);
	return 0;
}

static int
get_arrays(struct map_reader *mr, struct manifest *m, struct err *e)
{
	const size_t n = m->params.segments;
	int r;

	if ((r = get_bytes(mr, KEY_SEED, m->seed, sizeof(m->seed), e)) != 0 ||
	    (r = get_array(mr, KEY_WRAPS, m->wraps[0], WRAP_LEN, n, e)) != 0 ||
	    (r = get_bytes(mr, KEY_COMMIT, m->commit, sizeof(m->commit), e)) !=
		0)
		return r;
	return get_array(mr, KEY_TAGS, m->tags,
	    manifest_milestones(m) * CHAIN_TAG_LEN, n, e);
}

static int
get_software(struct map_reader *mr, struct manifest *m, struct err *e)
{
	const char *text = NULL;
	size_t n = 0;
	int r;

	if ((r = get_text(mr, KEY_SOFTWARE, &text, &n, e)) != 0)
		return r;
	if (n < 1 || n > MANIFEST_SOFTWARE_MAX)
		return err_set(e, ERR_FORMAT, "%zu bytes: 1..%d are allowed", n,
		    MANIFEST_SOFTWARE_MAX);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return err_set(e, ERR_FORMAT,
			    "control character at "
			    "byte %zu",
			    i);
	}
	memcpy(m->software, text, n);
	m->software[n] = '\0';
	return 0;
}

int
manifest_map_decode(struct manifest **out, const void *p, size_t n,
    bool has_times, struct err *e)
{
	struct manifest_params params = { 0 };
	struct map_reader mr = { .key = 0 };
	struct manifest *m = NULL;
	int64_t from = 0, to = 0;
	size_t pairs = 0;
	int r;

	cbor_read_begin(&mr.r, p, n);
	if ((r = cbor_read_map(&mr.r, &pairs, e)) != 0)
		goto out;
	if (pairs != (has_times ? KEYS : KEYS_UNSIGNED)) {
		r = err_set(e, ERR_FORMAT, "%zu keys where %d belong", pairs,
		    has_times ? KEYS : KEYS_UNSIGNED);
		goto out;
	}
	if ((r = get_front(&mr, &params, e)) != 0 ||
	    (has_times && (r = get_times(&mr, &from, &to, e)) != 0) ||
	    (r = get_shape(&mr, &params, e)) != 0 ||
	    (r = check_room(&mr, &params, n, e)) != 0 ||
	    (r = manifest_new(&m, &params, e)) != 0)
		goto out;
	m->has_times = has_times;
	m->not_before = from;
	m->not_after = to;
	if ((r = get_arrays(&mr, m, e)) != 0 ||
	    (r = get_software(&mr, m, e)) != 0)
		goto out;
	mr.key = 0;
	if ((r = cbor_read_end(&mr.r, e)) != 0)
		goto out;
	*out = m;
	m = NULL;			/* handed over */
out:
	manifest_free(&m);
	if (r != 0 && mr.key != 0)
		err_ctx(e, "key %u (%s)", mr.key, key_names[mr.key]);
	return r;
}
