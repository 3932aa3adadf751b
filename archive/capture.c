/*
 * capture.c - the capture's CBOR map, written; capture_decode.c reads it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "archive/capture.h"
#include "archive/capture_keys.h"
#include "base/bytes.h"
#include "base/cbor_write.h"
#include "base/err.h"
#include "base/utf8.h"

void
capture_init(struct capture *c)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < CAPTURE_PHASES; i++)
		c->times.ms[i] = -1;
}

struct capture_text
capture_str(const char *s)
{
	return (struct capture_text){ s, strlen(s) };
}

struct capture_bytes
capture_span(const void *p, size_t n)
{
	return (struct capture_bytes){ p, n };
}

const char *
capture_outcome_name(enum capture_outcome o)
{
	static const char *const names[CAPTURE_OUTCOMES] = {
		[CAPTURE_COMPLETE] = "complete",
		[CAPTURE_OVER_CAP] = "body over the cap",
		[CAPTURE_TIMED_OUT] = "timed out",
		[CAPTURE_CLOSED_EARLY] = "closed early",
		[CAPTURE_TLS_FAILURE] = "TLS failure",
		[CAPTURE_DNS_FAILURE] = "DNS failure",
		[CAPTURE_REFUSED] = "refused by policy",
		[CAPTURE_CONNECT_FAILURE] = "connect failure",
		[CAPTURE_MALFORMED] = "malformed response",
	};

	return (unsigned)o < CAPTURE_OUTCOMES ? names[o] : "unknown";
}

/* ---- encoding ---- */

/* One pass counts (w NULL), the second writes. */
struct sink {
	struct cbor_write	*w;
	uint64_t		 len;
	size_t			 pairs;	/* of the outermost map */
};

static void
put_uint(struct sink *s, uint64_t v)
{
	if (s->w != NULL)
		cbor_write_uint(s->w, v);
	else
		s->len += cbor_write_head_len(v);
}

static void
put_key(struct sink *s, enum capture_key key)
{
	put_uint(s, key);
	s->pairs++;
}

static void
put_text(struct sink *s, const struct capture_text *t)
{
	if (s->w != NULL)
		cbor_write_text(s->w, t->p, t->n);
	else
		s->len += cbor_write_head_len(t->n) + t->n;
}

static void
put_bytes(struct sink *s, const struct capture_bytes *b)
{
	if (s->w != NULL)
		cbor_write_bytes(s->w, b->p, b->n);
	else
		s->len += cbor_write_head_len(b->n) + b->n;
}

static void
put_array(struct sink *s, const struct capture_bytes *v, size_t n)
{
	if (s->w != NULL)
		cbor_write_array(s->w, n);
	else
		s->len += cbor_write_head_len(n);
	for (size_t i = 0; i < n; i++)
		put_bytes(s, &v[i]);
}

static void
put_map(struct sink *s, size_t n)
{
	if (s->w != NULL)
		cbor_write_map(s->w, n);
	else
		s->len += cbor_write_head_len(n);
}

static void
put_text_pair(struct sink *s, enum capture_key key,
    const struct capture_text *t)
{
	if (t->p == NULL)
		return;
	put_key(s, key);
	put_text(s, t);
}

static void
put_bytes_pair(struct sink *s, enum capture_key key,
    const struct capture_bytes *b)
{
	if (b->p == NULL)
		return;
	put_key(s, key);
	put_bytes(s, b);
}

static size_t
tls_pairs(const struct capture_tls *t)
{
	return (size_t)(t->version.p != NULL) + (t->cipher.p != NULL) +
	    (t->alpn.p != NULL) + (t->nchain != 0);
}

static void
put_tls(struct sink *s, const struct capture_tls *t)
{
	const struct capture_text *const texts[] = { &t->version, &t->cipher,
		&t->alpn };

	if (tls_pairs(t) == 0)
		return;
	put_key(s, CAPTURE_KEY_TLS);
	put_map(s, tls_pairs(t));
	for (unsigned i = 0; i < 3; i++) {
		if (texts[i]->p == NULL)
			continue;
		put_uint(s, i + 1);
		put_text(s, texts[i]);
	}
	if (t->nchain != 0) {
		put_uint(s, 4);
		put_array(s, t->chain, t->nchain);
	}
}

static void
put_times(struct sink *s, const struct capture_times *t)
{
	size_t n = 0;

	for (size_t i = 0; i < CAPTURE_PHASES; i++)
		n += t->ms[i] >= 0;
	put_key(s, CAPTURE_KEY_TIMES);
	put_map(s, n);
	for (size_t i = 0; i < CAPTURE_PHASES; i++) {
		if (t->ms[i] < 0)
			continue;
		put_uint(s, i + 1);
		put_uint(s, (uint64_t)t->ms[i]);
	}
}

