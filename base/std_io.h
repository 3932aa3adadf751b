/*
 * std_io.h - descriptors 0, 1 and 2 of a program, at its begin and its end.
 *
 * A program that is started with one of them closed gets its number for the
 * next file or socket that it opens, and would then send its output, or a
 * line of its log, there.  And what stdio still holds back at the end may not
 * get out.  For main() alone.
 */
#ifndef AMBER_BASE_STD_IO_H
#define AMBER_BASE_STD_IO_H

struct err;

/* Before anything is opened: those that are closed become /dev/null, opened
 * the other way round, so that their use is still an error (EBADF). */
int	std_io_begin(struct err *e);
/* Flushes stdout.  If anything of it was lost, a code of 0 (success) becomes
 * failed, and prog says so, and why if that is known. */
int	std_io_end(const char *prog, int code, int failed);

#endif
