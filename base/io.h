/*
 * io.h - files and descriptors, whole or not at all.
 *
 * Short reads and writes and EINTR continue.  Each failing step has its own
 * message ("open", "write", "fsync", "rename", "fsync of the folder"), and
 * the caller's context names the file.  Blocking; nothing for an event loop.
 * Copies on the way (temporaries) are of the mode asked for from the start
 * or stricter.
 */
#ifndef AMBER_BASE_IO_H
#define AMBER_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bytes;
struct err;

/* Exactly n bytes.  ERR_EOF when the end comes first, with how many came. */
int	io_read_full(int fd, void *p, size_t n, struct err *e);
int	io_pread_full(int fd, void *p, size_t n, uint64_t off, struct err *e);
int	io_write_full(int fd, const void *p, size_t n, struct err *e);
int	io_pwrite_full(int fd, const void *p, size_t n, uint64_t off,
	struct err *e);

/* The whole file appended to out; ERR_LIMIT when out's cap is too small
 * (said before more is read), ERR_NOENT, ERR_PERM, ERR_SYS.  A folder, pipe
 * or device is refused with ERR_ARG and without waiting for it.  On failure
 * out is as it was.  "-" is no special name. */
int	io_read_file(const char *path, struct bytes *out, struct err *e);

/* The same, but a pipe is read to its end: opening waits for its writer, and
 * reading until that is done. */
int	io_read_file_or_pipe(const char *path, struct bytes *out,
	struct err *e);

/*
 * Atomic replace: a temporary file beside path, written, fsync'd, renamed
 * over it, and the folder fsync'd; on failure the temporary is removed and
 * the old file stands.  When only the folder's fsync failed the new file is
 * in place and the error says so.  A crash may leave a temporary
 * (temp_file.h).  mode is exact, whatever the umask.  A symbolic link is
 * replaced, not followed.  What is no file to be replaced (io_is_special())
 * is written to instead.
 */
int	io_replace_file(const char *path, const void *p, size_t n, mode_t mode,
	struct err *e);
/* A device, pipe or socket, or anything under /dev but /dev/shm: renaming a
 * file over /dev/null would break the machine. */
bool	io_is_special(const char *path);
/* Opens one of those for writing; -1 with errno. */
int	io_open_special(const char *path);
/* The same durability for a file that must not exist yet: ERR_EXIST, and the
 * old one untouched.  Never leaves a partial file under that name. */
int	io_create_file(const char *path, const void *p, size_t n, mode_t mode,
	struct err *e);

/*
 * For long work that writes a file at its end: can one be made under this
 * name?  Its folder is there and this process may write to it.  ERR_ARG for a
 * path without a name; ERR_NOENT, ERR_PERM, ERR_SYS name the folder.  A disk
 * may still be full by then.
 */
int	io_check_place(const char *path, struct err *e);
/* Do both lead to one name in one folder?  The file need not exist. */
bool	io_is_same_place(const char *a, const char *b);

/* fsync of the folder that holds path (or of path itself if a folder). */
int	io_sync_folder_of(const char *path, struct err *e);
int	io_sync_folder(const char *folder, struct err *e);
/* The folder that holds a file that just got its name; the error says that it
 * has it. */
int	io_sync_name(const char *path, struct err *e);
/* The folder's name of path: ".", "/" or what stands before the last "/".  The
 * caller frees *out. */
int	io_folder_of(const char *path, char **out, struct err *e);

#endif
