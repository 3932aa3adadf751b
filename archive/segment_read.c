/*
 * segment_read.c - one segment's frames, by position, through a window.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/digest.h"
#include "archive/segment_read.h"
#include "base/bytes.h"
#include "base/err.h"

enum {
	WINDOW = 256 << 10,
	/* A trailer of 63 hashes and a note, with their heads. */
	CLOSING_MAX = 2 * SEGMENT_HEAD_LEN + SEGMENT_TRAILER_MAX +
	    SEGMENT_NOTE_MAX,
};

struct segment_read {
	int			 fd;
	struct segment_header	 header;
	uint64_t		 off;		/* of the next frame */
	struct digest		*digest;
	struct bytes		 small;		/* payload of types 2..5 */
	uint64_t		 at;		/* file offset of window[0] */
	size_t			 len;
	uint8_t			 window[WINDOW];
};

/* Up to n bytes at off; *got < n only at the file's end. */
static int
read_at(int fd, uint8_t *p, size_t n, uint64_t off, size_t *got,
    struct err *e)
{
	*got = 0;
	while (*got < n) {
		ssize_t r = pread(fd, p + *got, n - *got,
		    (off_t)(off + *got));

		if (r == -1 && errno == EINTR)
			continue;
		if (r == -1)
			return err_sys(e, "read at offset %llu",
			    (unsigned long long)(off + *got));
		if (r == 0)
			break;
		*got += (size_t)r;
	}
	return 0;
}

/* *p points at the bytes at off; *n of them (up to want <= WINDOW). */
static int
look(struct segment_read *r, uint64_t off, size_t want, const uint8_t **p,
    size_t *n, struct err *e)
{
	int rc;

	if (off < r->at || off + want > r->at + r->len) {
		r->len = 0;
		r->at = off;
		if ((rc = read_at(r->fd, r->window, WINDOW, off, &r->len,
			 e)) != 0)
			return rc;
	}
	*p = r->window + (off - r->at);
	*n = r->len - (size_t)(off - r->at);
	if (*n > want)
		*n = want;
	return 0;
}

