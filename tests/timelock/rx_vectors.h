/*
 * rx_vectors.h - tests/data/randomx.json for C tests.
 *
 * Reads that one file, whose layout is known (one member a line), and fails
 * the running test when it is not as expected.
 */
#ifndef AMBER_TESTS_RX_VECTORS_H
#define AMBER_TESTS_RX_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "timelock/engine.h"

enum { RX_VECTORS_MAX = 16, RX_INPUT_MAX = 256 };

struct rx_vector {
	char	key[ENGINE_KEY_MAX + 1];
	uint8_t	input[RX_INPUT_MAX];
	size_t	input_len;
	uint8_t	want[ENGINE_ALGORITHMS][ENGINE_HASH_LEN];
};

/* h0 = 32 zero bytes, h = RandomX(h), n times, key "test key 000". */
struct rx_chain {
	unsigned	n;
	uint8_t		want[ENGINE_HASH_LEN];
};

struct rx_vectors {
	size_t			nvectors;
	struct rx_vector	vectors[RX_VECTORS_MAX];
	size_t			nchain[ENGINE_ALGORITHMS];
	struct rx_chain		chain[ENGINE_ALGORITHMS][RX_VECTORS_MAX];
};

void	rx_vectors_load(struct rx_vectors *v);

#endif
