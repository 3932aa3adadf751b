/*
 * test_hygiene.c - what a generation leaves behind.  Every secret it draws is
 * known here by wrapping getrandom(2); every state and key that follows is
 * computed; then all readable memory of this process is searched for them,
 * and so is what it wrote.
 *
 * Secrets are kept here under a mask, or the search would find its own list.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/generator.h"

enum {
	N = 5, M = 24, INTERVAL = 4,
	LEN = 32,
	SECRETS_MAX = 4096,
	SLOTS = 1 << 14,
	SHADOW = 1 << 25,	/* a sanitizer's own mappings are larger */
	BLOCK = 1 << 16,
	MASK = 0x5a,
};

/* ---- the list ---- */

static struct {
	uint8_t		masked[SECRETS_MAX][LEN];
	const char	*what[SECRETS_MAX];
	unsigned	n;
	uint16_t	slot[SLOTS];	/* by the first 8 bytes; 0: none */
	bool		records;	/* getrandom's answers are taken */
} list;

static unsigned
slot_of(const uint8_t *first8)
{
	uint64_t v;

	memcpy(&v, first8, sizeof(v));
	return (unsigned)((v * 0x9e3779b97f4a7c15u) >> 50) % SLOTS;
}

static void
remember(const uint8_t *p, const char *what)
{
	unsigned s = slot_of(p);

	assert_true(list.n < SECRETS_MAX - 1);
	for (unsigned k = 0; k < LEN; k++)
		list.masked[list.n + 1][k] = p[k] ^ MASK;
	list.what[++list.n] = what;
	while (list.slot[s] != 0)
		s = (s + 1) % SLOTS;
	list.slot[s] = (uint16_t)list.n;
}

static bool
is_equal(const uint8_t *p, unsigned i)
{
	for (unsigned k = 0; k < LEN; k++) {
		if ((p[k] ^ MASK) != list.masked[i][k])
			return false;
	}
	return true;
}

static const char *
look_up(const uint8_t *p)
{
	for (unsigned s = slot_of(p); list.slot[s] != 0; s = (s + 1) % SLOTS) {
		if (is_equal(p, list.slot[s]))
			return list.what[list.slot[s]];
	}
	return NULL;
}

static bool
is_remembered(const uint8_t *p)
{
	return look_up(p) != NULL;
}

ssize_t	__real_getrandom(void *p, size_t n, unsigned flags);
ssize_t	__wrap_getrandom(void *p, size_t n, unsigned flags);

ssize_t
__wrap_getrandom(void *p, size_t n, unsigned flags)
{
	const ssize_t r = __real_getrandom(p, n, flags);

	if (list.records && r == LEN)
		remember(p, "drawn");
	return r;
}

/* The generator draws the epoch key, then the seeds in order; the first seed
 * is public, though nobody sees it when no manifest comes of it. */
static void
forget_first_seed(void)
{
	memset(list.masked[2], 0, LEN);
}

/* ---- the search ---- */

struct range {
	uintptr_t	from, to;
	char		name[128];
};

static unsigned found;

static void
search(const uint8_t *p, size_t n, const char *where)
{
	const char *what;

	for (size_t i = 0; i + LEN <= n; i++) {
		if ((what = look_up(p + i)) == NULL)
			continue;
		print_error("%s in %s\n", what, where);
		found++;
	}
}

/* A block at a time, copied into `block`, which is not searched itself. */
static void
search_range(int mem, const struct range *r, uint8_t *block)
{
	const uintptr_t self = (uintptr_t)block;

	for (uintptr_t at = r->from; at < r->to; at += BLOCK - LEN) {
		const size_t n = r->to - at < BLOCK ? r->to - at : BLOCK;
		ssize_t got;

		if (at < self + BLOCK && self < at + n)
			continue;
		got = pread(mem, block, n, (off_t)at);
		if (got > 0)
			search(block, (size_t)got, r->name);
		memset(block, 0, BLOCK);
	}
}

static unsigned
search_memory(void)
{
	/* Alone in a mapping of its own. */
	static uint8_t block[3 * BLOCK] __attribute__((aligned(BLOCK)));
	char line[512], perms[8];
	FILE *maps = fopen("/proc/self/maps", "re");
	const int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct range r;

	assert_non_null(maps);
	assert_int_not_equal(mem, -1);
	found = 0;
	while (fgets(line, sizeof(line), maps) != NULL) {
		r.name[0] = '\0';
		assert_true(sscanf(line, "%lx-%lx %7s %*s %*s %*s %127[^\n]",
		    &r.from, &r.to, perms, r.name) >= 3);
		if ((TEST_ASAN || TEST_TSAN) && r.to - r.from > SHADOW)
			continue;
		if (perms[0] == 'r' && strcmp(r.name, "[vvar]") != 0 &&
		    strcmp(r.name, "[vsyscall]") != 0)
			search_range(mem, &r, block + BLOCK);
	}
	(void)fclose(maps);
	close(mem);
	return found;
}

