/*
 * puzzle_util.c - see puzzle_util.h.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/engine.h"

struct puzzle_board *
puzzle_board_new(void)
{
	void *p = mmap(NULL, sizeof(struct puzzle_board),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

void
puzzle_board_free(struct puzzle_board *b)
{
	(void)munmap(b, sizeof(*b));
}

void
puzzle_arm(struct puzzle_fault *f, uint32_t segment, uint64_t step,
    uint32_t times)
{
	f->segment = segment;
	f->step = step;
	f->times = times;
}

static int
is_due(struct puzzle_fault *f, uint32_t segment, uint64_t step)
{
	uint32_t left = f->times;

	if (f->segment != segment || f->step != step)
		return 0;
	while (left > 0) {
		if (atomic_compare_exchange_weak(&f->times, &left, left - 1))
			return 1;
	}
	return 0;
}

static uint64_t
get_le(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

static int
plain_hash(void *arg, const uint8_t in[CHAIN_INPUT_LEN],
    uint8_t out[CHAIN_STATE_LEN], struct err *e)
{
	const struct puzzle_source *s = arg;
	uint8_t buf[CHAIN_KEY_LEN + CHAIN_INPUT_LEN];

	(void)e;
	memcpy(buf, s->key, CHAIN_KEY_LEN);
	memcpy(buf + CHAIN_KEY_LEN, in, CHAIN_INPUT_LEN);
	crypto_hash_sha256(out, buf, sizeof(buf));
	WIPE(buf);
	return 0;
}

/* The one socket of a confined worker. */
static void
send_garbage(void)
{
	static const char text[] = "a length of 1.6 GB, as a frame";
	struct stat st;

	for (int fd = 3; fd < 1024; fd++) {
		if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			(void)!write(fd, text, sizeof(text));
	}
}

static int
counted_hash(void *arg, const uint8_t in[CHAIN_INPUT_LEN],
    uint8_t out[CHAIN_STATE_LEN], struct err *e)
{
	const struct puzzle_source *s = arg;
	struct puzzle_board *b = s->board;
	const uint32_t i = (uint32_t)get_le(in + 32, 4);
	const uint64_t j = get_le(in + 36, 8);
	const struct timespec ts = { 0, (long)b->hash_ns };

	if (ts.tv_nsec > 0)
		(void)nanosleep(&ts, NULL);
	if (is_due(&b->die, i, j))
		(void)kill(getpid(), SIGKILL);
	if (is_due(&b->stop, i, j))
		(void)kill(getpid(), SIGSTOP);
	if (is_due(&b->refuse, i, j))
		_exit(ENGINE_EXIT_REFUSED);
	if (is_due(&b->babble, i, j))
		send_garbage();
	if (s->inner != NULL)
		(void)s->inner_hash.hash(s->inner_hash.arg, in, out, e);
	else
		(void)plain_hash(arg, in, out, e);
	if (is_due(&b->flip, i, j))
		out[7] ^= 0x10;
	if (i <= PUZZLE_SEGMENTS && j <= PUZZLE_STEPS)
		atomic_fetch_add(&b->count[i][j], 1);
	atomic_fetch_add(&b->total, 1);
	return 0;
}

static int
open_source(void *arg, struct chain_hasher *out, struct err *e)
{
	struct puzzle_source *s = arg;

	if (s->inner != NULL &&
	    s->inner->open(s->inner->arg, &s->inner_hash, e) != 0)
		return e->code;
	atomic_fetch_add(&s->board->opened, 1);
	out->hash = counted_hash;
	out->arg = s;
	return 0;
}

static void
retire_source(void *arg, struct chain_hasher *h)
{
	struct puzzle_source *s = arg;

	if (s->inner != NULL)
		s->inner->retire(s->inner->arg, &s->inner_hash);
	atomic_fetch_add(&s->board->retired, 1);
	h->arg = NULL;
}

