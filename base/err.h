/*
 * err.h - what went wrong, in a form that a person can act on.
 *
 * A function that can fail returns 0 or a negative ERR_* and takes, as its
 * last parameter, a struct err that may be NULL.  The place of failure fills
 * it by err_set() or err_sys(); callers on the way up prepend context by
 * err_ctx(); only callbacks and main print it.  Nothing here allocates, so
 * running out of memory can always be reported.  Messages are cut at their
 * cap and never hold a secret or raw bytes of a peer.
 */
#ifndef AMBER_BASE_ERR_H
#define AMBER_BASE_ERR_H

enum {
	ERR_NOMEM = -1,		/* memory or another resource ran out */
	ERR_SYS = -2,		/* a system call failed; see err.sys */
	ERR_ARG = -3,		/* a value given by the user is not usable */
	ERR_FORMAT = -4,	/* bytes from outside break their format */
	ERR_LIMIT = -5,		/* a cap was reached */
	ERR_EOF = -6,		/* the end came before what was expected */
	ERR_AUTH = -7,		/* signature, tag, commitment or key mismatch */
	ERR_EXIST = -8,		/* it exists and must not be overwritten */
	ERR_NOENT = -9,		/* it does not exist */
	ERR_PERM = -10,		/* unsafe mode, owner, or not permitted */
	ERR_TIMEOUT = -11,	/* a deadline passed */
	ERR_AGAIN = -12,	/* nothing now; try again after an event */
	ERR_CANCEL = -13,	/* stopped by request (signal, close) */
	ERR_PHASE = -14,	/* not possible in the present state */
	ERR_UNSUPPORTED = -15,	/* this build or machine cannot do it */
	ERR_LOCKED = -16,	/* another process holds the lock */
	ERR_CORRUPT = -17,	/* stored data contradicts itself */
	ERR_PEER = -18,		/* the peer ended or broke the protocol */
	ERR_CRYPTO = -19,	/* a cryptographic library refused to work */
};

enum { ERR_MSG_MAX = 512 };	/* bytes, with the NUL */

struct err {
	int	code;		/* 0 or ERR_* */
	int	sys;		/* errno for ERR_SYS and kin, else 0 */
	char	msg[ERR_MSG_MAX];
};

#define ERR_INIT { 0, 0, "" }

/* Forget what e holds.  e may be NULL, here and below. */
void	err_clear(struct err *e);

/* Fill e and return code, so that "return err_set(e, ...)" reads well. */
int	err_set(struct err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same for a failed system call: takes errno, appends its text, and
 * picks the code: ENOMEM -> ERR_NOMEM, ENOENT -> ERR_NOENT, EEXIST ->
 * ERR_EXIST, EACCES and EPERM -> ERR_PERM, everything else ERR_SYS.
 * errno itself is left as it was.
 */
int	err_sys(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Prepend "context: " to the message.  When it no longer fits, the tail of
 * the oldest text is cut and marked by "...". */
void	err_ctx(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A short name of the code ("format", "limit", ...), for machines. */
const char *err_name(int code);

/* "prog: message" and a newline on stderr, control characters escaped. */
void	err_print(const struct err *e, const char *prog);

#endif
