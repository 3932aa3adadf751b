/*
 * exchange_table.h - session ids: those open, and those that ended lately.
 *
 * Clients choose ids, so the hash is keyed (SipHash with a random key): no
 * choice of ids makes it slow.  All memory is taken when it is made.  An id
 * that ended stays known for a while, so that a late repeat of exchange 0
 * opens nothing.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_TABLE_H
#define AMBER_TRANSPORT_EXCHANGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_query.h"

struct err;
struct exchange_session;
struct exchange_table;

/* At most sessions open, and ids known in all (open ones included). */
int	exchange_table_new(struct exchange_table **out, size_t sessions,
	size_t ids, struct err *e);
void	exchange_table_free(struct exchange_table **tp);
/* Another number of sessions, as far as there are ids. */
void	exchange_table_set_sessions(struct exchange_table *t,
	size_t sessions);

/* The open session, or NULL; then *ended says whether it ended lately. */
struct exchange_session *exchange_table_find(struct exchange_table *t,
	const uint8_t id[EXCHANGE_ID_LEN], bool *ended);
bool	exchange_table_has_room(const struct exchange_table *t);
/* id must be unknown and room there be (asserted). */
void	exchange_table_add(struct exchange_table *t,
	const uint8_t id[EXCHANGE_ID_LEN], struct exchange_session *s);
/* The session of an open id ended; remember the id until then (ms). */
void	exchange_table_end(struct exchange_table *t,
	const uint8_t id[EXCHANGE_ID_LEN], uint64_t until_ms);
/* Forget ids whose time is over; until_ms never goes back. */
void	exchange_table_expire(struct exchange_table *t, uint64_t now_ms);

size_t	exchange_table_count(const struct exchange_table *t);
size_t	exchange_table_count_ended(const struct exchange_table *t);
uint64_t exchange_table_hash(const struct exchange_table *t,
	const uint8_t id[EXCHANGE_ID_LEN]);

#endif
