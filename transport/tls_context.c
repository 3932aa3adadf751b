/*
 * tls_context.c - versions, certificates and trust of each role.  All that
 * is read from files is read here, before a process confines itself.
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "transport/tls_private.h"

/* Debian's bundle in one file: the system's folder would be searched, file
 * by file, during handshakes. */
#define CA_BUNDLE	"/etc/ssl/certs/ca-certificates.crt"

enum { SPAN_MAX_S = 7 * 86400 };	/* of a relay's leaf */

/* ALPN's form: a length byte and the name (RFC 7301). */
static const unsigned char alpn[] = "\x08http/1.1";
enum { ALPN_LEN = sizeof(alpn) - 1 };

static int
crypto_fail(struct err *e, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return err_set(e, ERR_CRYPTO, "TLS: %s: %s", what,
	    reason == NULL ? "no reason given" : reason);
}

/* What every role has in common. */
static int
context_new(struct tls_context **out, enum tls_role role, int min_version,
    struct err *e)
{
	struct tls_context *c;

	ERR_clear_error();
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a TLS context");
	c->refs = 1;
	c->role = role;
	c->ctx = SSL_CTX_new(role == TLS_RELAY ? TLS_server_method() :
	    TLS_client_method());
	if (c->ctx == NULL ||
	    SSL_CTX_set_min_proto_version(c->ctx, min_version) != 1 ||
	    SSL_CTX_set_max_proto_version(c->ctx, TLS1_3_VERSION) != 1) {
		tls_context_free(&c);
		return crypto_fail(e, "new context");
	}
	(void)SSL_CTX_set_options(c->ctx, SSL_OP_NO_TICKET |
	    SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	(void)SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS |
	    SSL_MODE_NO_AUTO_CHAIN);
	(void)SSL_CTX_set_read_ahead(c->ctx, 0);
	*out = c;
	return 0;
}

struct tls_context *
tls_context_ref(struct tls_context *c)
{
	c->refs++;
	return c;
}

void
tls_context_free(struct tls_context **cp)
{
	struct tls_context *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	assert(c->refs > 0);
	if (--c->refs > 0)
		return;
	SSL_CTX_free(c->ctx);
	EVP_PKEY_free(c->pin);
	free(c);
}

/* ---- the relay ---- */

/* A client that offers no ALPN at all is refused here: the next callback is
 * not called for it. */
static int
relay_on_hello(SSL *ssl, int *alert, void *arg)
{
	const unsigned char *p;
	size_t n;

	(void)arg;
	if (SSL_client_hello_get0_ext(ssl,
	    TLSEXT_TYPE_application_layer_protocol_negotiation, &p, &n) == 1)
		return SSL_CLIENT_HELLO_SUCCESS;
	*alert = SSL_AD_NO_APPLICATION_PROTOCOL;
	return SSL_CLIENT_HELLO_ERROR;
}

static int
relay_on_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
    const unsigned char *in, unsigned inlen, void *arg)
{
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, outlen, alpn, ALPN_LEN, in,
	    inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

int
tls_context_new_relay(struct tls_context **out, const uint8_t *cert,
    size_t cert_len, const struct secret *seed, struct err *e)
{
	struct tls_context *c = NULL;
	EVP_PKEY *key = NULL;
	int r;

	if (cert_len > 65536 || seed->len != TLS_KEY_LEN)
		return err_set(e, ERR_ARG, "TLS: leaf certificate or key has "
		    "the wrong size");
	if ((r = context_new(&c, TLS_RELAY, TLS1_3_VERSION, e)) != 0)
		return r;
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed->p,
	    seed->len);
	if (key == NULL ||
	    SSL_CTX_use_certificate_ASN1(c->ctx, (int)cert_len, cert) != 1 ||
	    SSL_CTX_use_PrivateKey(c->ctx, key) != 1 ||
	    SSL_CTX_check_private_key(c->ctx) != 1 ||
	    SSL_CTX_set_num_tickets(c->ctx, 0) != 1 ||
	    SSL_CTX_set_max_early_data(c->ctx, 0) != 1 ||
	    SSL_CTX_set_recv_max_early_data(c->ctx, 0) != 1) {
		r = crypto_fail(e, "leaf certificate and its key");
		goto out;
	}
	SSL_CTX_set_client_hello_cb(c->ctx, relay_on_hello, NULL);
	SSL_CTX_set_alpn_select_cb(c->ctx, relay_on_alpn, NULL);
	*out = c;
	c = NULL;
out:
	EVP_PKEY_free(key);
	tls_context_free(&c);
	return r;
}

int
tls_context_leaf_pub(const struct secret *seed, uint8_t pub[TLS_KEY_LEN],
    struct err *e)
{
	uint8_t sk[crypto_sign_SECRETKEYBYTES];

	if (seed->len != crypto_sign_SEEDBYTES)
		return err_set(e, ERR_ARG, "TLS: a leaf's seed has %d bytes",
		    crypto_sign_SEEDBYTES);
	(void)crypto_sign_seed_keypair(pub, sk, seed->p);
	WIPE(sk);
	return 0;
}

