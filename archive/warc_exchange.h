/*
 * warc_exchange.h - one capture as WARC records: response, request, and a
 * metadata record with the receipt and all that WARC has no field for.
 *
 * A response that came chunked is written without its chunks, and its head
 * is changed to match (RFC 9112 section 7.1.3); the head as it came goes
 * into the metadata, so nothing is lost.  What was cut short says so.  A
 * request that was never sent is no WARC record: it stands in the metadata.
 */
#ifndef AMBER_ARCHIVE_WARC_EXCHANGE_H
#define AMBER_ARCHIVE_WARC_EXCHANGE_H

#include <stdbool.h>

#include "archive/capture.h"
#include "archive/warc.h"

struct warc_exchange {
	const struct capture	*capture;
	struct merkle_hash	 leaf;
	uint64_t		 index, epoch;
	const char		*info_id;	/* the warcinfo's */
	const void		*receipt;	/* NULL: not signed yet, */
	size_t			 receipt_len;
	bool			 is_unproven;	/* or lost by damage */
};

int	warc_exchange_put(struct warc *w, const struct warc_exchange *x,
	struct err *e);

struct warc_info {
	const char	*id;
	int64_t		 date_ms;
	const char	*software;
	const char	*origin, *vkey;
	const void	*checkpoint;	/* a signed note; NULL: none */
	size_t		 checkpoint_len;
};

/* The first record of a file. */
int	warc_exchange_put_info(struct warc *w, const struct warc_info *i,
	struct err *e);

/* The address of "192.0.2.1:443" or "[2001:db8::1]:443"; false for anything
 * else. */
bool	warc_exchange_address(char out[64], const struct capture_text *peer);

#endif
