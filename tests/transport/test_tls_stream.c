/*
 * test_tls_stream.c - the inner TLS: bytes through feeds and drains of every
 * size, pauses, key updates, ends; and who is the relay and who is not.
 */
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/transport/tls_kit.h"
#include "transport/leaf_cert.h"
#include "transport/tls_context.h"
#include "transport/tls_stream.h"

enum {
	DAY = 86400,
	HOUR = 3600,
	GOT_MAX = 32 * 1024 * 1024,
};

struct world {
	struct identity		*id;
	struct secret		*seed;
	struct tls_context	*relay, *client;
	uint8_t			 leaf[LEAF_CERT_LEN];
	int64_t			 now;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	uint8_t pub[LEAF_CERT_PUB_LEN];
	struct err e = ERR_INIT;

	assert_non_null(w);
	assert_int_equal(secret_init(&e), 0);
	assert_int_equal(identity_new(&w->id, "relay.example/test", &e), 0);
	assert_int_equal(secret_random(&w->seed, TLS_KEY_LEN, &e), 0);
	assert_int_equal(tls_context_leaf_pub(w->seed, pub, &e), 0);
	w->now = clock_wall_s(clock_system());
	assert_int_equal(leaf_cert_make(w->id, pub, w->now, w->leaf, &e), 0);
	assert_int_equal(tls_context_new_relay(&w->relay, w->leaf,
	    sizeof(w->leaf), w->seed, &e), 0);
	assert_int_equal(tls_context_new_pinned(&w->client,
	    identity_vkey(w->id), clock_system(), &e), 0);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	tls_context_free(&w->relay);
	tls_context_free(&w->client);
	secret_free(&w->seed);
	identity_free(&w->id);
	free(w);
	return 0;
}

/* Two streams, established over feeds of this size. */
struct pair {
	struct tls_stream	*relay, *client;
	struct bytes		 up, down;	/* plaintext that arrived */
};

static void
pair_make(struct pair *p, const struct world *w, size_t size)
{
	struct err e = ERR_INIT;

	bytes_init(&p->up, GOT_MAX);
	bytes_init(&p->down, GOT_MAX);
	assert_int_equal(tls_stream_new(&p->relay, w->relay, NULL, &e), 0);
	assert_int_equal(tls_stream_new(&p->client, w->client, NULL, &e), 0);
	kit_pump_two(p->relay, p->client, size, &p->up, &p->down);
	if (!tls_stream_is_established(p->client))
		fail_msg("client: %s", tls_stream_failure(p->client)->reason);
	assert_true(tls_stream_is_established(p->relay));
	assert_int_equal(p->up.len + p->down.len, 0);
}

static void
pair_free(struct pair *p)
{
	tls_stream_free(&p->relay);
	tls_stream_free(&p->client);
	bytes_free(&p->up);
	bytes_free(&p->down);
}

/* Writes n deterministic bytes, pumping when it must. */
static void
write_all(struct pair *p, struct tls_stream *s, size_t n, uint64_t seed,
    size_t size)
{
	uint8_t buf[5000];
	size_t k, used, at;

	while (n > 0) {
		k = n < sizeof(buf) ? n : sizeof(buf);
		test_random_fill(&seed, buf, k);
		for (at = 0; at < k; at += used) {
			if (tls_stream_write(s, buf + at, k - at, &used,
			    NULL) == ERR_AGAIN)
				kit_pump_two(p->relay, p->client, size,
				    &p->up, &p->down);
		}
		n -= k;
	}
	kit_pump_two(p->relay, p->client, size, &p->up, &p->down);
}

/* The n last bytes of got are those of the seed. */
static void
check_got(const struct bytes *got, size_t n, uint64_t seed)
{
	uint8_t buf[5000];
	size_t k, at = got->len - n;

	assert_true(got->len >= n);
	while (n > 0) {
		k = n < sizeof(buf) ? n : sizeof(buf);
		test_random_fill(&seed, buf, k);
		assert_memory_equal(got->p + at, buf, k);
		at += k;
		n -= k;
	}
}

