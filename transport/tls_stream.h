/*
 * tls_stream.h - one TLS connection without a socket.
 *
 * OpenSSL over memory BIOs, for three roles: the relay's inner server, its
 * client, and the relay (or a client on the outside) towards a public HTTPS
 * server.  The caller moves bytes:
 *
 *	network -> feed() -> read() -> plaintext
 *	plaintext -> write() -> drain() -> network
 *
 * After each feed(), and after each pause of its own, the caller reads until
 * ERR_AGAIN and then drains until 0: nothing else makes the handshake, key
 * updates and alerts go on.  While it does not read, feed() takes at most
 * TLS_STREAM_IN_MAX bytes, and nothing is lost: is_readable() says that
 * read() would give bytes or an end now, without any new byte from the
 * network.
 *
 * Failures are final.  What the peer is told (an alert) waits in drain().
 *
 * Wiped by OpenSSL when freed: traffic keys, the handshake's secrets.
 */
#ifndef AMBER_TRANSPORT_TLS_STREAM_H
#define AMBER_TRANSPORT_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;
struct tls_context;
struct tls_stream;
struct url;

enum {
	TLS_STREAM_IN_MAX = 40 * 1024,	/* bytes fed and not yet read */
	TLS_STREAM_OUT_MAX = 64 * 1024,	/* ciphertext that stops write() */
	TLS_REASON_MAX = 96,
};

/* to: whom a public context must find at the other end (name by SNI and DNS
 * names, address by IP names); NULL for the other roles. */
int	tls_stream_new(struct tls_stream **out, struct tls_context *ctx,
	const struct url *to, struct err *e);
void	tls_stream_free(struct tls_stream **sp);

/* Ciphertext from the network; *used may be less than n (0 when full): feed
 * the rest after reading.  ERR_PHASE after feed_eof(), a stream's failure. */
int	tls_stream_feed(struct tls_stream *s, const void *p, size_t n,
	size_t *used, struct err *e);
/* The network ended; what was fed before can still be read. */
void	tls_stream_feed_eof(struct tls_stream *s);

/*
 * Plaintext, *got > 0.  ERR_AGAIN: nothing until more is fed.  ERR_EOF: the
 * peer ended, see tls_stream_end().  Others: failed, see _failure().
 */
int	tls_stream_read(struct tls_stream *s, void *p, size_t n, size_t *got,
	struct err *e);
/* Would read() give something other than ERR_AGAIN right now?  (It may say
 * so for a record that is not application data; then read() clears it.) */
bool	tls_stream_is_readable(const struct tls_stream *s);

/* Takes *used <= n bytes; 0 with ERR_AGAIN during the handshake or while
 * TLS_STREAM_OUT_MAX waits in drain().  Allowed after the peer's end. */
int	tls_stream_write(struct tls_stream *s, const void *p, size_t n,
	size_t *used, struct err *e);
/* Up to n bytes of ciphertext for the network; 0 when there are none. */
size_t	tls_stream_drain(struct tls_stream *s, void *p, size_t n);
size_t	tls_stream_pending(const struct tls_stream *s);	/* to be drained */

/* Queues close_notify: we write no more; reading goes on. */
int	tls_stream_shutdown(struct tls_stream *s, struct err *e);
/* Ask for fresh keys, ours and (with ask_peer) the peer's; TLS 1.3. */
int	tls_stream_update_keys(struct tls_stream *s, bool ask_peer,
	struct err *e);

bool	tls_stream_is_established(const struct tls_stream *s);

enum tls_end {
	TLS_END_NONE,		/* the peer has not ended */
	TLS_END_NOTIFIED,	/* close_notify came */
	TLS_END_TRUNCATED,	/* end of file without it */
};
enum tls_end tls_stream_end(const struct tls_stream *s);

/* Why it failed; token is an RFC 9209 error ("tls_certificate_error",
 * "tls_alert_received", "tls_protocol_error", "connection_terminated") or ""
 * while nothing failed.  reason is OpenSSL's text, no byte of the peer. */
struct tls_failure {
	const char	*token;
	char		 reason[TLS_REASON_MAX];
	int		 depth;		/* of the certificate; -1: none */
	int		 alert;		/* number received; -1: none */
};
const struct tls_failure *tls_stream_failure(const struct tls_stream *s);

/* ---- facts, once established ---- */

struct tls_facts {
	const char	*version;	/* "TLSv1.3" */
	const char	*cipher;	/* "TLS_AES_128_GCM_SHA256" */
	const char	*alpn;		/* "http/1.1" or "" */
	size_t		 chain;		/* certificates the peer showed */
};
int	tls_stream_facts(const struct tls_stream *s, struct tls_facts *out,
	struct err *e);
/* Appends the DER of the peer's i-th certificate, 0 the leaf. */
int	tls_stream_peer_cert(const struct tls_stream *s, size_t i,
	struct bytes *out, struct err *e);

#endif