int
segment_read_known(struct segment_read **out, int fd,
    const struct segment_header *header, struct err *e)
{
	struct segment_read *r;
	int rc;

	if ((r = malloc(sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to read a segment");
	r->fd = fd;
	r->header = *header;
	r->off = SEGMENT_HEADER_LEN;
	r->digest = NULL;
	r->at = 0;
	r->len = 0;
	bytes_init(&r->small, SEGMENT_MANIFEST_MAX);
	if ((rc = digest_new(&r->digest, e)) != 0)
		segment_read_free(&r);
	*out = r;
	return rc;
}

int
segment_read_new(struct segment_read **out, int fd, struct err *e)
{
	static const struct segment_header none;
	struct segment_read *r = NULL;
	const uint8_t *p;
	size_t n;
	int rc;

	if ((rc = segment_read_known(&r, fd, &none, e)) != 0 ||
	    (rc = look(r, 0, SEGMENT_HEADER_LEN, &p, &n, e)) != 0)
		goto out;
	if (n < SEGMENT_HEADER_LEN) {
		rc = err_set(e, ERR_FORMAT,
		    "the segment ends within its header");
		goto out;
	}
	if ((rc = segment_get_header(&r->header, p, e)) != 0)
		goto out;
	*out = r;
	r = NULL;
out:
	segment_read_free(&r);
	return rc;
}

void
segment_read_free(struct segment_read **rp)
{
	struct segment_read *r = *rp;

	if (r == NULL)
		return;
	digest_free(&r->digest);
	bytes_free(&r->small);
	free(r);
	*rp = NULL;
}

const struct segment_header *
segment_read_header(const struct segment_read *r)
{
	return &r->header;
}

uint64_t
segment_read_offset(const struct segment_read *r)
{
	return r->off;
}

void
segment_read_seek(struct segment_read *r, uint64_t off)
{
	r->off = off;
	r->len = 0;		/* what was read may have grown old */
}

static int
cut_short(struct err *e)
{
	return err_set(e, ERR_AGAIN, "the file ends inside the frame");
}

/* The ciphertext's digest, window by window. */
static int
hash_cipher(struct segment_read *r, struct segment_frame *f, struct err *e)
{
	uint64_t off = f->payload_off + f->head.cipher_off;
	uint64_t left = f->head.cipher_len;
	const uint8_t *p;
	size_t n;
	int rc;

	digest_begin(r->digest);
	while (left > 0) {
		size_t want = left < WINDOW ? (size_t)left : WINDOW;

		/* What the window still holds first, then whole windows. */
		if (off >= r->at && off < r->at + r->len &&
		    want > r->at + r->len - off)
			want = (size_t)(r->at + r->len - off);
		if ((rc = look(r, off, want, &p, &n, e)) != 0)
			return rc;
		if (n == 0)
			return cut_short(e);
		digest_add(r->digest, p, n);
		off += n;
		left -= n;
	}
	return digest_end(r->digest, f->digest, e);
}

static int
take_record(struct segment_read *r, struct segment_frame *f, struct err *e)
{
	const uint8_t *p;
	size_t n, want;
	int rc;

	want = f->payload_len < SEAL_HEAD_MAX ? (size_t)f->payload_len :
						SEAL_HEAD_MAX;
	if ((rc = look(r, f->payload_off, want, &p, &n, e)) != 0)
		return rc;
	if (n < want)
		return cut_short(e);
	if ((rc = seal_parse(&f->head, p, n, (size_t)f->payload_len, e)) != 0 ||
	    (rc = hash_cipher(r, f, e)) != 0)
		return rc;
	f->cipher_len = f->head.cipher_len;
	return 0;
}

/* Types 2..5: the whole payload into small. */
static int
take_small(struct segment_read *r, struct segment_frame *f, struct err *e)
{
	uint64_t off = f->payload_off, left = f->payload_len;
	const uint8_t *p;
	size_t n;
	int rc;

	bytes_clear(&r->small);
	while (left > 0) {
		size_t want = left < WINDOW ? (size_t)left : WINDOW;

		if ((rc = look(r, off, want, &p, &n, e)) != 0)
			return rc;
		if (n == 0)
			return cut_short(e);
		if ((rc = bytes_append(&r->small, p, n, e)) != 0)
			return rc;
		off += n;
		left -= n;
	}
	/* Never NULL, so that an empty payload is one too. */
	f->payload = r->small.p == NULL ? r->window : r->small.p;
	if (f->type == SEGMENT_PRUNED) {
		rc = segment_get_pruned(&f->head, f->digest, f->payload,
		    r->small.len, e);
		f->cipher_len = f->head.cipher_len;
		return rc;
	}
	return digest_of(f->digest, f->payload, r->small.len, e);
}

static void
make_leaf(struct segment_frame *f)
{
	if (f->type == SEGMENT_MANIFEST) {
		segment_manifest_leaf(f->leaf_data, f->digest);
		f->leaf_len = SEGMENT_MANIFEST_LEAF_LEN;
	} else {
		seal_leaf_data(f->leaf_data, f->head.protect, f->digest);
		f->leaf_len = SEAL_LEAF_LEN;
	}
	merkle_leaf(&f->leaf, f->leaf_data, f->leaf_len);
}

/* Does the file reach the frame's end?  So that a giant length costs no
 * reading. */
static int
check_reach(struct segment_read *r, const struct segment_frame *f,
    struct err *e)
{
	struct stat st;

	if (f->end <= r->at + r->len)
		return 0;
	if (fstat(r->fd, &st) == -1)
		return err_sys(e, "fstat");
	return f->end > (uint64_t)st.st_size ? cut_short(e) : 0;
}

static int
take_frame(struct segment_read *r, struct segment_frame *f, struct err *e)
{
	uint8_t raw[SEGMENT_HEAD_LEN];
	struct segment_head h;
	const uint8_t *p;
	size_t n;
	int rc;

	if ((rc = look(r, r->off, SEGMENT_HEAD_LEN, &p, &n, e)) != 0)
		return rc;
	if (n == 0)
		return err_set(e, ERR_EOF, "the segment ends here");
	if (n < SEGMENT_HEAD_LEN)
		return cut_short(e);
	memcpy(raw, p, sizeof(raw));
	if ((rc = segment_get_head(&h, raw, e)) != 0)
		return rc;
	f->type = h.type;
	f->index = h.index;
	f->payload_off = f->offset + SEGMENT_HEAD_LEN;
	f->payload_len = h.len;
	f->end = f->payload_off + h.len;
	if ((rc = check_reach(r, f, e)) != 0 ||
	    (rc = f->type == SEGMENT_RECORD ? take_record(r, f, e) :
					      take_small(r, f, e)) != 0)
		return rc;
	if (segment_is_entry(f->type))
		make_leaf(f);
	if (!segment_check_head(raw, r->header.first,
		segment_is_entry(f->type) ? f->leaf.b : f->digest))
		return err_set(e, ERR_FORMAT,
		    "the frame's check does not hold");
	return 0;
}

int
segment_read_next(struct segment_read *r, struct segment_frame *f,
    struct err *e)
{
	int rc;

	memset(f, 0, sizeof(*f));
	f->offset = r->off;
	rc = take_frame(r, f, e);
	if (rc == 0)
		r->off = f->end;
	else
		r->len = 0;	/* look again, should it be asked again */
	return rc;
}

int
segment_read_entry(struct segment_read *r, struct segment_frame *f,
    struct err *e)
{
	int rc;

	do {
		rc = segment_read_next(r, f, e);
	} while (rc == 0 && f->type == SEGMENT_CHECKPOINT);
	return rc;
}

int
segment_read_where(const struct segment_read *r, int rc, struct err *e)
{
	if (rc == ERR_FORMAT || rc == ERR_CORRUPT || rc == ERR_AGAIN)
		err_ctx(e, "offset %llu", (unsigned long long)r->off);
	return rc;
}

int
segment_read_payload(struct segment_read *r, const struct segment_frame *f,
    struct bytes *out, struct err *e)
{
	uint8_t *at;
	size_t got;
	int rc;

	bytes_clear(out);
	if ((rc = bytes_reserve(out, (size_t)f->payload_len, &at, e)) != 0 ||
	    (rc = read_at(r->fd, at, (size_t)f->payload_len, f->payload_off,
		 &got, e)) != 0)
		return rc;
	if (got < f->payload_len)
		return cut_short(e);
	bytes_added(out, got);
	return 0;
}

/* ---- the end of a closed segment ---- */

/* A whole frame of the type that ends at end, which n bytes at p precede;
 * its place in p, or n when there is none. */
static size_t
find_last(struct segment_read *r, const uint8_t *p, size_t n,
    enum segment_type type, struct segment_head *h)
{
	uint8_t d[DIGEST_LEN];

	for (size_t i = n; i-- > 0;) {
		if (n - i < SEGMENT_HEAD_LEN || p[i] != 0xa5 ||
		    segment_get_head(h, p + i, NULL) != 0 || h->type != type ||
		    h->len != n - i - SEGMENT_HEAD_LEN)
			continue;
		if (digest_of(d, p + i + SEGMENT_HEAD_LEN, (size_t)h->len,
			NULL) == 0 &&
		    segment_check_head(p + i, r->header.first, d))
			return i;
	}
	return n;
}

static int
not_closed(struct err *e)
{
	return err_set(e, ERR_NOENT, "the segment is not closed");
}

int
segment_read_closing(struct segment_read *r, struct segment_trailer *trailer,
    struct bytes *note, uint64_t *note_off, struct err *e)
{
	struct segment_head th, nh;
	uint64_t from = SEGMENT_HEADER_LEN;
	const uint8_t *p;
	struct stat st;
	size_t n, t, c;
	int rc;

	if (fstat(r->fd, &st) == -1)
		return err_sys(e, "fstat");
	if ((uint64_t)st.st_size <= from)
		return not_closed(e);
	if ((uint64_t)st.st_size - from > CLOSING_MAX)
		from = (uint64_t)st.st_size - CLOSING_MAX;
	r->len = 0;
	if ((rc = look(r, from, (size_t)((uint64_t)st.st_size - from), &p, &n,
		 e)) != 0)
		return rc;
	if ((t = find_last(r, p, n, SEGMENT_TRAILER, &th)) == n ||
	    (c = find_last(r, p, t, SEGMENT_CHECKPOINT, &nh)) == t ||
	    nh.index != th.index ||
	    segment_get_trailer(trailer, th.index, p + t + SEGMENT_HEAD_LEN,
		(size_t)th.len, NULL) != 0)
		return not_closed(e);
	bytes_clear(note);
	*note_off = from + c;
	return bytes_append(note, p + c + SEGMENT_HEAD_LEN, (size_t)nh.len, e);
}
