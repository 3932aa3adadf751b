/*
 * relay_handed.h - the epochs that the supervisor hands over with the start,
 * to a relay that comes back into them.
 *
 * They are here before the archive is opened, so that its recovery can try by
 * their keys what was written and never signed; then they go where all epochs
 * go.  A key is in locked memory, and wiped when it is handed on.
 */
#ifndef AMBER_RELAY_RELAY_HANDED_H
#define AMBER_RELAY_RELAY_HANDED_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct recovery_key;
struct relay_epochs;
struct relay_handed;
struct vkey;

/* n messages MESSAGE_EPOCH from fd, before there is a loop; each may take
 * wait_ms.  ERR_PEER for another message. */
int	relay_handed_receive(struct relay_handed **out, int fd, size_t n,
	int wait_ms, struct err *e);
/* The keys that are their epochs', by manifests that pin signed: no other may
 * judge a record.  Borrowed; they end with h. */
const struct recovery_key *relay_handed_keys(struct relay_handed *h,
    const struct vkey *pin, size_t *n);
/* To ep, each in its turn, then frees; one that is refused is logged, and its
 * absence shows in the state.  *hp may be NULL. */
void	relay_handed_give(struct relay_handed **hp, struct relay_epochs *ep);
/* Wipes and frees.  *hp may be NULL. */
void	relay_handed_free(struct relay_handed **hp);

#endif