static void
test_sizes(void **state)
{
	static const struct { size_t size, n; } rows[] = {
		{ 1, 40000 }, { 2, 40000 }, { 5, 40000 }, { 7, 40001 },
		{ 100, 300000 }, { 1447, 300000 }, { 16384, 2000000 },
		{ 65536, 2000000 },
	};
	const struct world *w = *state;
	struct tls_facts facts;
	struct pair p;
	size_t i;

	for (i = 0; i < TEST_COUNT(rows); i++) {
		pair_make(&p, w, rows[i].size);
		assert_int_equal(tls_stream_facts(p.client, &facts, NULL), 0);
		assert_string_equal(facts.version, "TLSv1.3");
		assert_string_equal(facts.alpn, "http/1.1");
		assert_int_equal(facts.chain, 1);
		write_all(&p, p.client, rows[i].n, 7, rows[i].size);
		write_all(&p, p.relay, rows[i].n, 8, rows[i].size);
		assert_int_equal(p.up.len, rows[i].n);
		assert_int_equal(p.down.len, rows[i].n);
		check_got(&p.up, rows[i].n, 7);
		check_got(&p.down, rows[i].n, 8);
		assert_int_equal(tls_stream_pending(p.relay), 0);
		assert_false(tls_stream_is_readable(p.relay));
		assert_false(tls_stream_is_readable(p.client));
		pair_free(&p);
	}
}

/* Nobody reads: feeds and writes stop at their bounds, and afterwards every
 * byte comes without one more from the network. */
static void
test_pause(void **state)
{
	const struct world *w = *state;
	uint8_t plain[10000], buf[90000];
	size_t used, k, wrote = 0, fed = 0, got = 0, n = 0;
	uint64_t seed = 3;
	struct pair p;
	int r;

	pair_make(&p, w, 4096);
	test_random_fill(&seed, plain, sizeof(plain));
	/* the writer's bound */
	while ((r = tls_stream_write(p.relay, plain, sizeof(plain), &used,
	    NULL)) == 0)
		wrote += used;
	assert_int_equal(r, ERR_AGAIN);
	assert_true(tls_stream_pending(p.relay) >= TLS_STREAM_OUT_MAX);
	assert_true(tls_stream_pending(p.relay) < TLS_STREAM_OUT_MAX + 17000);
	/* the reader's */
	while ((k = tls_stream_drain(p.relay, buf + n, 1000)) > 0)
		n += k;
	assert_int_equal(n > TLS_STREAM_IN_MAX, 1);
	assert_int_equal(tls_stream_feed(p.client, buf, n, &fed, NULL), 0);
	assert_int_equal(fed, TLS_STREAM_IN_MAX);
	assert_int_equal(tls_stream_feed(p.client, buf + fed, n - fed, &used,
	    NULL), 0);
	assert_int_equal(used, 0);
	/* resume, one byte at a time: whole records of what was fed */
	assert_true(tls_stream_is_readable(p.client));
	while (tls_stream_is_readable(p.client)) {
		r = tls_stream_read(p.client, plain, 1, &k, NULL);
		if (r != 0)
			break;
		got += k;
	}
	assert_int_equal(r, ERR_AGAIN);
	assert_false(tls_stream_is_readable(p.client));
	assert_true(got > TLS_STREAM_IN_MAX - 17000);
	/* the rest */
	while (fed < n) {
		assert_int_equal(tls_stream_feed(p.client, buf + fed, n - fed,
		    &used, NULL), 0);
		fed += used;
		while (tls_stream_read(p.client, plain, sizeof(plain), &k,
		    NULL) == 0)
			got += k;
	}
	assert_int_equal(got, wrote);
	pair_free(&p);
}

