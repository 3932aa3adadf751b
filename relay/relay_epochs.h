/*
 * relay_epochs.h - which epoch serves, as the relay sees it.
 *
 *	warming -> ready -> expired
 *
 * An epoch comes from the supervisor with its manifest and key, is published
 * to the archive, and serves from the moment that is durable until its
 * not_after, even when no other follows.  What was admitted before goes on
 * under its lease; then the archive forgets the key.  The key's copy here
 * ends with the call that hands it over.
 */
#ifndef AMBER_RELAY_RELAY_EPOCHS_H
#define AMBER_RELAY_RELAY_EPOCHS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct message_epoch;
struct relay_epochs;
struct service;

enum relay_epoch_state {
	RELAY_EPOCH_WARMING,	/* none has served yet */
	RELAY_EPOCH_READY,
	RELAY_EPOCH_EXPIRED,	/* one has, and none does now */
};

struct relay_epochs_info {
	enum relay_epoch_state	state;
	uint64_t		number;		/* newest; 0: none */
	int64_t			not_before, not_after;
	uint8_t			puzzle[32];
};

/* on_published tells the supervisor.  lease_ms: how long an admitted request
 * may take after not_after. */
int	relay_epochs_new(struct relay_epochs **out, struct service *s,
	uint64_t lease_ms, void (*on_published)(uint64_t number, void *arg),
	void *arg, struct err *e);
void	relay_epochs_free(struct relay_epochs **ep);
/* An epoch that is there already keeps its lease if that is longer: requests
 * were admitted under it. */
void	relay_epochs_set_lease(struct relay_epochs *ep, uint64_t lease_ms);
/* ERR_* of archive_publish(): a manifest or key that does not fit.  When the
 * disk is full it is published as soon as there is room. */
int	relay_epochs_add(struct relay_epochs *ep,
	const struct message_epoch *m, struct err *e);
/* While it is on, new requests are refused whatever the epoch's state. */
void	relay_epochs_drain(struct relay_epochs *ep);
void	relay_epochs_info(const struct relay_epochs *ep,
	struct relay_epochs_info *out);
const char *relay_epochs_word(enum relay_epoch_state s);

#endif
