/*
 * capture_decode.c - the capture's CBOR map, read from a stranger: whoever
 * holds an epoch's key could have written it.
 */
#include "archive/capture.h"
#include "archive/capture_keys.h"
#include "base/cbor_read.h"
#include "base/err.h"

/* Reading goes on until a failure; err tells the first one. */
struct source {
	struct cbor_read	r;
	struct err		*e;
	int			 fail;
};

static void
fail(struct source *s, const char *what)
{
	if (s->fail == 0)
		s->fail = err_set(s->e, ERR_FORMAT, "capture: %s", what);
}

static void
took(struct source *s, int r)
{
	if (s->fail == 0 && r != 0) {
		s->fail = r;
		err_ctx(s->e, "capture");
	}
}

static uint64_t
get_uint(struct source *s, uint64_t lo, uint64_t hi)
{
	uint64_t v = lo;

	if (s->fail == 0)
		took(s, cbor_read_uint_range(&s->r, lo, hi, &v, s->e));
	return v;
}

static void
get_text(struct source *s, size_t max, struct capture_text *out)
{
	const char *p = NULL;
	size_t n = 0;

	if (s->fail != 0)
		return;
	took(s, cbor_read_text(&s->r, &p, &n, s->e));
	if (s->fail == 0 && n > max)
		fail(s, "a text longer than its cap");
	/* Empty text may come without a place; absent it is not. */
	*out = (struct capture_text){ p == NULL ? "" : p, n };
}

static void
get_bytes(struct source *s, struct capture_bytes *out)
{
	const uint8_t *p = NULL;
	size_t n = 0;

	if (s->fail != 0)
		return;
	took(s, cbor_read_bytes(&s->r, &p, &n, s->e));
	*out = capture_span(p == NULL ? (const uint8_t *)"" : p, n);
}

static void
get_array(struct source *s, struct capture_bytes *v, size_t max, size_t *n)
{
	size_t count = 0;

	if (s->fail != 0)
		return;
	took(s, cbor_read_array(&s->r, &count, s->e));
	if (s->fail == 0 && (count == 0 || count > max))
		fail(s, "an array that is empty or longer than its cap");
	for (size_t i = 0; i < count && s->fail == 0; i++)
		get_bytes(s, &v[i]);
	*n = count;
}

static size_t
get_map(struct source *s, size_t max)
{
	size_t pairs = 0;

	if (s->fail == 0)
		took(s, cbor_read_map(&s->r, &pairs, s->e));
	if (s->fail == 0 && (pairs == 0 || pairs > max))
		fail(s, "a map without pairs or with too many");
	return pairs;
}

static void
get_tls(struct source *s, struct capture_tls *t)
{
	struct capture_text *const texts[] = { &t->version, &t->cipher,
		&t->alpn };
	size_t pairs = get_map(s, 4);

	while (s->fail == 0 && pairs-- > 0) {
		uint64_t key = get_uint(s, 1, 4);

		if (key == 4)
			get_array(s, t->chain, CAPTURE_CHAIN_MAX, &t->nchain);
		else
			get_text(s, CAPTURE_WORD_MAX, texts[key - 1]);
	}
}

static void
get_times(struct source *s, struct capture_times *t)
{
	size_t pairs = get_map(s, CAPTURE_PHASES);

	while (s->fail == 0 && pairs-- > 0) {
		uint64_t key = get_uint(s, 1, CAPTURE_PHASES);

		t->ms[key - 1] = (int64_t)get_uint(s, 0, INT64_MAX);
	}
	if (s->fail == 0 && t->ms[CAPTURE_TOTAL] < 0)
		fail(s, "no total time");
}

