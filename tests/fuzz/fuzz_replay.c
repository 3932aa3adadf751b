/*
 * fuzz_replay.c - runs a libFuzzer harness without libFuzzer.
 *
 *	NAME [-n MUTATIONS] FOLDER...
 *
 * Each file of the corpus folders is given to LLVMFuzzerTestOneInput(), then
 * a bounded number of mutations of it.  They follow from the file's name and
 * bytes alone, so a failure comes back on the next run.  A folder that is
 * missing or has no file fails: a test of nothing is not a test.  When the
 * harness dies, stderr names the file and mutation and shows the input.
 *
 * It must not judge what the harness finds, write files, or use time or real
 * randomness.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	INPUT_MAX = 1 << 20,	/* bytes; libFuzzer's own bound is the same */
	FILES_MAX = 4096,
	MUTATIONS = 256,	/* of each file, by default ... */
	RUNS_MAX = 20000,	/* ... and at most this many in all */
	STACK_MAX = 4,		/* changes in one mutation */
	RANGE_MAX = 64,		/* bytes that one change moves */
	SHOWN_MAX = 2048,	/* bytes of a deadly input shown */
};

struct input {
	char	*name;
	uint8_t	*p;
	size_t	 len;
};

struct corpus {
	struct input	*files;
	size_t		 n;
};

struct rng {
	uint64_t	s;
};

struct buf {
	uint8_t	*p;		/* INPUT_MAX bytes */
	size_t	 len;
};

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);
int	LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
/* From the sanitizers' runtime, when there is one. */
void	__sanitizer_set_death_callback(void (*cb)(void))
	__attribute__((weak));

/* What runs now, for the message on death. */
static const char *now_name = "-";
static size_t now_mutation;
static const uint8_t *now_p;
static size_t now_len;

static void
on_death(void)
{
	size_t i;

	fprintf(stderr, "\nfuzz_replay: died on %s, mutation %zu, %zu bytes:\n",
	    now_name, now_mutation, now_len);
	for (i = 0; i < now_len && i < SHOWN_MAX; i++)
		fprintf(stderr, "%02x", now_p[i]);
	fprintf(stderr, "%s\n", now_len > SHOWN_MAX ? "..." : "");
}

static void
on_signal(int sig)
{
	/* Not async-signal-safe; the process is lost anyway. */
	signal(sig, SIG_DFL);
	on_death();
	raise(sig);
}

