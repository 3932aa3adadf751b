/*
 * frame_duo.c - see frame_duo.h.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/base/frame_duo.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

void
duo_open(struct duo *n)
{
	uint8_t *p;

	memset(n, 0, sizeof(*n));
	n->open = test_fd_count();
	bytes_init(&n->buf, FRAME_MAX);
	/* Zeros from the start, so that the look for wiping sees no others. */
	assert_int_equal(bytes_reserve(&n->buf, 8192, &p, NULL), 0);
	memset(p, 0, 8192);
	assert_int_equal(frame_pair(n->fds, &n->e), 0);
}

void
duo_close(struct duo *n)
{
	bytes_free(&n->buf);
	close(n->fds[0]);
	close(n->fds[1]);
	assert_int_equal(test_fd_count(), n->open);
}

int
duo_recv(struct duo *n, int timeout_ms)
{
	err_clear(&n->e);
	return frame_recv(n->fds[0], &frame_rows_role, &n->f, &n->buf,
	    timeout_ms, &n->e);
}

void
duo_is_wiped(const struct bytes *b)
{
	size_t i;

	assert_int_equal(b->len, 0);
	assert_true(b->size >= 8192);
	for (i = 0; i < b->size; i++)
		assert_int_equal(b->p[i], 0);
}

pid_t
duo_child(struct duo *n, int (*fn)(int fd))
{
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		close(n->fds[0]);
		_exit(fn(n->fds[1]));
	}
	close(n->fds[1]);
	n->fds[1] = dup(n->fds[0]);	/* so that closing stays simple */
	return pid;
}

void
duo_child_is_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
