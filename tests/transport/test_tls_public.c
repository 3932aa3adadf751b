/*
 * test_tls_public.c - towards public servers: who is believed, and what is
 * told of those who are not.
 */
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/test_util.h"
#include "tests/transport/tls_kit.h"
#include "transport/tls_context.h"
#include "transport/tls_stream.h"
#include "transport/url.h"

enum { HOUR = 3600, YEAR = 365 * 86400 };

/* Made once: a root in the file, an intermediate, and an unknown root. */
struct world {
	char			*folder;
	char			*ca_file;
	struct kit_cert		 root, middle, old_middle, foreign;
	struct tls_context	*ctx;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct kit_spec ca = { .cn = "Test root", .is_ca = true,
	    .from = -YEAR, .to = YEAR };

	assert_non_null(w);
	w->folder = test_folder_make();
	w->ca_file = test_path(w->folder, "ca.pem");
	kit_cert_make(&w->root, &ca);
	kit_cert_save(&w->root, w->ca_file);
	ca.cn = "Foreign root";
	kit_cert_make(&w->foreign, &ca);
	ca.cn = "Middle";
	ca.issuer = &w->root;
	kit_cert_make(&w->middle, &ca);
	ca.cn = "Old middle";
	ca.to = -HOUR;
	kit_cert_make(&w->old_middle, &ca);
	assert_int_equal(tls_context_new_public(&w->ctx, w->ca_file, NULL),
	    0);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	tls_context_free(&w->ctx);
	kit_cert_free(&w->root);
	kit_cert_free(&w->middle);
	kit_cert_free(&w->old_middle);
	kit_cert_free(&w->foreign);
	test_folder_remove(w->folder);
	free(w->ca_file);
	free(w->folder);
	free(w);
	return 0;
}

enum issuer { ROOT, SELF, MIDDLE, MIDDLE_MISSING, OLD_MIDDLE, FOREIGN };

static const struct {
	const char	*name;
	const char	*host;
	const char	*san;
	const char	*cn;
	enum issuer	 issuer;
	long		 from, to;
	const char	*eku;
	const char	*reason;	/* NULL: believed */
	int		 depth;
	const char	*sni;
} rows[] = {
	{ "name", "a.example", "DNS:a.example", "x", ROOT, -HOUR, HOUR,
	    "serverAuth", NULL, 0, "a.example" },
	{ "no extended usage", "a.example", "DNS:a.example", "x", ROOT, -HOUR,
	    HOUR, NULL, NULL, 0, "a.example" },
	{ "capitals and a dot", "A.Example.", "DNS:a.example", "x", ROOT,
	    -HOUR, HOUR, NULL, NULL, 0, "a.example" },
	{ "one of several", "b.example", "DNS:a.example,DNS:b.example", "x",
	    ROOT, -HOUR, HOUR, NULL, NULL, 0, "b.example" },
	{ "wildcard", "a.b.example", "DNS:*.b.example", "x", ROOT, -HOUR,
	    HOUR, NULL, NULL, 0, "a.b.example" },
	{ "intermediate", "a.example", "DNS:a.example", "x", MIDDLE, -HOUR,
	    HOUR, NULL, NULL, 0, "a.example" },
	{ "IPv4", "192.0.2.7", "IP:192.0.2.7", "x", ROOT, -HOUR, HOUR, NULL,
	    NULL, 0, "" },
	{ "IPv6", "[2001:db8::1]", "IP:2001:db8::1", "x", ROOT, -HOUR, HOUR,
	    NULL, NULL, 0, "" },
	{ "wrong host", "c.example", "DNS:a.example", "x", ROOT, -HOUR, HOUR,
	    NULL, "hostname mismatch", 0, "" },
	{ "wildcard, two labels", "a.b.c.example", "DNS:*.c.example", "x",
	    ROOT, -HOUR, HOUR, NULL, "hostname mismatch", 0, "" },
	{ "wildcard, no label", "c.example", "DNS:*.c.example", "x", ROOT,
	    -HOUR, HOUR, NULL, "hostname mismatch", 0, "" },
	{ "partial wildcard", "foo.c.example", "DNS:f*.c.example", "x", ROOT,
	    -HOUR, HOUR, NULL, "hostname mismatch", 0, "" },
	{ "common name only", "a.example", NULL, "a.example", ROOT, -HOUR,
	    HOUR, NULL, "hostname mismatch", 0, "" },
	{ "address as a DNS name", "192.0.2.7", "DNS:192.0.2.7", "x", ROOT,
	    -HOUR, HOUR, NULL, "IP address mismatch", 0, "" },
	{ "another address", "192.0.2.7", "IP:192.0.2.8", "x", ROOT, -HOUR,
	    HOUR, NULL, "IP address mismatch", 0, "" },
	{ "expired", "a.example", "DNS:a.example", "x", ROOT, -2 * HOUR,
	    -HOUR, NULL, "certificate has expired", 0, "" },
	{ "not yet valid", "a.example", "DNS:a.example", "x", ROOT, HOUR,
	    2 * HOUR, NULL, "certificate is not yet valid", 0, "" },
	{ "self-signed", "a.example", "DNS:a.example", "x", SELF, -HOUR, HOUR,
	    NULL, "self-signed certificate", 0, "" },
	{ "missing intermediate", "a.example", "DNS:a.example", "x",
	    MIDDLE_MISSING, -HOUR, HOUR, NULL,
	    "unable to get local issuer certificate", 0, "" },
	{ "expired intermediate", "a.example", "DNS:a.example", "x",
	    OLD_MIDDLE, -HOUR, HOUR, NULL, "certificate has expired", 1, "" },
	{ "unknown root, shown", "a.example", "DNS:a.example", "x", FOREIGN,
	    -HOUR, HOUR, NULL, "self-signed certificate in certificate chain",
	    1, "" },
	{ "for clients only", "a.example", "DNS:a.example", "x", ROOT, -HOUR,
	    HOUR, "clientAuth", "unsuitable certificate purpose", 0, "" },
};

