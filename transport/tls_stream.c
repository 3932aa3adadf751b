/*
 * tls_stream.c - the state machine between two memory BIOs.
 *
 * OpenSSL reads ahead of nothing: what was fed lies in the BIO until read()
 * asks for it, and a partial record inside OpenSSL is never more than what
 * the next byte fed completes.  So "anything to read?" is the BIO's fill,
 * and no byte gets stuck.
 */
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/tls_private.h"
#include "transport/url.h"

enum { RECORD_MAX = 16384 };	/* plaintext of a record (RFC 8446 5.1) */

#define TOKEN_CERT	"tls_certificate_error"		/* RFC 9209 2.3 */
#define TOKEN_ALERT	"tls_alert_received"
#define TOKEN_PROTOCOL	"tls_protocol_error"
#define TOKEN_ENDED	"connection_terminated"

struct tls_stream {
	struct tls_context	*ctx;
	SSL			*ssl;
	BIO			*in;		/* owned by ssl, as is out */
	BIO			*out;
	bool			 is_established;
	bool			 has_eof;	/* of the network */
	bool			 is_shut;	/* we write no more */
	int			 code;		/* ERR_*, once failed */
	enum tls_end		 end;
	struct tls_failure	 failure;
	const char		*blame;		/* of a certificate */
	int			 blame_depth;
};

/* ---- failing ---- */

static int
stream_fail(struct tls_stream *s, const char *token, const char *reason,
    int code, struct err *e)
{
	s->code = code;
	s->failure.token = token;
	(void)snprintf(s->failure.reason, sizeof(s->failure.reason), "%s",
	    reason);
	ERR_clear_error();
	return err_set(e, code, "TLS: %s", s->failure.reason);
}

static int
stream_again(const struct tls_stream *s, struct err *e)
{
	return err_set(e, s->code, "TLS: %s", s->failure.reason);
}

/* OpenSSL said SSL_ERROR_SSL (or worse): find out why. */
static int
stream_diagnose(struct tls_stream *s, struct err *e)
{
	const unsigned long code = ERR_peek_error();
	const int reason = ERR_GET_REASON(code);
	const char *text = ERR_reason_error_string(code);

	if (text == NULL)
		text = "broken for no stated reason";
	if (s->blame != NULL) {
		s->failure.depth = s->blame_depth;
		return stream_fail(s, TOKEN_CERT, s->blame, ERR_AUTH, e);
	}
	if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
	    reason >= SSL_AD_REASON_OFFSET &&
	    reason < SSL_AD_REASON_OFFSET + 256) {
		s->failure.alert = reason - SSL_AD_REASON_OFFSET;
		return stream_fail(s, TOKEN_ALERT, text, ERR_PEER, e);
	}
	if (reason == ERR_R_MALLOC_FAILURE)
		return stream_fail(s, TOKEN_PROTOCOL, text, ERR_NOMEM, e);
	return stream_fail(s, TOKEN_PROTOCOL, text, ERR_PEER, e);
}

void
tls_stream_blame(SSL *ssl, const char *reason, int depth)
{
	struct tls_stream *s = SSL_get_app_data(ssl);

	if (s->blame != NULL)
		return;
	s->blame = reason;
	s->blame_depth = depth;
}

/* ---- making ---- */

/* Whom a public stream must find at the other end. */
static int
stream_expect(struct tls_stream *s, const struct url *to, struct err *e)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(s->ssl);
	int ok;

	X509_VERIFY_PARAM_set_hostflags(param,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
	    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (to->kind == URL_HOST_NAME)
		ok = X509_VERIFY_PARAM_set1_host(param, to->host, 0) == 1 &&
		    SSL_set_tlsext_host_name(s->ssl, to->host) == 1;
	else
		ok = X509_VERIFY_PARAM_set1_ip(param, to->addr,
		    to->kind == URL_HOST_IPV4 ? 4 : 16) == 1;
	if (ok)
		return 0;
	ERR_clear_error();
	return err_set(e, ERR_CRYPTO, "TLS: cannot set the expected name");
}

static int stream_handshake(struct tls_stream *s, struct err *e);