static void
test_key_updates(void **state)
{
	const struct world *w = *state;
	struct pair p;
	uint64_t i;

	pair_make(&p, w, 4096);
	for (i = 1; i < 40; i++) {
		size_t size = i % 5 == 0 ? 1 : 3000;

		assert_int_equal(tls_stream_update_keys(i % 2 == 0 ? p.relay :
		    p.client, i % 3 == 0, NULL), 0);
		if (i % 4 == 0)
			kit_pump_two(p.relay, p.client, size, &p.up, &p.down);
		write_all(&p, p.client, 3000 + i, i, size);
		check_got(&p.up, 3000 + i, i);
		write_all(&p, p.relay, 2000 + i, i + 100, size);
		check_got(&p.down, 2000 + i, i + 100);
	}
	pair_free(&p);
}

static void
test_half_close(void **state)
{
	const struct world *w = *state;
	struct pair p;
	uint8_t c;
	size_t k;

	pair_make(&p, w, 4096);
	write_all(&p, p.client, 100, 1, 4096);
	assert_int_equal(tls_stream_shutdown(p.client, NULL), 0);
	assert_int_equal(tls_stream_shutdown(p.client, NULL), 0);
	assert_int_equal(tls_stream_write(p.client, "x", 1, &k, NULL),
	    ERR_PHASE);
	kit_pump_two(p.relay, p.client, 1, &p.up, &p.down);
	assert_int_equal(tls_stream_end(p.relay), TLS_END_NOTIFIED);
	assert_int_equal(tls_stream_read(p.relay, &c, 1, &k, NULL), ERR_EOF);
	assert_false(tls_stream_is_readable(p.relay));
	/* the other direction goes on */
	write_all(&p, p.relay, 50000, 2, 1000);
	check_got(&p.down, 50000, 2);
	assert_int_equal(tls_stream_end(p.client), TLS_END_NONE);
	assert_int_equal(tls_stream_shutdown(p.relay, NULL), 0);
	kit_pump_two(p.relay, p.client, 1000, &p.up, &p.down);
	assert_int_equal(tls_stream_end(p.client), TLS_END_NOTIFIED);
	assert_string_equal(tls_stream_failure(p.client)->token, "");
	pair_free(&p);
}

/* The network ends without close_notify: what came is read, then told. */
static void
test_truncation(void **state)
{
	const struct world *w = *state;
	uint8_t buf[4096];
	struct pair p;
	size_t k, used;

	pair_make(&p, w, 4096);
	assert_int_equal(tls_stream_write(p.relay, "hello", 5, &used, NULL),
	    0);
	k = tls_stream_drain(p.relay, buf, sizeof(buf));
	assert_int_equal(tls_stream_feed(p.client, buf, k, &used, NULL), 0);
	tls_stream_feed_eof(p.client);
	assert_int_equal(tls_stream_feed(p.client, buf, 1, &used, NULL),
	    ERR_PHASE);
	assert_true(tls_stream_is_readable(p.client));
	assert_int_equal(tls_stream_end(p.client), TLS_END_NONE);
	assert_int_equal(tls_stream_read(p.client, buf, sizeof(buf), &k,
	    NULL), 0);
	assert_int_equal(k, 5);
	assert_true(tls_stream_is_readable(p.client));
	assert_int_equal(tls_stream_read(p.client, buf, sizeof(buf), &k,
	    NULL), ERR_EOF);
	assert_int_equal(tls_stream_end(p.client), TLS_END_TRUNCATED);
	assert_false(tls_stream_is_readable(p.client));
	pair_free(&p);
}

/* Each bit of a record matters, and the other side hears why. */
static void
test_flipped_bits(void **state)
{
	const struct world *w = *state;
	uint8_t buf[4096];
	struct pair p;
	size_t i, k, used, n;

	for (i = 0; i < 30; i++) {
		pair_make(&p, w, 4096);
		assert_int_equal(tls_stream_write(p.relay, "hello", 5, &used,
		    NULL), 0);
		n = tls_stream_drain(p.relay, buf, sizeof(buf));
		if (i == 3 || i == 4) {	/* the length: it would wait */
			pair_free(&p);
			continue;
		}
		buf[i % n] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(tls_stream_feed(p.client, buf, n, &used,
		    NULL), 0);
		assert_int_equal(tls_stream_read(p.client, buf, sizeof(buf),
		    &k, NULL), ERR_PEER);
		assert_string_equal(tls_stream_failure(p.client)->token,
		    "tls_protocol_error");
		n = tls_stream_drain(p.client, buf, sizeof(buf));
		assert_true(n > 0);
		assert_int_equal(tls_stream_feed(p.relay, buf, n, &used,
		    NULL), 0);
		assert_int_equal(tls_stream_read(p.relay, buf, sizeof(buf),
		    &k, NULL), ERR_PEER);
		assert_string_equal(tls_stream_failure(p.relay)->token,
		    "tls_alert_received");
		assert_true(tls_stream_failure(p.relay)->alert > 0);
		pair_free(&p);
	}
}

