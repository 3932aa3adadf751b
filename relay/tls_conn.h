/*
 * tls_conn.h - a tls_stream on a connected socket of the loop.
 *
 * Moves bytes between a plain bufferevent and a tls_stream and tells its
 * owner what happened.  Every callback may free the connection; nothing is
 * called after that.  Backpressure both ways: reading stops while paused
 * (at most TLS_STREAM_IN_MAX and TLS_CONN_BUFFER bytes wait then), and
 * tls_conn_write() takes no more than the socket's buffer may hold.
 */
#ifndef AMBER_RELAY_TLS_CONN_H
#define AMBER_RELAY_TLS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct event_base;
struct tls_conn;
struct tls_context;
struct tls_stream;
struct url;

enum { TLS_CONN_BUFFER = 64 * 1024 };	/* bytes of ciphertext, either way */

enum tls_conn_end {
	TLS_CONN_CLOSED,	/* the peer said close_notify */
	TLS_CONN_TRUNCATED,	/* end of file without it */
	TLS_CONN_RESET,		/* the socket failed */
	TLS_CONN_FAILED,	/* TLS failed: tls_stream_failure() */
};

struct tls_conn_cbs {
	void	(*on_established)(struct tls_conn *c, void *arg);
	void	(*on_read)(struct tls_conn *c, const uint8_t *p, size_t n,
			void *arg);
	/* After a write that was cut short: there is room again. */
	void	(*on_room)(struct tls_conn *c, void *arg);
	/* The last one; the connection stays to be freed. */
	void	(*on_end)(struct tls_conn *c, enum tls_conn_end why,
			void *arg);
	void	*arg;
};

/* Takes fd over (non-blocking) when it succeeds.  to as in tls_stream_new();
 * cbs are copied.  Nothing is called before this returns. */
int	tls_conn_new(struct tls_conn **out, struct event_base *base, int fd,
	struct tls_context *ctx, const struct url *to,
	const struct tls_conn_cbs *cbs, struct err *e);
/* Closes the socket at once; what was not sent yet is lost. */
void	tls_conn_free(struct tls_conn **cp);
/* Another owner, for a connection that is kept. */
void	tls_conn_set_cbs(struct tls_conn *c, const struct tls_conn_cbs *cbs);

/* *used <= n; less means: wait for on_room.  ERR_PEER when it has failed. */
int	tls_conn_write(struct tls_conn *c, const void *p, size_t n,
	size_t *used, struct err *e);
void	tls_conn_pause(struct tls_conn *c, bool paused);
const struct tls_stream *tls_conn_stream(const struct tls_conn *c);
int	tls_conn_fd(const struct tls_conn *c);
/* Did the peer speak before the owner could say anything? */
bool	tls_conn_has_early(const struct tls_conn *c);

#endif