static void
get_value(struct source *s, uint64_t key, struct capture *c)
{
	switch ((enum capture_key)key) {
	case CAPTURE_KEY_VERSION:
		(void)get_uint(s, CAPTURE_VERSION, CAPTURE_VERSION);
		break;
	case CAPTURE_KEY_START:
		c->start_ms = (int64_t)get_uint(s, 0, INT64_MAX);
		break;
	case CAPTURE_KEY_METHOD:
		get_text(s, CAPTURE_METHOD_MAX, &c->method);
		break;
	case CAPTURE_KEY_URL:
		get_text(s, CAPTURE_URL_MAX, &c->url);
		break;
	case CAPTURE_KEY_REQUEST_HEAD:
		get_bytes(s, &c->request_head);
		break;
	case CAPTURE_KEY_REQUEST_BODY:
		get_bytes(s, &c->request_body);
		break;
	case CAPTURE_KEY_OUTCOME:
		c->outcome = (enum capture_outcome)get_uint(s, 0,
		    CAPTURE_OUTCOMES - 1);
		break;
	case CAPTURE_KEY_STATUS:
		c->status = (unsigned)get_uint(s, CAPTURE_STATUS_MIN,
		    CAPTURE_STATUS_MAX);
		break;
	case CAPTURE_KEY_RESPONSE_HEAD:
		get_bytes(s, &c->response_head);
		break;
	case CAPTURE_KEY_RESPONSE_BODY:
		get_bytes(s, &c->response_body);
		break;
	case CAPTURE_KEY_TRAILERS:
		get_bytes(s, &c->trailers);
		break;
	case CAPTURE_KEY_INTERIM:
		get_array(s, c->interim, CAPTURE_INTERIM_MAX, &c->ninterim);
		break;
	case CAPTURE_KEY_PEER:
		get_text(s, CAPTURE_WORD_MAX, &c->peer);
		break;
	case CAPTURE_KEY_TLS:
		get_tls(s, &c->tls);
		break;
	case CAPTURE_KEY_TIMES:
		get_times(s, &c->times);
		break;
	case CAPTURE_KEY_ERROR:
		get_text(s, CAPTURE_WORD_MAX, &c->error);
		break;
	case CAPTURE_KEY_SOFTWARE:
		get_text(s, CAPTURE_WORD_MAX, &c->software);
		break;
	case CAPTURE_KEY_FLAGS:
		c->flags = (unsigned)get_uint(s, 0, CAPTURE_FLAGS);
		break;
	}
}

static void
check_needed(struct source *s, uint32_t seen)
{
	static const struct {
		enum capture_key	 key;
		const char		*message;
	} rows[] = {
		{ CAPTURE_KEY_VERSION, "no version" },
		{ CAPTURE_KEY_START, "no start" },
		{ CAPTURE_KEY_METHOD, "no method" },
		{ CAPTURE_KEY_URL, "no URL" },
		{ CAPTURE_KEY_OUTCOME, "no outcome" },
		{ CAPTURE_KEY_TIMES, "no times" },
		{ CAPTURE_KEY_SOFTWARE, "no software" },
		{ CAPTURE_KEY_FLAGS, "no flags" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((seen >> rows[i].key & 1) == 0)
			fail(s, rows[i].message);
}

int
capture_decode(struct capture *out, const uint8_t *p, size_t n, struct err *e)
{
	struct source s = { .e = e };
	struct capture c;
	uint32_t seen = 0;
	size_t pairs;

	if (n > CAPTURE_MAX)
		return err_set(e, ERR_FORMAT, "capture: %zu bytes, at most %d",
		    n, CAPTURE_MAX);
	capture_init(&c);
	cbor_read_begin(&s.r, p, n);
	pairs = get_map(&s, CAPTURE_KEY_FLAGS);
	while (s.fail == 0 && pairs-- > 0) {
		uint64_t key = get_uint(&s, CAPTURE_KEY_VERSION,
		    CAPTURE_KEY_FLAGS);

		if (s.fail != 0)
			break;
		seen |= (uint32_t)1 << key;
		get_value(&s, key, &c);
	}
	if (s.fail == 0)
		took(&s, cbor_read_end(&s.r, e));
	if (s.fail == 0)
		check_needed(&s, seen);
	if (s.fail == 0)
		*out = c;
	return s.fail;
}