/* splitmix64: small, seeded, the same everywhere. */
static uint64_t
rng_next(struct rng *r)
{
	uint64_t z;

	z = (r->s += 0x9e3779b97f4a7c15U);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/* 0..n-1; the tiny bias does not matter here. */
static size_t
rng_below(struct rng *r, size_t n)
{
	return n == 0 ? 0 : (size_t)(rng_next(r) % n);
}

static uint64_t
hash(uint64_t h, const void *p, size_t len)
{
	const uint8_t *b = p;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3U;	/* FNV-1a */
	return h;
}

/* Puts n bytes of p into b at the given place, as far as they fit. */
static void
buf_insert(struct buf *b, size_t at, const uint8_t *p, size_t n)
{
	if (n > INPUT_MAX - b->len)
		n = INPUT_MAX - b->len;
	if (n == 0)
		return;
	memmove(b->p + at + n, b->p + at, b->len - at);
	memcpy(b->p + at, p, n);
	b->len += n;
}

static void
buf_delete(struct buf *b, size_t at, size_t n)
{
	if (n == 0)
		return;
	memmove(b->p + at, b->p + at + n, b->len - at - n);
	b->len -= n;
}

/* A range inside len bytes. */
static size_t
range(struct rng *r, size_t len, size_t *n)
{
	size_t at;

	at = rng_below(r, len);
	*n = 1 + rng_below(r, RANGE_MAX);
	if (*n > len - at)
		*n = len - at;
	return at;
}

static void
change_bits(struct buf *b, struct rng *r)
{
	size_t flips;

	for (flips = 1 + rng_below(r, 4); flips > 0; flips--)
		b->p[rng_below(r, b->len)] ^= (uint8_t)(1U << rng_below(r, 8));
}

/* Bytes at the edges of what formats tell apart. */
static void
change_byte(struct buf *b, struct rng *r)
{
	static const uint8_t edges[] = { 0x00, 0x01, 0x17, 0x18, 0x1b, 0x20,
		0x2d, 0x30, 0x39, 0x5f, 0x7f, 0x80, 0x9f, 0xbf, 0xc0, 0xff };
	size_t at, n;

	at = rng_below(r, b->len);
	for (n = 1 + rng_below(r, 9); n > 0 && at < b->len; n--, at++)
		b->p[at] = edges[rng_below(r, sizeof(edges))];
}

static void
change_insert(struct buf *b, struct rng *r)
{
	uint8_t add[RANGE_MAX];
	size_t i, n;

	n = 1 + rng_below(r, sizeof(add));
	for (i = 0; i < n; i++)
		add[i] = (uint8_t)rng_next(r);
	buf_insert(b, rng_below(r, b->len + 1), add, n);
}

static void
change_duplicate(struct buf *b, struct rng *r)
{
	uint8_t copy[RANGE_MAX];
	size_t at, n;

	at = range(r, b->len, &n);
	memcpy(copy, b->p + at, n);
	buf_insert(b, rng_below(r, b->len + 1), copy, n);
}

/* The head of this one and the tail of another. */
static void
change_splice(struct buf *b, struct rng *r, const struct corpus *c)
{
	const struct input *other = &c->files[rng_below(r, c->n)];
	size_t from;

	b->len = rng_below(r, b->len + 1);
	from = rng_below(r, other->len + 1);
	if (from < other->len)
		buf_insert(b, b->len, other->p + from, other->len - from);
}

static void
mutate(struct buf *b, struct rng *r, const struct corpus *c)
{
	size_t changes, at, n;

	for (changes = 1 + rng_below(r, STACK_MAX); changes > 0; changes--) {
		if (b->len == 0) {
			change_insert(b, r);
			continue;
		}
		switch (rng_below(r, 7)) {
		case 0:
			change_bits(b, r);
			break;
		case 1:
			change_byte(b, r);
			break;
		case 2:
			b->len = rng_below(r, b->len);	/* truncated */
			break;
		case 3:
			at = range(r, b->len, &n);
			buf_delete(b, at, n);
			break;
		case 4:
			change_insert(b, r);
			break;
		case 5:
			change_duplicate(b, r);
			break;
		default:
			change_splice(b, r, c);
			break;
		}
	}
}

/* Exactly len bytes on the heap, so that a sanitizer sees one byte too far. */
static void
run_one(const char *name, size_t mutation, const uint8_t *p, size_t len)
{
	uint8_t *copy;

	if ((copy = malloc(len)) == NULL && len != 0) {
		fprintf(stderr, "fuzz_replay: out of memory\n");
		exit(1);
	}
	if (len != 0)
		memcpy(copy, p, len);
	now_name = name;
	now_mutation = mutation;
	now_p = copy;
	now_len = len;
	(void)LLVMFuzzerTestOneInput(copy, len);
	now_p = NULL;
	now_len = 0;
	free(copy);
}

static bool
load_file(struct input *in, const char *folder, const char *name)
{
	struct stat st;
	FILE *f = NULL;
	bool ok = false;

	if (asprintf(&in->name, "%s/%s", folder, name) == -1) {
		in->name = NULL;
		return false;
	}
	if ((f = fopen(in->name, "re")) == NULL ||
	    fstat(fileno(f), &st) == -1) {
		fprintf(stderr, "fuzz_replay: %s: %s\n", in->name,
		    strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > INPUT_MAX) {
		fprintf(stderr,
		    "fuzz_replay: %s: not a file of at most %d "
		    "bytes\n",
		    in->name, INPUT_MAX);
		goto out;
	}
	in->len = (size_t)st.st_size;
	if ((in->p = malloc(in->len + 1)) == NULL ||
	    fread(in->p, 1, in->len, f) != in->len) {
		fprintf(stderr, "fuzz_replay: %s: cannot read\n", in->name);
		goto out;
	}
	ok = true;
out:
	if (f != NULL)
		fclose(f);
	return ok;
}

static bool
load_folder(struct corpus *c, const char *folder)
{
	struct dirent **names;
	size_t before = c->n;
	bool ok = true;
	int i, n;

	if ((n = scandir(folder, &names, NULL, alphasort)) == -1) {
		fprintf(stderr, "fuzz_replay: %s: %s\n", folder,
		    strerror(errno));
		return false;
	}
	for (i = 0; i < n; i++) {
		if (ok && names[i]->d_name[0] != '.') {
			if (c->n == FILES_MAX) {
				fprintf(stderr,
				    "fuzz_replay: more than %d "
				    "files\n",
				    FILES_MAX);
				ok = false;
			} else {
				ok = load_file(&c->files[c->n++], folder,
				    names[i]->d_name);
			}
		}
		free(names[i]);
	}
	free(names);
	if (ok && c->n == before) {
		fprintf(stderr, "fuzz_replay: %s: no file in it\n", folder);
		ok = false;
	}
	return ok;
}

static void
corpus_free(struct corpus *c)
{
	size_t i;

	for (i = 0; i < c->n; i++) {
		free(c->files[i].name);
		free(c->files[i].p);
	}
	free(c->files);
}

static size_t
replay(const struct corpus *c, struct buf *b, size_t mutations)
{
	const struct input *in;
	const char *leaf;
	struct rng r;
	size_t i, m, runs = 1;

	run_one("(empty input)", 0, NULL, 0);
	for (i = 0; i < c->n; i++) {
		in = &c->files[i];
		run_one(in->name, 0, in->p, in->len);
		/* The folder's place in the world must not change the seed. */
		leaf = strrchr(in->name, '/') + 1;
		r.s = hash(0xcbf29ce484222325U, leaf, strlen(leaf));
		r.s = hash(r.s, in->p, in->len);
		for (m = 1; m <= mutations; m++) {
			memcpy(b->p, in->p, in->len);
			b->len = in->len;
			mutate(b, &r, c);
			run_one(in->name, m, b->p, b->len);
		}
		runs += 1 + mutations;
	}
	return runs;
}

/* The number of mutations a file; -1 for a command line that is not one. */
static long
parse_args(int argc, char **argv)
{
	long mutations = -1;
	char *end;
	int c;

	while ((c = getopt(argc, argv, "n:")) != -1) {
		if (c != 'n')
			return -1;
		mutations = strtol(optarg, &end, 10);
		if (end == optarg || *end != '\0' || mutations < 0 ||
		    mutations > RUNS_MAX)
			return -1;
	}
	if (optind >= argc)
		return -1;
	return mutations == -1 ? MUTATIONS : mutations;
}

int
main(int argc, char **argv)
{
	struct corpus c = { NULL, 0 };
	struct buf b = { NULL, 0 };
	long mutations;
	int i, status = 1;

	if (LLVMFuzzerInitialize != NULL && LLVMFuzzerInitialize(&argc, &argv))
		return 1;
	if ((mutations = parse_args(argc, argv)) == -1) {
		fprintf(stderr, "usage: %s [-n MUTATIONS] FOLDER...\n",
		    argv[0]);
		return 2;
	}
	if (__sanitizer_set_death_callback != NULL)
		__sanitizer_set_death_callback(on_death);
	else
		signal(SIGSEGV, on_signal);
	signal(SIGABRT, on_signal);
	if ((c.files = calloc(FILES_MAX, sizeof(*c.files))) == NULL ||
	    (b.p = malloc(INPUT_MAX)) == NULL) {
		fprintf(stderr, "fuzz_replay: out of memory\n");
		goto out;
	}
	for (i = optind; i < argc; i++)
		if (!load_folder(&c, argv[i]))
			goto out;
	if ((size_t)mutations > RUNS_MAX / c.n)
		mutations = (long)(RUNS_MAX / c.n);
	printf("%zu files, %zu runs\n", c.n, replay(&c, &b, (size_t)mutations));
	status = 0;
out:
	corpus_free(&c);
	free(b.p);
	return status;
}
