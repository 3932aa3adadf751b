/*
 * key_file.h - the text of a file that holds one key, public or secret, in
 * whatever spelling.
 *
 * White space behind the key is left out: editors and other systems end a
 * line as they like.  A pipe is read too, once and to its end, so that a key
 * need not touch the disk: key_file_read() waits for who writes to it.
 */
#ifndef AMBER_BASE_KEY_FILE_H
#define AMBER_BASE_KEY_FILE_H

struct bytes;
struct err;

enum { KEY_FILE_MAX = 4096 };	/* bytes, and so much a caller's out may hold */

/* Appends one line, without its end.  ERR_LIMIT, ERR_NOENT, ERR_PERM, ERR_SYS,
 * ERR_ARG for a folder or device; ERR_FORMAT: more than one line.  The caller
 * wipes out. */
int	key_file_read(const char *path, struct bytes *out, struct err *e);

#endif