static struct tls_stream *
stream_to(const struct world *w, const char *host)
{
	struct bytes text = BYTES_INIT(300);
	struct tls_stream *s;
	struct err e = ERR_INIT;
	struct url u;

	assert_int_equal(bytes_printf(&text, NULL, "https://%s/", host), 0);
	assert_int_equal(url_parse(&u, (const char *)text.p, text.len, &e),
	    0);
	assert_int_equal(tls_stream_new(&s, w->ctx, &u, &e), 0);
	bytes_free(&text);
	return s;
}

static void
make_leaf(const struct world *w, size_t i, struct kit_cert *leaf)
{
	struct kit_spec spec = { .cn = rows[i].cn, .san = rows[i].san,
	    .eku = rows[i].eku, .from = rows[i].from, .to = rows[i].to };

	switch (rows[i].issuer) {
	case ROOT:
		spec.issuer = &w->root;
		break;
	case MIDDLE:
	case MIDDLE_MISSING:
		spec.issuer = &w->middle;
		break;
	case OLD_MIDDLE:
		spec.issuer = &w->old_middle;
		break;
	case FOREIGN:
		spec.issuer = &w->foreign;
		break;
	case SELF:
		break;
	}
	kit_cert_make(leaf, &spec);
}

static void
test_rows(void **state)
{
	const struct world *w = *state;
	const struct tls_failure *f;
	struct tls_stream *s;
	struct kit_cert leaf;
	struct kit_peer peer;
	size_t i;

	for (i = 0; i < TEST_COUNT(rows); i++) {
		struct kit_peer_opts o = { .is_server = true, .leaf = &leaf };

		make_leaf(w, i, &leaf);
		if (rows[i].issuer == MIDDLE)
			o.extra = &w->middle;
		else if (rows[i].issuer == OLD_MIDDLE)
			o.extra = &w->old_middle;
		else if (rows[i].issuer == FOREIGN)
			o.extra = &w->foreign;
		kit_peer_make(&peer, &o);
		s = stream_to(w, rows[i].host);
		kit_pump(s, &peer, 4096, NULL);
		f = tls_stream_failure(s);
		if (rows[i].reason == NULL) {
			if (!tls_stream_is_established(s))
				fail_msg("%s: %s", rows[i].name, f->reason);
			assert_string_equal(peer.sni, rows[i].sni);
			assert_string_equal(f->token, "");
		} else {
			assert_false(tls_stream_is_established(s));
			assert_string_equal(f->token,
			    "tls_certificate_error");
			if (strcmp(f->reason, rows[i].reason) != 0 ||
			    f->depth != rows[i].depth)
				fail_msg("%s: %s at depth %d", rows[i].name,
				    f->reason, f->depth);
			/* the server hears of it */
			assert_true(peer.has_failed);
		}
		tls_stream_free(&s);
		kit_peer_free(&peer);
		kit_cert_free(&leaf);
	}
}

