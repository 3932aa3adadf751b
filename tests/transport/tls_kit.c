/*
 * tls_kit.c - see tls_kit.h.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/test_util.h"
#include "tests/transport/tls_kit.h"

static void
add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(ext);
	assert_int_equal(X509_add_ext(cert, ext, -1), 1);
	X509_EXTENSION_free(ext);
}

void
kit_cert_make(struct kit_cert *out, const struct kit_spec *spec)
{
	static long serial = 1000;
	X509 *cert = X509_new(), *issuer;
	X509_NAME *name;
	EVP_PKEY *signer;

	assert_non_null(cert);
	out->cert = cert;
	out->key = spec->key;
	if (spec->key != NULL)
		assert_int_equal(EVP_PKEY_up_ref(spec->key), 1);
	else
		out->key = EVP_EC_gen("P-256");
	assert_non_null(out->key);
	issuer = spec->issuer == NULL ? cert : spec->issuer->cert;
	signer = spec->issuer == NULL ? out->key : spec->issuer->key;
	assert_int_equal(X509_set_version(cert, 2), 1);
	assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(cert),
	    ++serial), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert),
	    spec->from));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), spec->to));
	name = X509_get_subject_name(cert);
	if (spec->cn != NULL)
		assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN",
		    MBSTRING_ASC, (const unsigned char *)spec->cn, -1, -1,
		    0), 1);
	assert_int_equal(X509_set_issuer_name(cert,
	    X509_get_subject_name(issuer)), 1);
	assert_int_equal(X509_set_pubkey(cert, out->key), 1);
	add_ext(cert, issuer, NID_basic_constraints,
	    spec->is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
	if (spec->san != NULL)
		add_ext(cert, issuer, NID_subject_alt_name, spec->san);
	if (spec->eku != NULL)
		add_ext(cert, issuer, NID_ext_key_usage, spec->eku);
	assert_true(X509_sign(cert, signer,
	    EVP_PKEY_get_id(signer) == EVP_PKEY_ED25519 ? NULL :
	    EVP_sha256()) > 0);
}

void
kit_cert_free(struct kit_cert *c)
{
	X509_free(c->cert);
	EVP_PKEY_free(c->key);
	c->cert = NULL;
	c->key = NULL;
}

void
kit_cert_save(const struct kit_cert *c, const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(PEM_write_X509(f, c->cert), 1);
	assert_int_equal(fclose(f), 0);
}

static int
peer_on_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
    const unsigned char *in, unsigned inlen, void *arg)
{
	const unsigned char *mine = arg;
	unsigned char *chosen;

	(void)ssl;
	if (SSL_select_next_proto(&chosen, outlen, mine,
	    (unsigned)strlen(arg), in, inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static void
peer_use(SSL_CTX *ctx, const struct kit_peer_opts *o)
{
	union {
		const char *c;
		void *v;
	} alpn = { o->alpn };

	if (o->leaf != NULL) {
		assert_int_equal(SSL_CTX_use_certificate(ctx, o->leaf->cert),
		    1);
		assert_int_equal(SSL_CTX_use_PrivateKey(ctx, o->leaf->key),
		    1);
	}
	if (o->extra != NULL)
		assert_int_equal(SSL_CTX_add1_chain_cert(ctx, o->extra->cert),
		    1);
	if (o->alpn != NULL && o->is_server)
		SSL_CTX_set_alpn_select_cb(ctx, peer_on_alpn, alpn.v);
	else if (o->alpn != NULL)
		assert_int_equal(SSL_CTX_set_alpn_protos(ctx,
		    (const unsigned char *)o->alpn,
		    (unsigned)strlen(o->alpn)), 0);
}

void
kit_peer_make(struct kit_peer *p, const struct kit_peer_opts *o)
{
	memset(p, 0, sizeof(*p));
	p->ctx = SSL_CTX_new(o->is_server ? TLS_server_method() :
	    TLS_client_method());
	assert_non_null(p->ctx);
	SSL_CTX_set_security_level(p->ctx, 0);	/* it may be an old server */
	assert_int_equal(SSL_CTX_set_min_proto_version(p->ctx, o->min), 1);
	assert_int_equal(SSL_CTX_set_max_proto_version(p->ctx, o->max), 1);
	if (o->max != 0 && o->max < TLS1_2_VERSION)
		assert_int_equal(SSL_CTX_set_cipher_list(p->ctx,
		    "ALL:@SECLEVEL=0"), 1);
	peer_use(p->ctx, o);
	p->ssl = SSL_new(p->ctx);
	p->in = BIO_new(BIO_s_mem());
	p->out = BIO_new(BIO_s_mem());
	assert_true(p->ssl != NULL && p->in != NULL && p->out != NULL);
	(void)BIO_set_mem_eof_return(p->in, -1);
	(void)BIO_set_mem_eof_return(p->out, -1);
	SSL_set_bio(p->ssl, p->in, p->out);
	if (o->is_server)
		SSL_set_accept_state(p->ssl);
	else
		SSL_set_connect_state(p->ssl);
}