/* ---- the test ---- */

struct fixture {
	struct puzzle_board	*board;
	struct puzzle_source	 src;
	struct generator_opts	 o;
	struct manifest		*m;
	struct secret		*key;
};

static void
on_note(void *arg, const char *text)
{
	(void)arg;
	log_warn("%s", text);
}

static void
on_progress(void *arg, const struct generator_progress *p)
{
	(void)arg;
	log_info("%s %ju", p->phase, (uintmax_t)p->completed_hashes);
}

static void
begin(struct fixture *f)
{
	memset(&list, 0, sizeof(list));
	memset(f, 0, sizeof(*f));
	f->board = puzzle_board_new();
	f->o = (struct generator_opts){
		.params = puzzle_params(N, M, INTERVAL),
		.workers = 2,
		.first_cpu = -1,
		.recheck = 100,
		.chain_hps = 1e6,
		.progress_ms = 1,
		.fd = -1,
		.on_progress = on_progress,
		.on_note = on_note,
		.arg = f,
	};
	puzzle_source_init(&f->src, f->board, f->o.params.key);
}

static void
end(struct fixture *f)
{
	manifest_free(&f->m);
	secret_free(&f->key);
	puzzle_board_free(f->board);
}

/* All that follows from the secrets drawn; each computed in a child of a
 * fork, so that this process never holds it unmasked. */
static int
child_derives(void *arg)
{
	const struct fixture *f = arg;
	uint8_t x[LEN], k[WRAP_KEY_LEN];
	unsigned n = 0;
	struct {
		uint8_t masked[LEN];
	} *out = (void *)f->board;

	memcpy(x, f->m->seed, LEN);
	for (uint32_t i = 1; i <= N; i++) {
		for (uint64_t j = 1; j <= M; j++) {
			if (chain_step(&f->src.plain, i, j, x, NULL) != 0)
				return 1;
			for (unsigned b = 0; b < LEN; b++)
				out[n].masked[b] = x[b] ^ MASK;
			n++;
		}
		wrap_key(k, x, f->m->salt, i);
		for (unsigned b = 0; b < LEN; b++)
			out[n].masked[b] = k[b] ^ MASK;
		n++;
		if (wrap_open(x, k, f->m->salt, i, f->m->wraps[i - 1], NULL) !=
		    0)
			return 1;
	}
	return 0;
}

static void
remember_masked(const uint8_t *masked, const char *what)
{
	uint8_t p[LEN];
	unsigned s;

	for (unsigned k = 0; k < LEN; k++)
		p[k] = masked[k] ^ MASK;
	s = slot_of(p);
	sodium_memzero(p, sizeof(p));
	assert_true(list.n < SECRETS_MAX - 1);
	memcpy(list.masked[++list.n], masked, LEN);
	list.what[list.n] = what;
	while (list.slot[s] != 0)
		s = (s + 1) % SLOTS;
	list.slot[s] = (uint16_t)list.n;
}

static void
derive(struct fixture *f)
{
	/* The board is shared memory, and done with. */
	struct {
		uint8_t masked[LEN];
	} *in = (void *)f->board;

	assert_true(sizeof(*f->board) >= N * (M + 1) * sizeof(in[0]));
	test_child_exits(child_derives, f, 0);
	for (unsigned n = 0; n < N * (M + 1); n++)
		remember_masked(in[n].masked, (n + 1) % (M + 1) == 0 ?
		    "a wrapping key" : "a state");
	memset(f->board, 0, sizeof(*f->board));
	sodium_stackzero(4096);
}

/* The search itself finds what is there. */
static void
test_search_finds(void **state)
{
	uint8_t *heap = malloc(LEN * 3);

	(void)state;
	memset(&list, 0, sizeof(list));
	assert_non_null(heap);
	list.records = true;
	assert_int_equal(secret_fill_random(heap + 7, LEN, NULL), 0);
	list.records = false;
	assert_int_equal(list.n, 1);
	assert_true(is_remembered(heap + 7));
	assert_true(search_memory() >= 1);
	sodium_memzero(heap, LEN * 3);
	assert_int_equal(search_memory(), 0);
	free(heap);
}