/* TLS 1.2 is spoken; 1.1 and 1.0 are refused cleanly. */
static void
test_versions(void **state)
{
	static const struct {
		int		 version;
		const char	*name;	/* NULL: refused */
	} versions[] = {
		{ TLS1_3_VERSION, "TLSv1.3" },
		{ TLS1_2_VERSION, "TLSv1.2" },
		{ TLS1_1_VERSION, NULL },
		{ TLS1_VERSION, NULL },
	};
	const struct world *w = *state;
	struct kit_peer_opts o = { .is_server = true };
	struct tls_facts facts;
	struct tls_stream *s;
	struct kit_cert leaf;
	struct kit_peer peer;
	struct err e = ERR_INIT;
	size_t i, k;
	uint8_t c;

	make_leaf(w, 0, &leaf);
	o.leaf = &leaf;
	for (i = 0; i < TEST_COUNT(versions); i++) {
		o.min = o.max = versions[i].version;
		kit_peer_make(&peer, &o);
		s = stream_to(w, "a.example");
		kit_pump(s, &peer, 999, NULL);
		if (versions[i].name == NULL) {
			assert_false(tls_stream_is_established(s));
			assert_true(peer.has_failed);
			assert_true(tls_stream_read(s, &c, 1, &k, &e) ==
			    ERR_PEER);
			assert_true(strcmp(tls_stream_failure(s)->token,
			    "tls_protocol_error") == 0 ||
			    strcmp(tls_stream_failure(s)->token,
			    "tls_alert_received") == 0);
			assert_true(tls_stream_failure(s)->reason[0] != '\0');
		} else {
			assert_int_equal(tls_stream_facts(s, &facts, &e), 0);
			assert_string_equal(facts.version, versions[i].name);
			assert_string_equal(facts.alpn, "");
			assert_true(strncmp(facts.cipher, "TLS_", 4) == 0);
			assert_int_equal(facts.chain, 1);
		}
		tls_stream_free(&s);
		kit_peer_free(&peer);
	}
	kit_cert_free(&leaf);
}

static void
test_alpn(void **state)
{
	const struct world *w = *state;
	struct kit_peer_opts o = { .is_server = true };
	struct bytes der = BYTES_INIT(4096);
	struct tls_facts facts;
	struct tls_stream *s;
	struct kit_cert leaf;
	struct kit_peer peer;
	struct err e = ERR_INIT;
	uint8_t *want = NULL;
	int n;

	make_leaf(w, 5, &leaf);
	o.leaf = &leaf;
	o.extra = &w->middle;
	o.alpn = "\x02h2\x08http/1.1";
	kit_peer_make(&peer, &o);
	s = stream_to(w, "a.example");
	kit_pump(s, &peer, 999, NULL);
	assert_int_equal(tls_stream_facts(s, &facts, &e), 0);
	assert_string_equal(facts.alpn, "http/1.1");
	/* the chain as it was shown, leaf first */
	assert_int_equal(facts.chain, 2);
	n = i2d_X509(w->middle.cert, &want);
	assert_int_equal(tls_stream_peer_cert(s, 1, &der, &e), 0);
	assert_int_equal(der.len, n);
	assert_memory_equal(der.p, want, der.len);
	assert_int_equal(tls_stream_peer_cert(s, 2, &der, &e), ERR_NOENT);
	OPENSSL_free(want);
	bytes_free(&der);
	tls_stream_free(&s);
	kit_peer_free(&peer);
	kit_cert_free(&leaf);
}