static int
recheck_source(void *arg, struct err *e)
{
	const struct puzzle_source *s = arg;

	if (s->inner != NULL)
		return s->inner->recheck(s->inner->arg, e);
	return s->board->is_bad ? err_set(e, ERR_CORRUPT, "a bit changed") : 0;
}

void
puzzle_source_init(struct puzzle_source *s, struct puzzle_board *b,
    const uint8_t key[CHAIN_KEY_LEN])
{
	*s = (struct puzzle_source){ .board = b };
	memcpy(s->key, key, CHAIN_KEY_LEN);
	s->source = (struct hasher_source){ open_source, retire_source,
		recheck_source, s };
	s->plain = (struct chain_hasher){ plain_hash, s };
}

void
puzzle_source_over(struct puzzle_source *s, struct puzzle_board *b,
    const struct hasher_source *inner)
{
	*s = (struct puzzle_source){ .board = b, .inner = inner };
	s->source = (struct hasher_source){ open_source, retire_source,
		recheck_source, s };
}

struct manifest_params
puzzle_params(uint32_t n, uint64_t m, uint64_t interval)
{
	struct manifest_params p = {
		.origin = "relay.example",
		.epoch = 3,
		.algorithm = MANIFEST_RX0,
		.segments = n,
		.steps = m,
		.interval = interval,
	};

	randombytes_buf(p.key, sizeof(p.key));
	return p;
}

struct manifest *
puzzle_make(const struct manifest_params *p, const struct chain_hasher *h,
    uint8_t epoch_key[32])
{
	uint8_t seeds[MANIFEST_SEGMENTS_MAX + 1][32], k[WRAP_KEY_LEN];
	struct manifest *m = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(manifest_new(&m, p, &e), 0);
	randombytes_buf(seeds, sizeof(seeds));
	memcpy(epoch_key, seeds[p->segments], 32);
	memcpy(m->seed, seeds[0], 32);
	wrap_commit(m->commit, epoch_key, m->salt);
	for (uint32_t i = 1; i <= p->segments; i++) {
		uint8_t *x = seeds[i - 1];

		for (uint64_t j = 1, n = 1; j <= p->steps; j++) {
			assert_int_equal(chain_step(h, i, j, x, &e), 0);
			if (j == manifest_step(m, n)) {
				chain_tag(manifest_tag(m, i, n), p->key, i, j,
				    x);
				n++;
			}
		}
		wrap_key(k, x, m->salt, i);
		wrap_seal(m->wraps[i - 1], k, m->salt, i, seeds[i]);
	}
	assert_int_equal(manifest_set_times(m, 1000, 2000, &e), 0);
	return m;
}

void
puzzle_solve(const struct manifest *m, const struct chain_hasher *h,
    uint8_t epoch_key[32])
{
	uint8_t x[32], k[WRAP_KEY_LEN], tag[CHAIN_TAG_LEN], commit[32];
	struct err e = ERR_INIT;

	memcpy(x, m->seed, sizeof(x));
	for (uint32_t i = 1; i <= m->params.segments; i++) {
		for (uint64_t j = 1, n = 1; j <= m->params.steps; j++) {
			assert_int_equal(chain_step(h, i, j, x, &e), 0);
			if (j != manifest_step(m, n))
				continue;
			chain_tag(tag, m->params.key, i, j, x);
			assert_memory_equal(tag, manifest_tag(m, i, n),
			    sizeof(tag));
			n++;
		}
		wrap_key(k, x, m->salt, i);
		assert_int_equal(wrap_open(x, k, m->salt, i, m->wraps[i - 1],
		    &e), 0);
	}
	wrap_commit(commit, x, m->salt);
	assert_memory_equal(commit, m->commit, sizeof(commit));
	memcpy(epoch_key, x, sizeof(x));
}

void
puzzle_write(struct manifest *m, const struct identity *id, const char *path)
{
	struct bytes file = BYTES_INIT(MANIFEST_FILE_MAX);
	struct err e = ERR_INIT;

	assert_int_equal(manifest_sign(m, id, &file, &e), 0);
	test_file_write(path, file.p, file.len);
	bytes_free(&file);
}