/* Everything behind the head of the map. */
static void
put_pairs(struct sink *s, const struct capture *c)
{
	put_key(s, CAPTURE_KEY_VERSION);
	put_uint(s, CAPTURE_VERSION);
	put_key(s, CAPTURE_KEY_START);
	put_uint(s, (uint64_t)c->start_ms);
	put_text_pair(s, CAPTURE_KEY_METHOD, &c->method);
	put_text_pair(s, CAPTURE_KEY_URL, &c->url);
	put_bytes_pair(s, CAPTURE_KEY_REQUEST_HEAD, &c->request_head);
	put_bytes_pair(s, CAPTURE_KEY_REQUEST_BODY, &c->request_body);
	put_key(s, CAPTURE_KEY_OUTCOME);
	put_uint(s, c->outcome);
	if (c->status != 0) {
		put_key(s, CAPTURE_KEY_STATUS);
		put_uint(s, c->status);
	}
	put_bytes_pair(s, CAPTURE_KEY_RESPONSE_HEAD, &c->response_head);
	put_bytes_pair(s, CAPTURE_KEY_RESPONSE_BODY, &c->response_body);
	put_bytes_pair(s, CAPTURE_KEY_TRAILERS, &c->trailers);
	if (c->ninterim != 0) {
		put_key(s, CAPTURE_KEY_INTERIM);
		put_array(s, c->interim, c->ninterim);
	}
	put_text_pair(s, CAPTURE_KEY_PEER, &c->peer);
	put_tls(s, &c->tls);
	put_times(s, &c->times);
	put_text_pair(s, CAPTURE_KEY_ERROR, &c->error);
	put_text_pair(s, CAPTURE_KEY_SOFTWARE, &c->software);
	put_key(s, CAPTURE_KEY_FLAGS);
	put_uint(s, c->flags);
}

static int
check_text(const char *name, const struct capture_text *t, size_t max,
    bool is_needed, struct err *e)
{
	if (t->p == NULL)
		return is_needed ? err_set(e, ERR_ARG, "capture: no %s",
				       name) :
				   0;
	if (t->n > max)
		return err_set(e, ERR_ARG,
		    "capture: %s of %zu bytes, at most %zu are allowed", name,
		    t->n, max);
	if (!utf8_is_valid(t->p, t->n))
		return err_set(e, ERR_ARG, "capture: %s is not UTF-8", name);
	return 0;
}

static int
check_arrays(const struct capture *c, struct err *e)
{
	if (c->ninterim > CAPTURE_INTERIM_MAX)
		return err_set(e, ERR_ARG, "capture: %zu interim heads",
		    c->ninterim);
	if (c->tls.nchain > CAPTURE_CHAIN_MAX)
		return err_set(e, ERR_ARG, "capture: %zu certificates",
		    c->tls.nchain);
	for (size_t i = 0; i < c->ninterim; i++)
		if (c->interim[i].p == NULL)
			return err_set(e, ERR_ARG,
			    "capture: interim head %zu is absent", i);
	for (size_t i = 0; i < c->tls.nchain; i++)
		if (c->tls.chain[i].p == NULL)
			return err_set(e, ERR_ARG,
			    "capture: certificate %zu is absent", i);
	return 0;
}

static int
check(const struct capture *c, struct err *e)
{
	const struct {
		const char			*name;
		const struct capture_text	*text;
		size_t				 max;
		bool				 is_needed;
	} rows[] = {
		{ "method", &c->method, CAPTURE_METHOD_MAX, true },
		{ "URL", &c->url, CAPTURE_URL_MAX, true },
		{ "peer", &c->peer, CAPTURE_WORD_MAX, false },
		{ "TLS version", &c->tls.version, CAPTURE_WORD_MAX, false },
		{ "cipher suite", &c->tls.cipher, CAPTURE_WORD_MAX, false },
		{ "ALPN", &c->tls.alpn, CAPTURE_WORD_MAX, false },
		{ "error token", &c->error, CAPTURE_WORD_MAX, false },
		{ "software", &c->software, CAPTURE_WORD_MAX, true },
	};
	int r;

	if (c->start_ms < 0)
		return err_set(e, ERR_ARG, "capture: start before 1970");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((r = check_text(rows[i].name, rows[i].text, rows[i].max,
			 rows[i].is_needed, e)) != 0)
			return r;
	if ((unsigned)c->outcome >= CAPTURE_OUTCOMES)
		return err_set(e, ERR_ARG, "capture: outcome %d",
		    (int)c->outcome);
	if (c->status != 0 &&
	    (c->status < CAPTURE_STATUS_MIN || c->status > CAPTURE_STATUS_MAX))
		return err_set(e, ERR_ARG, "capture: status %u", c->status);
	if (c->times.ms[CAPTURE_TOTAL] < 0)
		return err_set(e, ERR_ARG, "capture: no total time");
	if ((c->flags & ~(unsigned)CAPTURE_FLAGS) != 0)
		return err_set(e, ERR_ARG, "capture: flags 0x%x", c->flags);
	return check_arrays(c, e);
}

/* Checks and counts. */
static int
measure(struct sink *s, const struct capture *c, struct err *e)
{
	int r;

	if ((r = check(c, e)) != 0)
		return r;
	memset(s, 0, sizeof(*s));
	put_pairs(s, c);
	s->len += cbor_write_head_len(s->pairs);
	if (s->len > CAPTURE_MAX)
		return err_set(e, ERR_LIMIT,
		    "a capture of %llu bytes, at most %d are allowed",
		    (unsigned long long)s->len, CAPTURE_MAX);
	return 0;
}

int
capture_encoded_len(const struct capture *c, size_t *len, struct err *e)
{
	struct sink s;
	int r;

	if ((r = measure(&s, c, e)) == 0)
		*len = (size_t)s.len;
	return r;
}

int
capture_encode(const struct capture *c, struct bytes *out, struct err *e)
{
	struct cbor_write w;
	struct sink s;
	int r;

	if ((r = measure(&s, c, e)) != 0)
		return r;
	cbor_write_begin(&w, out);
	cbor_write_map(&w, s.pairs);
	s.w = &w;
	put_pairs(&s, c);
	return cbor_write_end(&w, e);
}
