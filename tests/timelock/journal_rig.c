/*
 * journal_rig.c - see journal_rig.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test_util.h"
#include "tests/timelock/journal_rig.h"

struct journal_inject journal_inject = { -1, 0 };

ssize_t	__real_pwrite(int fd, const void *p, size_t n, off_t off);
ssize_t	__wrap_pwrite(int fd, const void *p, size_t n, off_t off);
int	__wrap_fdatasync(int fd);
int	__wrap_fsync(int fd);

ssize_t
__wrap_pwrite(int fd, const void *p, size_t n, off_t off)
{
	if (journal_inject.write_after < 0)
		return __real_pwrite(fd, p, n, off);
	if (journal_inject.write_after == 0) {
		errno = ENOSPC;
		return -1;
	}
	if (n > (size_t)journal_inject.write_after)
		n = (size_t)journal_inject.write_after;
	journal_inject.write_after -= (int)n;
	return __real_pwrite(fd, p, n, off);
}

int
__wrap_fdatasync(int fd)
{
	(void)fd;
	if (journal_inject.sync_errno == 0)
		return 0;
	errno = journal_inject.sync_errno;
	return -1;
}

/* No disk is waited for: no test here takes the power away. */
int
__wrap_fsync(int fd)
{
	(void)fd;
	return 0;
}

int
journal_rig_setup(void **state)
{
	const struct manifest_params p = puzzle_params(3, 10, 4);
	struct journal_rig *f = calloc(1, sizeof(*f));
	uint8_t k[WRAP_KEY_LEN];

	assert_non_null(f);
	f->folder = test_folder_make();
	f->path = test_path(f->folder, "journal");
	f->board = puzzle_board_new();
	puzzle_source_init(&f->src, f->board, p.key);
	f->m = puzzle_make(&p, &f->src.plain, f->key);
	memset(f->m->id, 0x77, sizeof(f->m->id));
	memcpy(f->x[1][0], f->m->seed, 32);
	for (uint32_t i = 1; i <= 3; i++) {
		for (uint64_t j = 1; j <= 10; j++) {
			memcpy(f->x[i][j], f->x[i][j - 1], 32);
			assert_int_equal(chain_step(&f->src.plain, i, j,
			    f->x[i][j], NULL), 0);
		}
		wrap_key(k, f->x[i][10], f->m->salt, i);
		if (i < 3)
			assert_int_equal(wrap_open(f->x[i + 1][0], k,
			    f->m->salt, i, f->m->wraps[i - 1], NULL), 0);
	}
	journal_inject.write_after = -1;
	journal_inject.sync_errno = 0;
	*state = f;
	return 0;
}

int
journal_rig_teardown(void **state)
{
	struct journal_rig *f = *state;

	manifest_free(&f->m);
	puzzle_board_free(f->board);
	test_folder_remove(f->folder);
	free(f->folder);
	free(f->path);
	free(f);
	return 0;
}

struct journal_entry
journal_rig_entry(const struct journal_rig *f, enum journal_kind kind,
    uint32_t i, uint64_t j)
{
	struct journal_entry en = { .kind = kind, .segment = i, .step = j };

	memcpy(en.state, f->x[i][j], 32);
	return en;
}

struct journal *
journal_rig_open(const struct journal_rig *f, struct journal_found *found)
{
	struct journal *j = NULL;
	struct err e = ERR_INIT;

	if (journal_open(&j, f->path, f->m, found, &e) != 0)
		fail_msg("%s", e.msg);
	return j;
}

void
journal_rig_append(struct journal_rig *f, struct journal *j,
    enum journal_kind kind, uint32_t i, uint64_t step)
{
	const struct journal_entry en = journal_rig_entry(f, kind, i, step);
	struct err e = ERR_INIT;

	assert_int_equal(journal_append(j, &en, &e), 0);
}
