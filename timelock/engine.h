/*
 * engine.h - RandomX as Amber uses it: cache or dataset, checked, read-only.
 *
 * An engine holds the memory that every hash reads: the 256 MiB cache (light)
 * or the 2,080 MiB dataset (full; its cache is released once the dataset is
 * built and checked).  It is built once, before anything forks; the threads
 * that help building it are joined before engine_new() returns, so nothing of
 * ours runs in the process afterwards.  Children inherit it by fork and each
 * makes its own VM (timelock/vm.h); the pages stay shared.
 *
 * Trust: known answers are compared before the first engine of a process
 * tree (the 1.x library ignores the rx/2 flag and would hash rx/0); the
 * chosen flags are compared with the library's interpreter for every engine;
 * random ranges of the dataset are computed again; the whole is digested and
 * made read-only.
 *
 * Flags are randomx_get_flags() plus JIT and SECURE, always.  A refused change
 * of a JIT page's permission ends the process with ENGINE_EXIT_REFUSED before
 * a hash leaves it (timelock/narrow.h).
 *
 * Programs that use this link the object library `narrow` themselves (its
 * symbols must stand in the executable); the static library cannot bring it.
 */
#ifndef AMBER_TIMELOCK_ENGINE_H
#define AMBER_TIMELOCK_ENGINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct engine;

enum engine_mode {
	ENGINE_LIGHT,			/* the cache alone; about 10x slower */
	ENGINE_FULL,			/* the dataset */
};

enum engine_algorithm {
	ENGINE_RX0,			/* "rx/0", library 1.x and 2.x */
	ENGINE_RX2,			/* "rx/2", library 2.x */
	ENGINE_ALGORITHMS		/* how many there are */
};

enum {
	ENGINE_KEY_LEN = 32,		/* a puzzle's dataset key */
	ENGINE_KEY_MAX = 60,		/* what the library takes */
	ENGINE_HASH_LEN = 32,
	ENGINE_EXIT_REFUSED = 41,	/* exit status: a permission change of
					 * JIT pages was refused */
};

/* Bytes each mode needs at its height: 256 MiB; 2,080 + 256 MiB. */
#define ENGINE_CACHE_BYTES	(256ULL << 20)
#define ENGINE_DATASET_BYTES	(2080ULL << 20)
/* And what a worker adds: scratchpad, JIT buffers, stack. */
#define ENGINE_VM_BYTES		(3ULL << 20)

struct engine_opts {
	enum engine_mode	 mode;
	enum engine_algorithm	 algorithm;
	const uint8_t		*key;		/* copied */
	size_t			 key_len;	/* 1..ENGINE_KEY_MAX bytes */
	unsigned		 threads;	/* 0: one per allowed CPU */
	bool			 no_narrow;	/* whole-buffer changes only */
	bool			 no_huge;	/* no huge-page advice */
	/* Called by the thread that called engine_new(), about 10 times a
	 * second while the dataset is built; share is 0..1.  May be NULL. */
	void			(*on_progress)(void *arg, double share);
	void			*arg;
	/* Looked at while building; non-zero ends it with ERR_CANCEL.  A
	 * signal handler's flag.  May be NULL. */
	const volatile sig_atomic_t *stop;
};

/*
 * Builds, checks, and makes read-only.  Uses all allowed CPUs for the dataset;
 * the caller's affinity is as before.  ERR_NOMEM names what the mode needs and
 * what there is; ERR_UNSUPPORTED: the library lacks the algorithm or the CPU
 * the JIT; ERR_CORRUPT: a comparison failed, i.e. this machine does not
 * compute reliably; ERR_CANCEL.
 */
int	engine_new(struct engine **out, const struct engine_opts *o,
	struct err *e);
/* Frees cache and dataset; every VM of this process must be gone or never
 * used again.  Sets *ep to NULL; *ep may be NULL. */
void	engine_free(struct engine **ep);

/* The same dataset once more, for measurement: on pages of another kind, or
 * as one solver's own.  Writable, undigested.  ERR_NOMEM. */
int	engine_copy(struct engine **out, const struct engine *from,
	bool no_huge, bool large_pages, struct err *e);

/*
 * Digests the dataset again (single-threaded, about a second a GiB) and
 * compares with the digest taken after building: ERR_CORRUPT when a bit
 * changed since.  Light mode: the cache likewise, where its address is known.
 */
int	engine_recheck_digest(const struct engine *en, struct err *e);

/*
 * n inputs hashed by the chosen flags and by the library's interpreter, both
 * over this engine's memory.  engine_new() has done it with a few.  Makes and
 * retires its own VMs; ERR_CORRUPT names the first input that differs.
 */
int	engine_self_test(const struct engine *en, unsigned n, struct err *e);

enum engine_mode engine_mode(const struct engine *en);
enum engine_algorithm engine_algorithm(const struct engine *en);

/* What became of it, for people and records. */
struct engine_report {
	enum engine_mode	mode;
	enum engine_algorithm	algorithm;
	unsigned		flags;		/* RANDOMX_FLAG_*, the VM's */
	unsigned		threads;	/* that built it */
	double			build_s;	/* dataset, or cache if light */
	double			check_s;	/* self-test, ranges, digest */
	uint64_t		memory_bytes;	/* cache or dataset, now held */
	uint64_t		huge_bytes;	/* of them on huge pages, now */
	bool			has_narrow;	/* may VMs narrow?  (vm_report
						 * says whether they did) */
};
/* Reads /proc/self/smaps: call it seldom.  0 or ERR_SYS. */
int	engine_report(const struct engine *en, struct engine_report *r,
	struct err *e);

/* --- algorithms ---------------------------------------------------------- */

/* "rx/0", "rx/2". */
const char *engine_algorithm_name(enum engine_algorithm a);
/* The reverse; ERR_ARG for another word. */
int	engine_algorithm_parse(const char *name, enum engine_algorithm *out,
	struct err *e);
/* Could this build have it?  No memory, no probe; false is certain. */
bool	engine_is_compiled(enum engine_algorithm a);
/*
 * Does the library that was loaded compute it?  By known answers over a
 * temporary cache (256 MiB, about a second), once per process tree.  0;
 * ERR_UNSUPPORTED says which library and which algorithm; ERR_NOMEM;
 * ERR_CORRUPT when the answers are none of the known ones.
 */
int	engine_has_algorithm(enum engine_algorithm a, struct err *e);
/* The newest that the library offers, for new puzzles. */
int	engine_newest_algorithm(enum engine_algorithm *out, struct err *e);

/* --- memory -------------------------------------------------------------- */

/* Memory that this process could still take: MemAvailable, bounded by its
 * cgroups' limits and RLIMIT_AS.  0 or ERR_SYS. */
int	engine_memory_available(uint64_t *bytes, struct err *e);
/* 0 when mode's memory and `workers` VMs fit; else ERR_NOMEM with both
 * sizes in the message. */
int	engine_memory_fits(enum engine_mode mode, unsigned workers,
	struct err *e);

#endif
