/*
 * puzzle_util.h - puzzles for tests: a hash of a microsecond instead of
 * RandomX, puzzles made in one process by the plain definition, and a count
 * of what was hashed that survives the processes that hashed.
 */
#ifndef AMBER_TESTS_TIMELOCK_PUZZLE_UTIL_H
#define AMBER_TESTS_TIMELOCK_PUZZLE_UTIL_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/identity.h"
#include "timelock/chain.h"
#include "timelock/hasher.h"
#include "timelock/manifest.h"

enum { PUZZLE_SEGMENTS = 16, PUZZLE_STEPS = 512 };

/* Shared by all processes of a test (MAP_SHARED). */
struct puzzle_board {
	/* How often step j of segment i was computed: [i][j]. */
	_Atomic uint32_t	count[PUZZLE_SEGMENTS + 1][PUZZLE_STEPS + 1];
	_Atomic uint64_t	total;
	/* Faults, each done once: at the given step of the given segment
	 * (0: none) ... */
	struct puzzle_fault {
		_Atomic uint32_t segment;
		_Atomic uint64_t step;
		_Atomic uint32_t times;		/* left */
	} flip,			/* one bit of the result is wrong */
	  die,			/* the process is killed */
	  stop,			/* the process is stopped */
	  refuse,		/* it leaves as after a refused permission */
	  babble;		/* it sends its generator what is no frame;
				 * of confined workers only */
	_Atomic int64_t		hash_ns;	/* a hash takes this long */
	_Atomic uint32_t	retired;	/* hashers retired */
	_Atomic uint32_t	opened;
	_Atomic int		is_bad;		/* recheck() fails */
};

struct puzzle_board *puzzle_board_new(void);
void	puzzle_board_free(struct puzzle_board *b);
/* Arms a fault for `times` times. */
void	puzzle_arm(struct puzzle_fault *f, uint32_t segment, uint64_t step,
	uint32_t times);

/* SHA-256(key || in), or another source's hash, counted and with the board's
 * faults. */
struct puzzle_source {
	struct hasher_source	source;		/* hand &s.source to the code */
	struct puzzle_board	*board;
	uint8_t			key[CHAIN_KEY_LEN];
	struct chain_hasher	plain;		/* neither counts nor errs */
	const struct hasher_source *inner;	/* NULL: SHA-256 */
	struct chain_hasher	inner_hash;	/* of this process */
};
void	puzzle_source_init(struct puzzle_source *s, struct puzzle_board *b,
	const uint8_t key[CHAIN_KEY_LEN]);
/* Over another source, an engine's say.  plain is not usable. */
void	puzzle_source_over(struct puzzle_source *s, struct puzzle_board *b,
	const struct hasher_source *inner);

/* Params with key filled; n, m, interval as given. */
struct manifest_params puzzle_params(uint32_t n, uint64_t m,
	uint64_t interval);
/* A whole puzzle with times and id, by the definition; epoch_key out. */
struct manifest *puzzle_make(const struct manifest_params *p,
	const struct chain_hasher *h, uint8_t epoch_key[32]);
/* Solves by the definition, checking every tag; fails the test otherwise. */
void	puzzle_solve(const struct manifest *m, const struct chain_hasher *h,
	uint8_t epoch_key[32]);
/* Signs m into a new file. */
void	puzzle_write(struct manifest *m, const struct identity *id,
	const char *path);

#endif