static void
test_memory(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;
	unsigned drawn;

	(void)state;
	begin(&f);
	list.records = true;
	assert_int_equal(generator_run(&f.o, &f.src.source, &f.m, &f.key, &e),
	    0);
	list.records = false;
	/* the seeds and the epoch key; the first seed is public */
	drawn = list.n;
	assert_int_equal(drawn, N + 1);
	assert_true(is_remembered(f.m->seed));
	assert_true(is_remembered(f.key->p));
	derive(&f);
	secret_free(&f.key);
	/* take the public seed out of memory; all else must not be there */
	memset(f.m->seed, 0, sizeof(f.m->seed));
	sodium_stackzero(8192);
	assert_int_equal(search_memory(), 0);
	end(&f);
}

/* The same for a generation that was stopped, and one that failed. */
static volatile sig_atomic_t stop;

static void
stop_late(void *arg, const struct generator_progress *p)
{
	(void)arg;
	if (p->completed_segments >= 2)
		stop = 1;
}

static void
test_memory_after_stop(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	begin(&f);
	f.o.stop = &stop;
	f.o.on_progress = stop_late;
	f.board->hash_ns = 300000;
	list.records = true;
	assert_int_equal(generator_run(&f.o, &f.src.source, &f.m, &f.key, &e),
	    ERR_CANCEL);
	list.records = false;
	assert_int_equal(list.n, N + 1);
	forget_first_seed();
	assert_int_equal(search_memory(), 0);
	end(&f);

	begin(&f);
	f.board->is_bad = 1;
	list.records = true;
	assert_int_equal(generator_run(&f.o, &f.src.source, &f.m, &f.key, &e),
	    ERR_CORRUPT);
	list.records = false;
	assert_int_equal(list.n, N + 1);
	forget_first_seed();
	assert_int_equal(search_memory(), 0);
	end(&f);
}

/* Log lines of generator and workers, kills and contradictions included;
 * argv and environment of a worker. */
static char *worker_texts;
static size_t worker_text_len;

static void
on_worker(void *arg, pid_t pid)
{
	static const char *const names[] = { "cmdline", "environ" };
	char path[64], buf[4096];

	(void)arg;
	for (unsigned k = 0; k < 2; k++) {
		FILE *in;
		size_t n;

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid,
		    names[k]);
		if ((in = fopen(path, "re")) == NULL)
			continue;
		while ((n = fread(buf, 1, sizeof(buf), in)) > 0) {
			worker_texts = realloc(worker_texts,
			    worker_text_len + n);
			assert_non_null(worker_texts);
			memcpy(worker_texts + worker_text_len, buf, n);
			worker_text_len += n;
		}
		(void)fclose(in);
	}
}

/* Raw, and as hex of either case. */
static void
search_text(const char *text, size_t n, const char *where)
{
	uint8_t raw[LEN];
	size_t len;

	search((const uint8_t *)text, n, where);
	for (size_t i = 0; i + 2 * LEN <= n; i++) {
		if (sodium_hex2bin(raw, LEN, text + i, 2 * LEN, NULL, &len,
		    NULL) == 0 && len == LEN)
			search(raw, LEN, where);
	}
}

static void
test_texts(void **state)
{
	struct test_capture cap;
	struct err e = ERR_INIT;
	struct fixture f;
	size_t n = 0;
	char *text;
	int r;

	(void)state;
	begin(&f);
	f.o.on_worker = on_worker;
	puzzle_arm(&f.board->flip, 2, 5, 1);
	puzzle_arm(&f.board->die, 3, 9, 1);
	list.records = true;
	test_capture_begin(&cap, STDERR_FILENO);
	r = generator_run(&f.o, &f.src.source, &f.m, &f.key, &e);
	text = test_capture_end(&cap, &n);
	list.records = false;
	assert_int_equal(r, 0);
	derive(&f);
	found = 0;
	assert_non_null(strstr(text, "two computations disagree"));
	assert_non_null(strstr(text, "signal 9"));
	search_text(text, n, "log lines");
	assert_true(worker_text_len > 0);
	search_text(worker_texts, worker_text_len, "a worker's argv");
	assert_int_equal(found, 0);
	free(text);
	free(worker_texts);
	worker_texts = NULL;
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search_finds),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_after_stop),
		cmocka_unit_test(test_texts),
	};

	if (secret_init(NULL) != 0)
		return 1;
	log_open("test_hygiene", LOG_LEVEL_INFO, false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
