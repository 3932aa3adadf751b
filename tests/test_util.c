/*
 * test_util.c - helpers of the test programs; see the header.  Not for
 * anything that is installed.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/test_util.h"

char *
test_folder_make(void)
{
	const char *tmp = getenv("TMPDIR");
	char *folder;

	folder = test_path(tmp != NULL && *tmp != '\0' ? tmp : "/tmp",
	    "amber-test-XXXXXX");
	if (mkdtemp(folder) == NULL)
		fail_msg("mkdtemp %s: %s", folder, strerror(errno));
	return folder;
}

static int
on_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void
test_folder_remove(const char *folder)
{
	if (nftw(folder, on_entry, 8, FTW_DEPTH | FTW_PHYS) != 0)
		fail_msg("remove %s: %s", folder, strerror(errno));
}

int
test_folder_setup(void **state)
{
	*state = test_folder_make();
	return 0;
}

int
test_folder_teardown(void **state)
{
	test_folder_remove(*state);
	free(*state);
	return 0;
}

char *
test_path(const char *folder, const char *fmt, ...)
{
	char name[256], *path;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (asprintf(&path, "%s/%s", folder, name) == -1)
		fail_msg("no memory for a path");
	return path;
}

static size_t
entries(const char *folder)
{
	struct dirent *d;
	size_t n = 0;
	DIR *dir;

	if ((dir = opendir(folder)) == NULL)
		fail_msg("opendir %s: %s", folder, strerror(errno));
	while ((d = readdir(dir)) != NULL)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			n++;
	closedir(dir);
	return n;
}

size_t
test_folder_count(const char *folder)
{
	return entries(folder);
}

static unsigned nskipped;

void
test_skip(const char *why)
{
	nskipped++;
	print_message("skipped: %s\n", why);
	skip();
}

int
test_exit_code(int nfailed)
{
	enum { SKIPPED = 77 };		/* SKIP_RETURN_CODE of amber_test() */

	return nfailed == 0 && nskipped > 0 ? SKIPPED : nfailed;
}

size_t
test_fd_count(void)
{
	/* The one that reads the folder is not counted. */
	return entries("/proc/self/fd") - 1;
}

void
test_file_write(const char *path, const void *p, size_t n)
{
	FILE *f;

	if ((f = fopen(path, "we")) == NULL || fwrite(p, 1, n, f) != n ||
	    fclose(f) != 0)
		fail_msg("write %s: %s", path, strerror(errno));
}

uint8_t *
test_file_read(const char *path, size_t *n)
{
	struct stat st;
	uint8_t *p;
	FILE *f;

	if ((f = fopen(path, "re")) == NULL || fstat(fileno(f), &st) == -1)
		fail_msg("open %s: %s", path, strerror(errno));
	*n = (size_t)st.st_size;
	if ((p = malloc(*n + 1)) == NULL || fread(p, 1, *n, f) != *n)
		fail_msg("read %s", path);
	p[*n] = '\0';
	fclose(f);
	return p;
}

void
test_file_is(const char *path, const void *p, size_t n)
{
	uint8_t *got;
	size_t len;

	got = test_file_read(path, &len);
	assert_int_equal(len, n);
	assert_memory_equal(got, p, n);
	free(got);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

uint8_t *
test_unhex(const char *hex, size_t *n)
{
	size_t digits = 0;
	const char *s;
	uint8_t *p;
	int d;

	if ((p = calloc(1, strlen(hex) / 2 + 1)) == NULL)
		fail_msg("no memory for bytes");
	for (s = hex; *s != '\0'; s++) {
		if (*s == ' ' || *s == '\n' || *s == '\t')
			continue;
		if ((d = hex_digit(*s)) == -1)
			fail_msg("not hex: %s", hex);
		p[digits / 2] = (uint8_t)(p[digits / 2] << 4 | d);
		digits++;
	}
	if (digits % 2 != 0)
		fail_msg("half a byte of hex: %s", hex);
	*n = digits / 2;
	return p;
}

void
test_hex_is(const void *p, size_t n, const char *hex)
{
	const uint8_t *b = p;
	uint8_t *want;
	size_t len, i;

	want = test_unhex(hex, &len);
	if (len != n || memcmp(want, p, n) != 0) {
		print_error("%zu bytes: ", n);
		for (i = 0; i < n; i++)
			print_error("%02x", b[i]);
		print_error("\nwanted %zu: %s\n", len, hex);
		fail();
	}
	free(want);
}

void
test_err_is(const struct err *e, int code, const char *part)
{
	if (e->code != code)
		fail_msg("error is %s, not %s: \"%s\"", err_name(e->code),
		    err_name(code), e->msg);
	if (part != NULL && strstr(e->msg, part) == NULL)
		fail_msg("no \"%s\" in \"%s\"", part, e->msg);
}

uint64_t
test_random(uint64_t *seed)
{
	uint64_t z;

	/* splitmix64 */
	z = (*seed += 0x9e3779b97f4a7c15U);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

void
test_random_fill(uint64_t *seed, void *p, size_t n)
{
	uint8_t *b = p;

	while (n-- > 0)
		*b++ = (uint8_t)test_random(seed);
}

void
test_capture_begin(struct test_capture *c, int fd)
{
	fflush(NULL);
	c->fd = fd;
	if ((c->saved = fcntl(fd, F_DUPFD_CLOEXEC, 3)) == -1 ||
	    (c->file = memfd_create("capture", MFD_CLOEXEC)) == -1 ||
	    dup2(c->file, fd) == -1)
		fail_msg("capture: %s", strerror(errno));
}

char *
test_capture_end(struct test_capture *c, size_t *n)
{
	struct stat st;
	char *text;

	fflush(NULL);
	if (dup2(c->saved, c->fd) == -1 || fstat(c->file, &st) == -1)
		fail_msg("capture: %s", strerror(errno));
	if ((text = calloc(1, (size_t)st.st_size + 1)) == NULL ||
	    pread(c->file, text, (size_t)st.st_size, 0) != st.st_size)
		fail_msg("capture: cannot read");
	close(c->saved);
	close(c->file);
	if (n != NULL)
		*n = (size_t)st.st_size;
	return text;
}

int
test_child(int (*fn)(void *arg), void *arg, unsigned seconds)
{
	const struct timespec nap = { 0, 2000000 };
	unsigned long naps = seconds * 500UL;
	int status;
	pid_t pid;

	fflush(NULL);
	if ((pid = fork()) == -1)
		fail_msg("fork: %s", strerror(errno));
	if (pid == 0)
		_exit(fn(arg));
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (naps-- == 0) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			fail_msg("child hung for %u s", seconds);
		}
		nanosleep(&nap, NULL);
	}
	return status;
}

void
test_child_exits(int (*fn)(void *arg), void *arg, int want)
{
	int status = test_child(fn, arg, 60);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != want)
		fail_msg("child ended by %s %d, not exit %d",
		    WIFEXITED(status) ? "exit" : "signal",
		    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
		    want);
}