/* The relay hands out no ticket and takes only what WIRE says. */
static void
test_relay_rules(void **state)
{
	static const struct {
		const char	*name;
		int		 min, max;
		const char	*alpn;
		bool		 accepted;
		int		 alert;		/* that the client gets */
	} rows[] = {
		{ "http/1.1", 0, 0, "\x08http/1.1", true, 0 },
		{ "one of several", 0, 0, "\x02h2\x08http/1.1", true, 0 },
		{ "no ALPN", 0, 0, NULL, false,
		    SSL_AD_NO_APPLICATION_PROTOCOL },
		{ "h2 only", 0, 0, "\x02h2", false,
		    SSL_AD_NO_APPLICATION_PROTOCOL },
		{ "http/1.0", 0, 0, "\x08http/1.0", false,
		    SSL_AD_NO_APPLICATION_PROTOCOL },
		{ "TLS 1.2 only", TLS1_2_VERSION, TLS1_2_VERSION,
		    "\x08http/1.1", false, SSL_AD_PROTOCOL_VERSION },
	};
	const struct world *w = *state;
	struct bytes got = BYTES_INIT(1000);
	struct tls_stream *s;
	struct kit_peer peer;
	size_t i;
	char c;

	for (i = 0; i < TEST_COUNT(rows); i++) {
		struct kit_peer_opts o = { .min = rows[i].min,
		    .max = rows[i].max, .alpn = rows[i].alpn };

		kit_peer_make(&peer, &o);
		assert_int_equal(tls_stream_new(&s, w->relay, NULL, NULL), 0);
		kit_pump(s, &peer, 100, &got);
		if (tls_stream_is_established(s) != rows[i].accepted)
			fail_msg("%s: %s", rows[i].name,
			    tls_stream_failure(s)->reason);
		assert_int_equal(peer.is_done, rows[i].accepted);
		if (rows[i].accepted) {
			/* what comes after the handshake: nothing */
			assert_int_equal(SSL_read(peer.ssl, &c, 1), -1);
			assert_int_equal(SSL_SESSION_has_ticket(
			    SSL_get0_session(peer.ssl)), 0);
			assert_int_equal(sk_X509_num(
			    SSL_get_peer_cert_chain(peer.ssl)), 1);
		} else {
			assert_int_equal(ERR_GET_REASON(peer.code),
			    SSL_AD_REASON_OFFSET + rows[i].alert);
			assert_string_equal(tls_stream_failure(s)->token,
			    "tls_protocol_error");
		}
		tls_stream_free(&s);
		kit_peer_free(&peer);
	}
	bytes_free(&got);
}

enum flaw {
	FINE, OTHER_ID, TWO_CERTS, CA, LONG, CLIENTS_ONLY, PIN_ITSELF, EXPIRED,
	EARLY, SYSTEM, NO_ALPN, OLD_VERSION
};

