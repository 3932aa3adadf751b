/*
 * layout.h - the archive's folder: its files and their names, opened, listed
 * and locked.
 *
 *	FORMAT  log.vkey  LOCK  checkpoint  epoch/  seg/  quarantine/
 */
#ifndef AMBER_ARCHIVE_LAYOUT_H
#define AMBER_ARCHIVE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/identity.h"

struct bytes;
struct disk;
struct err;

#define LAYOUT_FORMAT	"amber archive 1\n"

enum {
	LAYOUT_SEGMENTS_MAX = 1 << 20,	/* files listed, at most */
	LAYOUT_DIR_MODE = 0750,
	LAYOUT_FILE_MODE = 0640,
};

struct layout {
	char		*path;		/* for messages */
	int		 root;		/* folders, open for reading */
	int		 seg;
	int		 epoch;		/* -1 when there is none, as the */
	int		 quarantine;	/* next one; recovery makes both */
	int		 lock;		/* -1: not locked */
	struct vkey	 vkey;		/* of log.vkey, or the pin */
};

/* An existing archive.  ERR_NOENT: there is none at path (exit 10);
 * ERR_FORMAT: FORMAT or log.vkey is not ours. */
int	layout_open(struct layout **out, const char *path, struct err *e);
/* The same for a reader that has the log's key: where log.vkey is missing,
 * *lacks_vkey becomes true and pin is what vkey holds.  One that is there is
 * read as ever. */
int	layout_open_pinned(struct layout **out, const char *path,
	const struct vkey *pin, bool *lacks_vkey, struct err *e);
/* Makes what is missing (folders, FORMAT, log.vkey) durably; then opens.
 * A folder that holds other things but no FORMAT is refused (ERR_EXIST). */
int	layout_create(const char *path, const struct vkey *vkey,
	const struct disk *d, struct err *e);
void	layout_free(struct layout **lp);

/*
 * The one writer: flock on LOCK (made if missing) and on the folder itself,
 * so that a deleted LOCK lets no second writer in.  ERR_LOCKED.  Its messages
 * name the archive, as those of opening do.
 */
int	layout_lock(struct layout *l, const struct disk *d, struct err *e);
/* Removes what ends in .tmp in all folders, which a crash left. */
int	layout_clean(struct layout *l, const struct disk *d, struct err *e);

/* First indices of all segments, ascending; *v is freed with free(3).  A
 * name in seg/ that is no segment's, not .tmp and not hidden (what begins with
 * a dot is passed over) is ERR_FORMAT. */
int	layout_list(const struct layout *l, uint64_t **v, size_t *n,
	struct err *e);
/* Bytes of n of them, for progress; what is gone counts nothing. */
uint64_t layout_bytes(const struct layout *l, const uint64_t *firsts,
	size_t n);
/* Read-only; the caller's.  The file's first index must be its name's:
 * that is the reader's check. */
int	layout_open_segment(const struct layout *l, uint64_t first, int *fd,
	struct err *e);
/* Numbers of the manifests in epoch/, ascending; as layout_list. */
int	layout_list_epochs(const struct layout *l, uint64_t **v, size_t *n,
	struct err *e);
/* Appends the file's content; ERR_NOENT. */
int	layout_read_epoch(const struct layout *l, uint64_t number,
	struct bytes *out, struct err *e);
int	layout_read_checkpoint(const struct layout *l, struct bytes *out,
	struct err *e);

enum { LAYOUT_EPOCH_NAME_MAX = 20 + 5 + 1 };
void	layout_epoch_name(char out[LAYOUT_EPOCH_NAME_MAX], uint64_t number);

#endif