void
kit_peer_free(struct kit_peer *p)
{
	SSL_free(p->ssl);
	SSL_CTX_free(p->ctx);
	memset(p, 0, sizeof(*p));
}

void
kit_peer_step(struct kit_peer *p)
{
	const char *sni;
	int r;

	if (p->is_done || p->has_failed)
		return;
	ERR_clear_error();
	if ((r = SSL_do_handshake(p->ssl)) == 1) {
		p->is_done = true;
		sni = SSL_get_servername(p->ssl, TLSEXT_NAMETYPE_host_name);
		(void)snprintf(p->sni, sizeof(p->sni), "%s",
		    sni == NULL ? "" : sni);
	} else if (SSL_get_error(p->ssl, r) != SSL_ERROR_WANT_READ) {
		p->has_failed = true;
		p->code = ERR_peek_error();
	}
	ERR_clear_error();
}

/* Reads all there is into got; true if anything happened. */
static bool
read_all(struct tls_stream *s, struct bytes *got)
{
	uint8_t buf[3000];
	bool any = false;
	size_t k;
	int r;

	if (got == NULL && tls_stream_is_established(s))
		return false;
	for (;;) {
		r = tls_stream_read(s, buf, sizeof(buf), &k, NULL);
		if (r != 0)
			return any;
		any = true;
		assert_true(k > 0);
		assert_non_null(got);
		assert_int_equal(bytes_append(got, buf, k, NULL), 0);
	}
}

/* Feeds all of p, reading whenever it is full or its owner wants. */
static void
feed_all(struct tls_stream *s, const uint8_t *p, size_t n, struct bytes *got)
{
	size_t used;
	int r;

	while (n > 0) {
		r = tls_stream_feed(s, p, n, &used, NULL);
		if (r != 0)
			return;		/* failed: as a socket would be */
		p += used;
		n -= used;
		(void)read_all(s, got);
		if (used == 0)
			assert_false(got == NULL &&
			    tls_stream_is_established(s));
	}
}

void
kit_pump(struct tls_stream *s, struct kit_peer *p, size_t size,
    struct bytes *got)
{
	uint8_t buf[65536];
	size_t k, spins;
	bool moved;
	int n;

	assert_true(size <= sizeof(buf));
	for (spins = 0;; spins++) {
		assert_true(spins < 1000000);
		moved = false;
		while ((k = tls_stream_drain(s, buf, size)) > 0) {
			assert_int_equal(BIO_write(p->in, buf, (int)k),
			    (int)k);
			kit_peer_step(p);
			moved = true;
		}
		kit_peer_step(p);
		while ((n = BIO_read(p->out, buf, (int)size)) > 0) {
			feed_all(s, buf, (size_t)n, got);
			moved = true;
		}
		if (!moved)
			return;
	}
}

void
kit_pump_two(struct tls_stream *a, struct tls_stream *b, size_t size,
    struct bytes *a_got, struct bytes *b_got)
{
	uint8_t buf[65536];
	size_t k, spins;
	bool moved;

	assert_true(size <= sizeof(buf));
	for (spins = 0;; spins++) {
		assert_true(spins < 1000000);
		moved = false;
		while ((k = tls_stream_drain(a, buf, size)) > 0) {
			feed_all(b, buf, k, b_got);
			moved = true;
		}
		while ((k = tls_stream_drain(b, buf, size)) > 0) {
			feed_all(a, buf, k, a_got);
			moved = true;
		}
		if (!moved)
			return;
	}
}