int
tls_stream_new(struct tls_stream **out, struct tls_context *ctx,
    const struct url *to, struct err *e)
{
	struct tls_stream *s;
	int r;

	assert((to != NULL) == (ctx->role == TLS_PUBLIC));
	ERR_clear_error();
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a TLS stream");
	s->ctx = tls_context_ref(ctx);
	s->failure.token = "";
	s->failure.depth = s->failure.alert = -1;
	s->ssl = SSL_new(ctx->ctx);
	s->in = BIO_new(BIO_s_mem());
	s->out = BIO_new(BIO_s_mem());
	if (s->ssl == NULL || s->in == NULL || s->out == NULL) {
		BIO_free(s->in);
		BIO_free(s->out);
		r = err_set(e, ERR_NOMEM, "no memory for a TLS stream");
		goto fail;
	}
	/* an empty one means "later", not the end */
	(void)BIO_set_mem_eof_return(s->in, -1);
	(void)BIO_set_mem_eof_return(s->out, -1);
	SSL_set_bio(s->ssl, s->in, s->out);
	(void)SSL_set_app_data(s->ssl, s);
	if (ctx->role == TLS_RELAY)
		SSL_set_accept_state(s->ssl);
	else
		SSL_set_connect_state(s->ssl);
	if (to != NULL && (r = stream_expect(s, to, e)) != 0)
		goto fail;
	/* a client speaks first */
	if (ctx->role != TLS_RELAY &&
	    (r = stream_handshake(s, e)) != ERR_AGAIN)
		goto fail;
	err_clear(e);
	*out = s;
	return 0;
fail:
	tls_stream_free(&s);
	return r;
}

void
tls_stream_free(struct tls_stream **sp)
{
	struct tls_stream *s = *sp;

	if (s == NULL)
		return;
	SSL_free(s->ssl);
	tls_context_free(&s->ctx);
	free(s);
	*sp = NULL;
}

/* ---- moving ---- */

/* Did both agree on HTTP/1.1?  A public server may leave it open. */
static bool
stream_has_alpn(const struct tls_stream *s)
{
	const unsigned char *p;
	unsigned n;

	SSL_get0_alpn_selected(s->ssl, &p, &n);
	if (n == 0)
		return s->ctx->role == TLS_PUBLIC;
	return n == 8 && memcmp(p, "http/1.1", 8) == 0;
}

/* 0: established; ERR_AGAIN; a failure. */
static int
stream_handshake(struct tls_stream *s, struct err *e)
{
	int r;

	if (s->is_established)
		return 0;
	ERR_clear_error();
	if ((r = SSL_do_handshake(s->ssl)) == 1) {
		if (!stream_has_alpn(s))
			return stream_fail(s, TOKEN_PROTOCOL,
			    "peer does not choose http/1.1", ERR_PEER, e);
		s->is_established = true;
		return 0;
	}
	if (SSL_get_error(s->ssl, r) != SSL_ERROR_WANT_READ)
		return stream_diagnose(s, e);
	if (!s->has_eof)
		return err_set(e, ERR_AGAIN, "TLS handshake is under way");
	s->end = TLS_END_TRUNCATED;
	return stream_fail(s, TOKEN_ENDED,
	    "connection ended during the handshake", ERR_EOF, e);
}

int
tls_stream_feed(struct tls_stream *s, const void *p, size_t n, size_t *used,
    struct err *e)
{
	const size_t have = BIO_ctrl_pending(s->in);
	int k;

	*used = 0;
	if (s->code != 0)
		return stream_again(s, e);
	if (s->has_eof)
		return err_set(e, ERR_PHASE, "TLS: bytes behind the end");
	if (n > TLS_STREAM_IN_MAX - have)
		n = TLS_STREAM_IN_MAX - have;
	if (n == 0)
		return 0;
	if ((k = BIO_write(s->in, p, (int)n)) != (int)n)
		return stream_fail(s, TOKEN_PROTOCOL, "no memory", ERR_NOMEM,
		    e);
	*used = n;
	return 0;
}

void
tls_stream_feed_eof(struct tls_stream *s)
{
	s->has_eof = true;
}

int
tls_stream_read(struct tls_stream *s, void *p, size_t n, size_t *got,
    struct err *e)
{
	int r;

	*got = 0;
	if (s->code != 0)
		return stream_again(s, e);
	if (s->end != TLS_END_NONE)
		return err_set(e, ERR_EOF, "TLS: the peer has ended");
	if ((r = stream_handshake(s, e)) != 0)
		return r;
	ERR_clear_error();
	if ((r = SSL_read_ex(s->ssl, p, n, got)) == 1)
		return 0;
	switch (SSL_get_error(s->ssl, r)) {
	case SSL_ERROR_ZERO_RETURN:
		s->end = TLS_END_NOTIFIED;
		return err_set(e, ERR_EOF, "TLS: the peer has ended");
	case SSL_ERROR_WANT_READ:
		if (!s->has_eof)
			return err_set(e, ERR_AGAIN, "TLS: nothing to read");
		s->end = TLS_END_TRUNCATED;
		return err_set(e, ERR_EOF,
		    "TLS: the connection ended without close_notify");
	default:
		return stream_diagnose(s, e);
	}
}