/* Not TLS at all, a peer that stops, one that ends. */
static void
test_no_handshake(void **state)
{
	static const struct {
		const char	*bytes;
		bool		 eof;
		int		 want;
		const char	*token;
	} talk[] = {
		{ "HTTP/1.1 400 Bad Request\r\n\r\n", false, ERR_PEER,
		    "tls_protocol_error" },
		{ "SSH-2.0-OpenSSH_9.2p1\r\n", false, ERR_PEER,
		    "tls_protocol_error" },
		{ "", false, ERR_AGAIN, "" },
		{ "\x16\x03\x03", false, ERR_AGAIN, "" },
		{ "", true, ERR_EOF, "connection_terminated" },
		{ "\x16\x03\x03\x00\x7a", true, ERR_EOF,
		    "connection_terminated" },
		{ "\x15\x03\x03\x00\x02\x02\x28", false, ERR_PEER,
		    "tls_alert_received" },
	};
	/* strlen does not do for bytes with NULs */
	static const size_t lengths[] = { 28, 23, 0, 3, 0, 5, 7 };
	const struct world *w = *state;
	struct tls_stream *s;
	struct err e = ERR_INIT;
	uint8_t buf[4096];
	size_t i, k;

	for (i = 0; i < TEST_COUNT(talk); i++) {
		s = stream_to(w, "a.example");
		assert_true(tls_stream_drain(s, buf, sizeof(buf)) > 0);
		assert_int_equal(tls_stream_feed(s, talk[i].bytes, lengths[i],
		    &k, &e), 0);
		assert_int_equal(k, lengths[i]);
		if (talk[i].eof)
			tls_stream_feed_eof(s);
		assert_int_equal(tls_stream_read(s, buf, 1, &k, &e),
		    talk[i].want);
		assert_int_equal(tls_stream_read(s, buf, 1, &k, &e),
		    talk[i].want);
		assert_string_equal(tls_stream_failure(s)->token,
		    talk[i].token);
		assert_int_equal(tls_stream_failure(s)->alert, i == 6 ? 40 :
		    -1);
		assert_int_equal(tls_stream_write(s, "x", 1, &k, &e),
		    talk[i].want);
		assert_false(tls_stream_is_readable(s));
		tls_stream_free(&s);
	}
}

/* Tickets, key updates and data in one stream, byte by byte; reading stops
 * when there is nothing, however often it is asked. */
static void
test_post_handshake(void **state)
{
	const struct world *w = *state;
	struct kit_peer_opts o = { .is_server = true };
	struct bytes got = BYTES_INIT(100000);
	struct tls_stream *s;
	struct kit_cert leaf;
	struct kit_peer peer;
	char line[32];
	uint8_t c;
	size_t k;
	int i;

	make_leaf(w, 0, &leaf);
	o.leaf = &leaf;
	kit_peer_make(&peer, &o);
	s = stream_to(w, "a.example");
	kit_pump(s, &peer, 4096, &got);
	assert_true(tls_stream_is_established(s));
	for (i = 0; i < 20; i++) {
		if (i % 3 == 0)
			assert_int_equal(SSL_new_session_ticket(peer.ssl), 1);
		assert_int_equal(SSL_do_handshake(peer.ssl), 1);
		if (i % 4 == 0)
			assert_int_equal(SSL_key_update(peer.ssl,
			    SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(SSL_do_handshake(peer.ssl), 1);
		kit_pump(s, &peer, 1, &got);
		assert_false(tls_stream_is_readable(s));
		assert_int_equal(tls_stream_read(s, &c, 1, &k, NULL),
		    ERR_AGAIN);
		(void)snprintf(line, sizeof(line), "line %d\n", i);
		assert_true(SSL_write(peer.ssl, line, (int)strlen(line)) > 0);
		kit_pump(s, &peer, 1, &got);
		/* the answer to a key update goes out before our bytes */
		assert_int_equal(tls_stream_write(s, "ok", 2, &k, NULL), 0);
		kit_pump(s, &peer, 7, &got);
		assert_int_equal(SSL_read(peer.ssl, line, sizeof(line)), 2);
	}
	assert_true(got.len > 20 * 7 && memcmp(got.p, "line 0\nline 1\n",
	    14) == 0);
	assert_true(SSL_shutdown(peer.ssl) >= 0);
	kit_pump(s, &peer, 1, &got);
	assert_int_equal(tls_stream_end(s), TLS_END_NOTIFIED);
	bytes_free(&got);
	tls_stream_free(&s);
	kit_peer_free(&peer);
	kit_cert_free(&leaf);
}

static void
test_roots(void **state)
{
	const struct world *w = *state;
	struct tls_context *c = NULL;
	struct err e = ERR_INIT;
	char *path = test_path(w->folder, "none.pem");

	assert_int_equal(tls_context_new_public(&c, path, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "none.pem");
	assert_null(c);
	test_file_write(path, "no certificate\n", 15);
	assert_int_equal(tls_context_new_public(&c, path, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "no certificates in PEM");
	free(path);
	/* the system's, whether it has any or not */
	assert_int_equal(tls_context_new_public(&c, NULL, &e), 0);
	tls_context_free(&c);
	assert_null(c);
	tls_context_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_alpn),
		cmocka_unit_test(test_no_handshake),
		cmocka_unit_test(test_post_handshake),
		cmocka_unit_test(test_roots),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