static const struct {
	const char	*name;
	enum flaw	 flaw;
	const char	*token;		/* "": believed */
	const char	*reason;
} flaws[] = {
	{ "fine", FINE, "", "" },
	{ "another identity", OTHER_ID, "tls_certificate_error",
	    "certificate is not signed by the pinned identity" },
	{ "two certificates", TWO_CERTS, "tls_certificate_error",
	    "relay shows more than one certificate" },
	{ "a CA's", CA, "tls_certificate_error", "certificate is a CA's" },
	{ "8 days", LONG, "tls_certificate_error",
	    "certificate is valid for more than 7 days" },
	{ "for clients", CLIENTS_ONLY, "tls_certificate_error",
	    "certificate is not for a server" },
	{ "the pin itself", PIN_ITSELF, "tls_certificate_error",
	    "certificate is for the pinned key itself" },
	{ "expired", EXPIRED, "tls_certificate_error",
	    "certificate has expired (check the clock)" },
	{ "not yet", EARLY, "tls_certificate_error",
	    "certificate is not yet valid (check the clock)" },
	{ "self-signed", SYSTEM, "tls_certificate_error",
	    "certificate is not signed by the pinned identity" },
	{ "no ALPN", NO_ALPN, "tls_protocol_error",
	    "peer does not choose http/1.1" },
	{ "TLS 1.2", OLD_VERSION, "tls_alert_received", NULL },
};

/* A server with one flaw; pin is the identity's key as OpenSSL has it. */
static void
flawed_peer(struct kit_peer *peer, struct kit_cert *leaf,
    const struct kit_cert *pin, enum flaw flaw)
{
	struct kit_spec spec = { .issuer = pin, .from = -HOUR,
	    .to = 7 * DAY - HOUR, .eku = "serverAuth" };
	struct kit_peer_opts o = { .is_server = true, .leaf = leaf,
	    .alpn = "\x08http/1.1" };
	struct kit_cert other = { pin->cert, NULL };

	if (flaw == OTHER_ID) {
		other.key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
		spec.issuer = &other;
	} else if (flaw == SYSTEM)
		spec.issuer = NULL;
	else if (flaw == CA)
		spec.is_ca = true;
	else if (flaw == LONG)
		spec.to = 7 * DAY - HOUR + 1;
	else if (flaw == CLIENTS_ONLY)
		spec.eku = "clientAuth";
	else if (flaw == PIN_ITSELF)
		spec.key = pin->key;
	else if (flaw == EXPIRED) {
		spec.from = -2 * HOUR;
		spec.to = -1;
	} else if (flaw == EARLY)
		spec.from = HOUR;
	else if (flaw == TWO_CERTS)
		o.extra = pin;
	else if (flaw == NO_ALPN)
		o.alpn = NULL;
	else if (flaw == OLD_VERSION)
		o.min = o.max = TLS1_2_VERSION;
	kit_cert_make(leaf, &spec);
	EVP_PKEY_free(other.key);
	kit_peer_make(peer, &o);
}

static void
test_pin(void **state)
{
	struct kit_spec spec = { .from = -HOUR, .to = HOUR, .is_ca = true,
	    .cn = "pin" };
	struct tls_context *ctx;
	struct tls_stream *s;
	struct kit_cert pin, leaf;
	struct kit_peer peer;
	struct vkey v;
	size_t i, n = sizeof(v.pub);

	(void)state;
	spec.key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	kit_cert_make(&pin, &spec);
	EVP_PKEY_free(spec.key);
	memset(&v, 0, sizeof(v));
	assert_int_equal(EVP_PKEY_get_raw_public_key(pin.key, v.pub, &n), 1);
	assert_int_equal(tls_context_new_pinned(&ctx, &v, clock_system(),
	    NULL), 0);
	for (i = 0; i < TEST_COUNT(flaws); i++) {
		flawed_peer(&peer, &leaf, &pin, flaws[i].flaw);
		assert_int_equal(tls_stream_new(&s, ctx, NULL, NULL), 0);
		kit_pump(s, &peer, 100, NULL);
		if (strcmp(tls_stream_failure(s)->token, flaws[i].token) !=
		    0 || (flaws[i].reason != NULL &&
		    strcmp(tls_stream_failure(s)->reason, flaws[i].reason) !=
		    0))
			fail_msg("%s: %s, %s", flaws[i].name,
			    tls_stream_failure(s)->token,
			    tls_stream_failure(s)->reason);
		assert_int_equal(tls_stream_is_established(s),
		    flaws[i].token[0] == '\0');
		tls_stream_free(&s);
		kit_peer_free(&peer);
		kit_cert_free(&leaf);
	}
	tls_context_free(&ctx);
	kit_cert_free(&pin);
}

