/*
 * journal.c - see journal.h.  Knows nothing of hashing; never repairs by
 * guessing: what does not verify is cut.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "timelock/journal.h"

static const uint8_t MAGIC[8] = { 'A', 'M', 'B', 'J', 'R', 'N', '0', '1' };

enum {
	ID_OFF = 8,
	SUM_OFF = ID_OFF + MANIFEST_ID_LEN,	/* in the header */
	BODY_LEN = 4 + 4 + 8 + CHAIN_STATE_LEN,	/* of an entry */
};
/* All milestones there can be, and an entry a minute for four years. */
#define FILE_MAX	((size_t)176 << 20)

struct journal {
	int		 fd;
	uint8_t		 id[MANIFEST_ID_LEN];
	uint64_t	 end;		/* of the last entry written */
	uint64_t	 synced;	/* up to here it is durable */
	bool		 has_base;
	uint64_t	 base_end;	/* where its entry ends, or ended */
	struct journal_entry base;
};

/* ---- bytes ---- */

static void
put_le(uint8_t *p, uint64_t v, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		p[k] = (uint8_t)(v >> (8 * k));
}

static uint64_t
get_le(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

static void
make_header(uint8_t out[JOURNAL_HEADER_LEN], const uint8_t *id)
{
	uint8_t sum[crypto_hash_sha256_BYTES];

	memcpy(out, MAGIC, sizeof(MAGIC));
	memcpy(out + ID_OFF, id, MANIFEST_ID_LEN);
	crypto_hash_sha256(sum, out, SUM_OFF);
	memcpy(out + SUM_OFF, sum, JOURNAL_HEADER_LEN - SUM_OFF);
}

static void
make_sum(uint8_t sum[crypto_hash_sha256_BYTES], const uint8_t *id,
    uint64_t off, const uint8_t *body)
{
	static const char label[] = "amber/1 journal";
	crypto_hash_sha256_state st;
	uint8_t at[8];

	put_le(at, off, sizeof(at));
	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, (const uint8_t *)label,
	    sizeof(label) - 1);
	crypto_hash_sha256_update(&st, id, MANIFEST_ID_LEN);
	crypto_hash_sha256_update(&st, at, sizeof(at));
	crypto_hash_sha256_update(&st, body, BODY_LEN);
	crypto_hash_sha256_final(&st, sum);
	WIPE(st);
}

static void
make_entry(uint8_t out[JOURNAL_ENTRY_LEN], const uint8_t *id, uint64_t off,
    const struct journal_entry *en)
{
	put_le(out, en->segment, 4);
	put_le(out + 4, (uint64_t)en->kind, 4);
	put_le(out + 8, en->step, 8);
	memcpy(out + 16, en->state, CHAIN_STATE_LEN);
	make_sum(out + BODY_LEN, id, off, out);
}

/* ---- reading ---- */

static bool
is_milestone(const struct manifest *m, uint64_t step)
{
	return step == m->params.steps ||
	    (step > 0 && step % m->params.interval == 0);
}

static bool
has_tag(const struct manifest *m, const struct journal_entry *en)
{
	uint8_t tag[CHAIN_TAG_LEN];

	chain_tag(tag, m->params.key, en->segment, en->step, en->state);
	return memcmp(tag, manifest_tag(m, en->segment, chain_milestones(
	    en->step, m->params.interval)), sizeof(tag)) == 0;
}

/* Could a solver have written this one, after what was found so far? */
static bool
entry_is_possible(const struct manifest *m, const struct journal_found *f,
    const struct journal_entry *en)
{
	const bool is_same = f->has_base && en->segment == f->base.segment;
	const bool is_later = !f->has_base || en->segment > f->base.segment;

	if (en->segment < 1 || en->segment > m->params.segments ||
	    en->step > m->params.steps)
		return false;
	switch (en->kind) {
	case JOURNAL_START:
		return is_later && en->step == 0;
	case JOURNAL_PROGRESS:
		/* It may lie before an older one: that one was wrong. */
		return is_same && en->step > f->base.step &&
		    !is_milestone(m, en->step);
	case JOURNAL_VERIFIED:
	case JOURNAL_REPEATED:
		return (is_later || (is_same && en->step > f->base.step)) &&
		    is_milestone(m, en->step) &&
		    (en->kind == JOURNAL_REPEATED || has_tag(m, en));
	}
	return false;
}

/* A start is of our own opening, so it may be wrong; it is in doubt together
 * with what was computed from it. */
static void
take_doubt(struct journal_found *f, const struct journal_entry *en,
    uint64_t off)
{
	if (en->kind == JOURNAL_VERIFIED)
		f->doubt = 0;
	else if (en->kind == JOURNAL_START ||
	    (en->kind == JOURNAL_REPEATED && (f->doubt == 0 ||
	    en->segment != f->base.segment)))
		f->doubt = off;
}