/* ---- its client ---- */

/* NULL: the leaf is right; else why not. */
static const char *
pinned_judge(const struct tls_context *c, X509 *cert, int shown)
{
	time_t now = (time_t)clock_wall_s(c->clock);
	const ASN1_TIME *before = X509_get0_notBefore(cert);
	const ASN1_TIME *after = X509_get0_notAfter(cert);
	EVP_PKEY *key = X509_get0_pubkey(cert);
	int days, seconds;

	if (shown != 1)
		return "relay shows more than one certificate";
	if (X509_verify(cert, c->pin) != 1)
		return "certificate is not signed by the pinned identity";
	if (X509_cmp_time(before, &now) != -1)
		return "certificate is not yet valid (check the clock)";
	if (X509_cmp_time(after, &now) != 1)
		return "certificate has expired (check the clock)";
	if (ASN1_TIME_diff(&days, &seconds, before, after) != 1 || days < 0 ||
	    seconds < 0 || (int64_t)days * 86400 + seconds > SPAN_MAX_S)
		return "certificate is valid for more than 7 days";
	if (X509_check_ca(cert) != 0)
		return "certificate is a CA's";
	if (X509_check_purpose(cert, X509_PURPOSE_SSL_SERVER, 0) != 1)
		return "certificate is not for a server";
	if (key == NULL || EVP_PKEY_eq(key, c->pin) == 1)
		return "certificate is for the pinned key itself";
	return NULL;
}

static int
pinned_on_verify(X509_STORE_CTX *x, void *arg)
{
	const struct tls_context *c = arg;
	SSL *ssl = X509_STORE_CTX_get_ex_data(x,
	    SSL_get_ex_data_X509_STORE_CTX_idx());
	X509 *cert = X509_STORE_CTX_get0_cert(x);
	const char *why = "relay shows no certificate";

	if (cert != NULL)
		why = pinned_judge(c, cert,
		    sk_X509_num(X509_STORE_CTX_get0_untrusted(x)));
	ERR_clear_error();
	if (why == NULL)
		return 1;
	tls_stream_blame(ssl, why, 0);
	X509_STORE_CTX_set_error(x, X509_V_ERR_APPLICATION_VERIFICATION);
	return 0;
}

int
tls_context_new_pinned(struct tls_context **out, const struct vkey *pin,
    const struct clock *clock, struct err *e)
{
	struct tls_context *c = NULL;
	int r;

	if ((r = context_new(&c, TLS_PINNED, TLS1_3_VERSION, e)) != 0)
		return r;
	c->clock = clock;
	c->pin = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, pin->pub,
	    sizeof(pin->pub));
	/* unlike its kin, this one returns 0 for success */
	if (c->pin == NULL ||
	    SSL_CTX_set_alpn_protos(c->ctx, alpn, ALPN_LEN) != 0) {
		tls_context_free(&c);
		return crypto_fail(e, "pinned identity");
	}
	SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(c->ctx, pinned_on_verify, c);
	*out = c;
	return 0;
}

/* ---- public servers ---- */

static int
public_on_verify(int ok, X509_STORE_CTX *x)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(x,
	    SSL_get_ex_data_X509_STORE_CTX_idx());

	if (!ok)
		tls_stream_blame(ssl, X509_verify_cert_error_string(
		    X509_STORE_CTX_get_error(x)),
		    X509_STORE_CTX_get_error_depth(x));
	return ok;
}

static int
public_load_roots(struct tls_context *c, const char *file, struct err *e)
{
	struct stat st;

	if (file == NULL && access(CA_BUNDLE, R_OK) == 0)
		file = CA_BUNDLE;
	if (file == NULL) {
		if (SSL_CTX_set_default_verify_paths(c->ctx) != 1)
			return crypto_fail(e, "the system's roots");
		return 0;
	}
	if (stat(file, &st) == -1 || access(file, R_OK) == -1)
		return err_set(e, ERR_ARG, "roots in %s: %s", file,
		    strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_ARG, "roots in %s: not a regular file",
		    file);
	if (SSL_CTX_load_verify_file(c->ctx, file) == 1)
		return 0;
	ERR_clear_error();
	return err_set(e, ERR_ARG, "roots in %s: no certificates in PEM",
	    file);
}

int
tls_context_new_public(struct tls_context **out, const char *ca_file,
    struct err *e)
{
	struct tls_context *c = NULL;
	int r;

	if ((r = context_new(&c, TLS_PUBLIC, TLS1_2_VERSION, e)) != 0)
		return r;
	if (SSL_CTX_set_alpn_protos(c->ctx, alpn, ALPN_LEN) != 0)
		r = crypto_fail(e, "ALPN");
	else
		r = public_load_roots(c, ca_file, e);
	if (r != 0) {
		tls_context_free(&c);
		return r;
	}
	SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, public_on_verify);
	*out = c;
	return 0;
}

int
tls_context_check_roots(const char *ca_file, struct err *e)
{
	struct tls_context *c = NULL;
	const int r = tls_context_new_public(&c, ca_file, e);

	tls_context_free(&c);
	return r;
}