bool
tls_stream_is_readable(const struct tls_stream *s)
{
	if (s->code != 0 || s->end != TLS_END_NONE)
		return false;
	return SSL_pending(s->ssl) > 0 || BIO_ctrl_pending(s->in) > 0 ||
	    s->has_eof;
}

int
tls_stream_write(struct tls_stream *s, const void *p, size_t n, size_t *used,
    struct err *e)
{
	const uint8_t *at = p;
	size_t k, done;
	int r;

	*used = 0;
	if (s->code != 0)
		return stream_again(s, e);
	if (s->is_shut)
		return err_set(e, ERR_PHASE, "TLS: write after shutdown");
	if (!s->is_established)
		return err_set(e, ERR_AGAIN, "TLS handshake is under way");
	while (n > 0 && BIO_ctrl_pending(s->out) < TLS_STREAM_OUT_MAX) {
		k = n < RECORD_MAX ? n : RECORD_MAX;
		ERR_clear_error();
		if ((r = SSL_write_ex(s->ssl, at, k, &done)) != 1) {
			if (SSL_get_error(s->ssl, r) == SSL_ERROR_WANT_READ)
				break;
			return stream_diagnose(s, e);
		}
		at += done;
		n -= done;
		*used += done;
	}
	if (*used == 0 && n > 0)
		return err_set(e, ERR_AGAIN, "TLS: drain first");
	return 0;
}

size_t
tls_stream_drain(struct tls_stream *s, void *p, size_t n)
{
	const int max = n > INT32_MAX ? INT32_MAX : (int)n;
	int k;

	if (n == 0 || BIO_ctrl_pending(s->out) == 0)
		return 0;
	k = BIO_read(s->out, p, max);
	return k > 0 ? (size_t)k : 0;
}

size_t
tls_stream_pending(const struct tls_stream *s)
{
	return BIO_ctrl_pending(s->out);
}

int
tls_stream_shutdown(struct tls_stream *s, struct err *e)
{
	if (s->code != 0)
		return stream_again(s, e);
	if (s->is_shut)
		return 0;
	s->is_shut = true;
	if (!s->is_established)
		return 0;
	ERR_clear_error();
	if (SSL_shutdown(s->ssl) < 0)
		return stream_diagnose(s, e);
	return 0;
}

int
tls_stream_update_keys(struct tls_stream *s, bool ask_peer, struct err *e)
{
	if (s->code != 0)
		return stream_again(s, e);
	if (!s->is_established || s->is_shut ||
	    SSL_version(s->ssl) != TLS1_3_VERSION)
		return err_set(e, ERR_PHASE, "TLS: no key update now");
	ERR_clear_error();
	if (SSL_key_update(s->ssl, ask_peer ? SSL_KEY_UPDATE_REQUESTED :
	    SSL_KEY_UPDATE_NOT_REQUESTED) != 1 ||
	    SSL_do_handshake(s->ssl) != 1)
		return stream_diagnose(s, e);
	return 0;
}

/* ---- telling ---- */

bool
tls_stream_is_established(const struct tls_stream *s)
{
	return s->is_established;
}

enum tls_end
tls_stream_end(const struct tls_stream *s)
{
	return s->end;
}

const struct tls_failure *
tls_stream_failure(const struct tls_stream *s)
{
	return &s->failure;
}

static int
count(const struct tls_stream *s)
{
	const STACK_OF(X509) *chain = SSL_get_peer_cert_chain(s->ssl);

	return chain == NULL ? 0 : sk_X509_num(chain);
}

int
tls_stream_facts(const struct tls_stream *s, struct tls_facts *out,
    struct err *e)
{
	const unsigned char *p;
	const char *cipher;
	unsigned n;

	if (!s->is_established)
		return err_set(e, ERR_PHASE, "TLS: not established");
	out->version = SSL_get_version(s->ssl);
	cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(s->ssl));
	out->cipher = cipher == NULL ? "" : cipher;
	/* the handshake let no other one pass */
	SSL_get0_alpn_selected(s->ssl, &p, &n);
	out->alpn = n > 0 ? "http/1.1" : "";
	out->chain = (size_t)count(s);
	return 0;
}

int
tls_stream_peer_cert(const struct tls_stream *s, size_t i, struct bytes *out,
    struct err *e)
{
	const STACK_OF(X509) *chain = SSL_get_peer_cert_chain(s->ssl);
	unsigned char *der = NULL;
	int n, r;

	if (i >= (size_t)count(s))
		return err_set(e, ERR_NOENT, "TLS: no such certificate");
	if ((n = i2d_X509(sk_X509_value(chain, (int)i), &der)) <= 0) {
		ERR_clear_error();
		return err_set(e, ERR_NOMEM, "TLS: no memory");
	}
	r = bytes_append(out, der, (size_t)n, e);
	OPENSSL_free(der);
	return r;
}
