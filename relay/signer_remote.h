/*
 * signer_remote.h - the log's signer on the other end of a socket.
 *
 * The relay's committer asks and blocks; the supervisor, which holds the
 * identity, answers from its own tree.  A call waits at most
 * SIGNER_REMOTE_MS: past that, or when the supervisor is gone, the call
 * fails with ERR_TIMEOUT or ERR_PEER and so does every later one, since a
 * late answer could be taken for another's.
 */
#ifndef AMBER_RELAY_SIGNER_REMOTE_H
#define AMBER_RELAY_SIGNER_REMOTE_H

struct err;
struct signer;

enum { SIGNER_REMOTE_MS = 10000 };

/* fd becomes the signer's when this succeeds; freed by signer_free(). */
int	signer_remote_new(struct signer **out, int fd, struct err *e);

#endif