static void
take_entry(struct journal_found *f, const struct journal_entry *en,
    uint64_t off)
{
	f->entries++;
	take_doubt(f, en, off);
	f->has_last = en->kind == JOURNAL_PROGRESS;
	if (f->has_last) {
		f->last = *en;
		return;
	}
	f->has_base = true;
	f->base = *en;
}

static int
scan_header(const uint8_t *p, uint64_t n, const struct manifest *m,
    struct err *e)
{
	uint8_t want[JOURNAL_HEADER_LEN], theirs[JOURNAL_HEADER_LEN];

	make_header(want, m->id);
	if (memcmp(p, want, n < JOURNAL_HEADER_LEN ? (size_t)n :
	    JOURNAL_HEADER_LEN) == 0)
		return 0;
	if (n >= JOURNAL_HEADER_LEN) {
		make_header(theirs, p + ID_OFF);
		if (memcmp(p, theirs, JOURNAL_HEADER_LEN) == 0)
			return err_set(e, ERR_ARG, "this is the journal of "
			    "another puzzle (or the manifest was replaced); "
			    "name another file");
		if (memcmp(p, MAGIC, sizeof(MAGIC)) == 0)
			return err_set(e, ERR_FORMAT, "the journal's header "
			    "is damaged, so it cannot be told which puzzle "
			    "it belongs to; remove it to start anew");
	}
	return err_set(e, ERR_FORMAT, "this is no solver's journal; it is "
	    "left as it is");
}

int
journal_scan(const uint8_t *p, uint64_t n, const struct manifest *m,
    struct journal_found *found, uint64_t *good, struct err *e)
{
	uint8_t sum[crypto_hash_sha256_BYTES];
	struct journal_entry en;
	int r;

	*found = (struct journal_found){ .is_new = n < JOURNAL_HEADER_LEN };
	*good = 0;
	if (n > 0 && (r = scan_header(p, n, m, e)) != 0)
		return r;
	if (found->is_new) {
		found->cut = n;
		return 0;
	}
	for (*good = JOURNAL_HEADER_LEN; n - *good >= JOURNAL_ENTRY_LEN;
	    *good += JOURNAL_ENTRY_LEN) {
		const uint8_t *b = p + *good;

		make_sum(sum, m->id, *good, b);
		if (memcmp(sum, b + BODY_LEN, sizeof(sum)) != 0)
			break;
		en.segment = (uint32_t)get_le(b, 4);
		en.kind = (enum journal_kind)get_le(b + 4, 4);
		en.step = get_le(b + 8, 8);
		memcpy(en.state, b + 16, sizeof(en.state));
		if (!entry_is_possible(m, found, &en))
			break;
		take_entry(found, &en, *good);
	}
	found->cut = n - *good;
	WIPE(en);
	return 0;
}

/* ---- opening ---- */

static int
read_all(const struct journal *j, struct bytes *all, struct err *e)
{
	uint8_t *at = NULL;
	struct stat st;
	int r;

	if (fstat(j->fd, &st) == -1)
		return err_sys(e, "stat");
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_ARG, "not an ordinary file");
	if (st.st_size > 0 && ((r = bytes_reserve(all, (size_t)st.st_size,
	    &at, e)) != 0 || (r = io_pread_full(j->fd, at,
	    (size_t)st.st_size, 0, e)) != 0))
		return r;
	bytes_added(all, (size_t)st.st_size);
	return 0;
}

/* The file is what was found, and good bytes long. */
static void
adopt(struct journal *j, const struct journal_found *found, uint64_t good)
{
	j->end = j->base_end = good;
	j->has_base = found->has_base;
	j->base = found->base;
	j->synced = good;
}

static int
read_and_cut(struct journal *j, const struct manifest *m,
    struct journal_found *found, struct err *e)
{
	struct bytes all = BYTES_INIT(FILE_MAX);
	uint8_t header[JOURNAL_HEADER_LEN];
	uint64_t good = 0;
	int r;

	if ((r = read_all(j, &all, e)) != 0 ||
	    (r = journal_scan(all.p, all.len, m, found, &good, e)) != 0)
		goto out;
	/* Not before it is known to be ours. */
	if (fchmod(j->fd, 0600) == -1) {
		r = err_sys(e, "set mode 0600");
		goto out;
	}
	if (found->cut > 0 && ftruncate(j->fd, (off_t)good) == -1) {
		r = err_sys(e, "cut the damaged tail off");
		goto out;
	}
	if (good == 0) {
		make_header(header, m->id);
		if ((r = io_pwrite_full(j->fd, header, sizeof(header), 0,
		    e)) != 0)
			goto out;
		good = JOURNAL_HEADER_LEN;
	}
	adopt(j, found, good);
	if (found->cut > 0 || found->is_new)
		r = journal_sync(j, e);
out:
	bytes_free(&all);
	return r;
}