/* The leaf as made, against the client's clock. */
static void
test_leaf_dates(void **state)
{
	static const struct { int64_t at; bool good; } rows[] = {
		{ -LEAF_CERT_BACK_S - 1, false },
		{ -LEAF_CERT_BACK_S, true },
		{ 0, true },
		{ LEAF_CERT_SPAN_S - LEAF_CERT_BACK_S - 1, true },
		{ LEAF_CERT_SPAN_S - LEAF_CERT_BACK_S, false },
	};
	const struct world *w = *state;
	struct bytes got = BYTES_INIT(10);
	struct tls_context *ctx;
	struct tls_stream *a, *b;
	struct clock_fake clock;
	size_t i;

	for (i = 0; i < TEST_COUNT(rows); i++) {
		clock_fake_init(&clock, 0, (w->now + rows[i].at) * 1000);
		assert_int_equal(tls_context_new_pinned(&ctx,
		    identity_vkey(w->id), &clock.clock, NULL), 0);
		assert_int_equal(tls_stream_new(&a, ctx, NULL, NULL), 0);
		tls_context_free(&ctx);		/* the stream lives on */
		assert_int_equal(tls_stream_new(&b, w->relay, NULL, NULL), 0);
		kit_pump_two(a, b, 1000, &got, &got);
		assert_int_equal(tls_stream_is_established(a), rows[i].good);
		tls_stream_free(&a);
		tls_stream_free(&b);
	}
	bytes_free(&got);
}

/* Every bit of the leaf is covered: a changed one is not believed. */
static void
test_leaf_bits(void **state)
{
	const struct world *w = *state;
	struct bytes got = BYTES_INIT(10);
	uint8_t leaf[LEAF_CERT_LEN];
	struct tls_context *ctx;
	struct tls_stream *a, *b;
	size_t bit, made = 0;

	for (bit = 0; bit < 8 * LEAF_CERT_LEN; bit += 3) {
		memcpy(leaf, w->leaf, sizeof(leaf));
		leaf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (tls_context_new_relay(&ctx, leaf, sizeof(leaf), w->seed,
		    NULL) != 0)
			continue;	/* OpenSSL finds it already */
		made++;
		assert_int_equal(tls_stream_new(&a, w->client, NULL, NULL),
		    0);
		assert_int_equal(tls_stream_new(&b, ctx, NULL, NULL), 0);
		kit_pump_two(a, b, 1000, &got, &got);
		assert_false(tls_stream_is_established(a));
		tls_stream_free(&a);
		tls_stream_free(&b);
		tls_context_free(&ctx);
	}
	assert_true(made > 100);
	bytes_free(&got);
}

static void
test_arguments(void **state)
{
	const struct world *w = *state;
	struct tls_context *ctx = NULL;
	struct secret *other, *half;
	struct err e = ERR_INIT;
	uint8_t pub[TLS_KEY_LEN];

	assert_int_equal(secret_random(&other, TLS_KEY_LEN, &e), 0);
	assert_int_equal(secret_random(&half, 16, &e), 0);
	/* another key than the certificate's; no certificate; half a key */
	assert_int_equal(tls_context_new_relay(&ctx, w->leaf,
	    sizeof(w->leaf), other, &e), ERR_CRYPTO);
	assert_int_equal(tls_context_new_relay(&ctx, w->leaf,
	    sizeof(w->leaf) - 1, w->seed, &e), ERR_CRYPTO);
	assert_int_equal(tls_context_new_relay(&ctx, w->leaf,
	    sizeof(w->leaf), half, &e), ERR_ARG);
	assert_int_equal(tls_context_leaf_pub(half, pub, &e), ERR_ARG);
	assert_null(ctx);
	secret_free(&other);
	secret_free(&half);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_key_updates),
		cmocka_unit_test(test_half_close),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_relay_rules),
		cmocka_unit_test(test_pin),
		cmocka_unit_test(test_leaf_dates),
		cmocka_unit_test(test_leaf_bits),
		cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
