/*
 * segment_read.h - one segment's frames, streamed through a window.
 *
 * Takes no lock and believes no announced length: memory is the window
 * (256 KiB) and, for the small frame types, their payload.  A file that
 * grows under the reader is read as far as it is whole.  Each frame's check
 * is verified and its payload parsed; what a frame means for the log (its
 * index, root, signature) is scan.h's business.
 */
#ifndef AMBER_ARCHIVE_SEGMENT_READ_H
#define AMBER_ARCHIVE_SEGMENT_READ_H

#include "archive/segment.h"

struct segment_read;

/* One frame; pointers live until the next call. */
struct segment_frame {
	enum segment_type	type;
	uint64_t		index;
	uint64_t		offset;		/* of the head in the file */
	uint64_t		end;		/* offset behind the payload */
	uint64_t		payload_off;
	uint64_t		payload_len;
	/* Entries only. */
	struct merkle_hash	leaf;
	uint8_t			leaf_data[SEAL_LEAF_LEN];
	size_t			leaf_len;
	uint8_t			digest[32];	/* ciphertext or manifest */
	uint64_t		cipher_len;	/* types 1 and 5 */
	struct seal_head	head;		/* types 1 and 5 */
	/* Types 2..5: the payload itself. */
	const uint8_t		*payload;
};

/* Reads and checks the header; fd stays the caller's and is read by
 * position.  ERR_FORMAT (also for ERR_EOF within the header), ERR_SYS. */
int	segment_read_new(struct segment_read **out, int fd, struct err *e);
/* The same where the header's bytes are damaged and what they said is known:
 * they are not looked at. */
int	segment_read_known(struct segment_read **out, int fd,
	const struct segment_header *header, struct err *e);
void	segment_read_free(struct segment_read **rp);
const struct segment_header *segment_read_header(const struct segment_read *r);

/*
 * The next frame.  ERR_EOF: the file ends here; ERR_AGAIN: it ends inside a
 * frame (a growing tail, or a torn one); ERR_FORMAT: a bad frame, the
 * message says what, segment_read_where() where; ERR_SYS: reading failed.
 * After any of them the position stays, so a growing file may be asked again.
 */
int	segment_read_next(struct segment_read *r, struct segment_frame *f,
	struct err *e);
/* The next frame that is no checkpoint: from a segment's first frame on, its
 * first entry, before which a checkpoint may come.  Codes as above. */
int	segment_read_entry(struct segment_read *r, struct segment_frame *f,
	struct err *e);
/* For callers that do not tell the place themselves: prepends the offset of
 * a frame that was just refused.  Returns rc, which decides if there is one;
 * 0 and other codes are left as they are. */
int	segment_read_where(const struct segment_read *r, int rc, struct err *e);
/* Where the next frame begins; and a jump, for a reader that knows. */
uint64_t segment_read_offset(const struct segment_read *r);
void	segment_read_seek(struct segment_read *r, uint64_t off);

/* A record's whole payload into out (cleared first), for opening.  Checks
 * nothing again. */
int	segment_read_payload(struct segment_read *r,
	const struct segment_frame *f, struct bytes *out, struct err *e);

/*
 * The closing frames of a closed segment, found from its end without a scan:
 * a trailer that ends the file and the checkpoint frame right before it.
 * ERR_NOENT when the file does not end so.  Neither signature nor root is
 * judged: trailer->tree and note are.
 */
int	segment_read_closing(struct segment_read *r,
	struct segment_trailer *trailer, struct bytes *note,
	uint64_t *note_off, struct err *e);

#endif
