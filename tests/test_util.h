/*
 * test_util.h - what most test programs need: cmocka, temporary folders,
 * hex, files, captured output, and children that try what is denied.
 *
 * Everything here fails the running cmocka test when it cannot do its job,
 * so tests call it without checks.  Every amber_test() is linked with it.
 * It must not know anything of what is tested but struct err.
 */
#ifndef AMBER_TESTS_TEST_UTIL_H
#define AMBER_TESTS_TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "base/err.h"

#define TEST_COUNT(rows)	(sizeof(rows) / sizeof((rows)[0]))

/* Which sanitizer this build has; 0 or 1. */
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#ifndef TEST_ASAN
#define TEST_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#ifndef TEST_TSAN
#define TEST_TSAN 0
#endif

/* A temporary folder of mode 0700 under $TMPDIR or /tmp, and its whole
 * removal.  cmocka fixtures that keep it in *state as a char *. */
int	test_folder_setup(void **state);
int	test_folder_teardown(void **state);
/* The same by hand; the caller frees. */
char	*test_folder_make(void);
void	test_folder_remove(const char *folder);
/* folder/name, the caller frees; printf-like. */
char	*test_path(const char *folder, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Entries of a folder, without "." and "..". */
size_t	test_folder_count(const char *folder);

void	test_file_write(const char *path, const void *p, size_t n);
/* The caller frees; a NUL follows the n bytes. */
uint8_t	*test_file_read(const char *path, size_t *n);
/* The file is there with exactly these bytes. */
void	test_file_is(const char *path, const void *p, size_t n);

/* Hex, blanks ignored, to bytes; the caller frees; never NULL. */
uint8_t	*test_unhex(const char *hex, size_t *n);
/* Compares and shows hex when it differs. */
void	test_hex_is(const void *p, size_t n, const char *hex);

/* e has this code, and its message holds part (NULL: any message). */
void	test_err_is(const struct err *e, int code, const char *part);

/* Deterministic bytes and numbers for tests that want many. */
uint64_t test_random(uint64_t *seed);
void	test_random_fill(uint64_t *seed, void *p, size_t n);

/* What is written to a descriptor from begin to end; end gives text that the
 * caller frees.  No pipe: nothing blocks. */
struct test_capture {
	int	fd;		/* the one captured */
	int	saved;
	int	file;
};
void	test_capture_begin(struct test_capture *c, int fd);
char	*test_capture_end(struct test_capture *c, size_t *n);

/*
 * Runs fn in a forked child and returns what waitpid(2) says, after at most
 * seconds (then the child is killed and the test fails).  The child ends by
 * _exit() with what fn returns: no cmocka assertions in it.
 */
int	test_child(int (*fn)(void *arg), void *arg, unsigned seconds);
/* The same, and the child must have left with exit status want. */
void	test_child_exits(int (*fn)(void *arg), void *arg, int want);

/*
 * What cannot be tried here (no root, a sanitizer): says why and skips the
 * test.  A program that may skip ends with test_exit_code() of what cmocka
 * returned: 77 when all that ran passed and something was skipped, which
 * ctest shows as "Skipped" and never as passed.
 */
void	test_skip(const char *why);
int	test_exit_code(int nfailed);

/* Open descriptors of this process. */
size_t	test_fd_count(void);

#endif
