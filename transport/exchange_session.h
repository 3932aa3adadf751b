/*
 * exchange_session.h - a session of the outer exchange as the owner of its
 * stream (the inner TLS) sees it: hooks it gives, and what it may call.
 *
 * Downstream bytes are pulled by on_read, straight into slices, when a poll
 * waits for them; so nothing is buffered here, and an owner that makes its
 * bytes late (encrypts on demand) holds less.  Upstream bytes are pushed, and
 * what the owner does not take is kept within the upload window.
 *
 * Every function here may be called from inside any hook.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_SESSION_H
#define AMBER_TRANSPORT_EXCHANGE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct exchange_session;

/* Why a session ended. */
enum exchange_end {
	EXCHANGE_END_CONFIRMED,		/* the client has the end */
	EXCHANGE_END_KILLED,		/* x=1 */
	EXCHANGE_END_CLOSED,		/* exchange_session_close() */
	EXCHANGE_END_HANDSHAKE,		/* not established in time */
	EXCHANGE_END_IDLE,		/* no request under way for too long */
	EXCHANGE_END_SILENT,		/* no exchange for too long */
	EXCHANGE_END_SHUTDOWN,		/* exchange_core_free() */
	EXCHANGE_ENDS
};
const char *exchange_session_end_name(enum exchange_end why);

struct exchange_hooks {
	/* A new session.  Sets *user.  ERR_*: it is answered 503. */
	int	 (*on_open)(struct exchange_session *s, void **user, void *arg,
	    struct err *e);
	/* Upload bytes in order; returns how many it took.  If less than n,
	 * it is asked again after exchange_session_resume(). */
	size_t	 (*on_upload)(void *user, const uint8_t *p, size_t n);
	/* The upload ended and all of it was taken; once. */
	void	 (*on_upload_end)(void *user);
	/* Fills up to n bytes of the stream, the next in order; sets *end
	 * when none will follow, now or later (also when it returns 0).
	 * 0 without end: nothing now; exchange_session_wake() says when. */
	size_t	 (*on_read)(void *user, uint8_t *p, size_t n, bool *end);
	/* Bytes on_read could give now; for q=. */
	uint64_t (*on_pending)(void *user);
	/* The session is gone and s is not to be used again.  Last. */
	void	 (*on_close)(void *user, enum exchange_end why);
	/* Something is to be done: call exchange_core_turn() at the end of
	 * this turn of the loop.  Called once until then. */
	void	 (*on_wanted)(void *arg);
	void	 *arg;
};

/* on_read has bytes, or the end. */
void	exchange_session_wake(struct exchange_session *s);
/* The owner takes upload again: on_upload follows in the next turn. */
void	exchange_session_resume(struct exchange_session *s);
/* The inner handshake is done: handshake_ms no longer counts. */
void	exchange_session_established(struct exchange_session *s);
/* Is a request under way?  idle_ms counts while not. */
void	exchange_session_set_busy(struct exchange_session *s, bool busy);
/* End it abruptly: waiting exchanges and later ones get 410.  on_close comes
 * in the next turn, and no other hook before it. */
void	exchange_session_close(struct exchange_session *s);
/* Its id in a form for debug logs: 8 hex digits of a keyed hash. */
void	exchange_session_tag(const struct exchange_session *s, char out[9]);

#endif