int
journal_open(struct journal **out, const char *path, const struct manifest *m,
    struct journal_found *found, struct err *e)
{
	struct journal *j;
	int r;

	if ((j = calloc(1, sizeof(*j))) == NULL)
		return err_set(e, ERR_NOMEM, "journal");
	memcpy(j->id, m->id, sizeof(j->id));
	if ((j->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
	    O_NOCTTY | O_NONBLOCK, 0600)) == -1) {
		r = errno == ELOOP ? err_set(e, ERR_ARG, "a symbolic link, "
		    "which is not followed; name the file itself") :
		    err_sys(e, "open");
		goto out;
	}
	if (flock(j->fd, LOCK_EX | LOCK_NB) == -1) {
		r = errno == EWOULDBLOCK ? err_set(e, ERR_LOCKED, "another "
		    "solver is using it") : err_sys(e, "lock");
		goto out;
	}
	if ((r = read_and_cut(j, m, found, e)) != 0 ||
	    (found->is_new && (r = io_sync_folder_of(path, e)) != 0))
		goto out;
	*out = j;
	j = NULL;			/* handed over */
out:
	journal_close(&j);
	if (r != 0)
		err_ctx(e, "journal %s", path);
	return r;
}

void
journal_close(struct journal **jp)
{
	struct journal *j = *jp;

	if (j == NULL)
		return;
	if (j->fd != -1)
		close(j->fd);
	WIPE(*j);
	free(j);
	*jp = NULL;
}

/* ---- writing ---- */

/* Back to what is known to be on disk. */
static void
roll_back(struct journal *j)
{
	/* If even that fails, the next write goes over the same place, and a
	 * reader stops at the first entry that does not verify. */
	(void)!ftruncate(j->fd, (off_t)j->synced);
	j->end = j->synced;
}

static int
write_entry(struct journal *j, const struct journal_entry *en, struct err *e)
{
	uint8_t buf[JOURNAL_ENTRY_LEN];
	int r;

	make_entry(buf, j->id, j->end, en);
	if ((r = io_pwrite_full(j->fd, buf, sizeof(buf), j->end, e)) == 0)
		j->end += sizeof(buf);
	else
		roll_back(j);
	WIPE(buf);
	return r;
}

int
journal_append(struct journal *j, const struct journal_entry *en,
    struct err *e)
{
	int r;

	if (en->kind == JOURNAL_PROGRESS) {
		assert(j->has_base);
		/* A failed write or sync took its base away. */
		if (j->base_end > j->end) {
			if ((r = write_entry(j, &j->base, e)) != 0)
				return r;
			j->base_end = j->end;
		}
		return write_entry(j, en, e);
	}
	if (j->has_base && j->base_end <= j->end && en->segment ==
	    j->base.segment && en->step == j->base.step)
		return 0;		/* it is there already */
	/* Remembered whether or not it gets to the file. */
	j->base = *en;
	j->has_base = true;
	r = write_entry(j, en, e);
	j->base_end = r == 0 ? j->end : UINT64_MAX;
	return r;
}

int
journal_sync(struct journal *j, struct err *e)
{
	int r;

	if (fdatasync(j->fd) == -1) {
		r = err_sys(e, "fsync of the journal");
		roll_back(j);
		return r;
	}
	j->synced = j->end;
	return 0;
}

int
journal_back(struct journal *j, const struct manifest *m,
    struct journal_found *found, struct err *e)
{
	struct bytes all = BYTES_INIT(FILE_MAX);
	uint64_t good = 0;
	int r;

	if ((r = read_all(j, &all, e)) != 0 ||
	    (r = journal_scan(all.p, all.len, m, found, &good, e)) != 0)
		goto out;
	/* It need not be there: writing what is in doubt may have failed. */
	if (found->doubt == 0)
		goto out;
	if (ftruncate(j->fd, (off_t)found->doubt) == -1) {
		r = err_sys(e, "take the journal back");
		goto out;
	}
	r = journal_scan(all.p, found->doubt, m, found, &good, e);
	assert(r == 0);			/* it was part of the same bytes */
	adopt(j, found, good);
	r = journal_sync(j, e);
out:
	bytes_free(&all);
	return r;
}

bool
journal_is_dirty(const struct journal *j)
{
	return j->synced != j->end;
}
