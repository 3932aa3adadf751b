/*
 * test_merkle.c - the log against RFC 6962's definition, written out anew,
 * and against the roots that Certificate Transparency publishes.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/merkle.h"
#include "archive/merkle_proof.h"
#include "tests/test_util.h"

enum { MANY = 200 };

static const char *const ct_leaves[] = { "", "00", "10", "2021", "3031",
	"40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f" };
static const char *const ct_roots[] = {
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
	"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
	"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
	"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
	"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
	"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
	"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
	"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};

static struct merkle_hash leaves[MANY];

/* MTH(D[lo:hi]) by the book. */
static struct merkle_hash
book_root(size_t lo, size_t hi)
{
	struct merkle_hash l, r;
	size_t k = 1;

	if (hi - lo == 1)
		return leaves[lo];
	while (k * 2 < hi - lo)
		k *= 2;
	l = book_root(lo, lo + k);
	r = book_root(lo + k, hi);
	merkle_node(&l, &l, &r);
	return l;
}

/* PATH(m, D[lo:hi]) by the book. */
static void
book_path(size_t m, size_t lo, size_t hi, struct merkle_proof *p)
{
	size_t k = 1;

	if (hi - lo == 1)
		return;
	while (k * 2 < hi - lo)
		k *= 2;
	if (m < lo + k) {
		book_path(m, lo, lo + k, p);
		p->node[p->n++] = book_root(lo + k, hi);
	} else {
		book_path(m, lo + k, hi, p);
		p->node[p->n++] = book_root(lo, lo + k);
	}
}

static int
setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		merkle_leaf(&leaves[i], &i, sizeof(i));
	return 0;
}

static void
test_ct_roots(void **state)
{
	struct merkle m;

	(void)state;
	merkle_init(&m);
	for (size_t i = 0; i <= TEST_COUNT(ct_leaves); i++) {
		struct merkle_hash root, leaf;
		size_t n;
		uint8_t *p;

		merkle_root(&m, &root);
		test_hex_is(root.b, sizeof(root.b), ct_roots[i]);
		if (i == TEST_COUNT(ct_leaves))
			break;
		p = test_unhex(ct_leaves[i], &n);
		merkle_leaf(&leaf, p, n);
		merkle_append(&m, &leaf);
		free(p);
	}
}

static void
test_roots(void **state)
{
	struct merkle m;

	(void)state;
	merkle_init(&m);
	for (size_t n = 1; n <= MANY; n++) {
		struct merkle_hash root, want = book_root(0, n);
		struct merkle_hash frontier[MERKLE_LEVELS];
		struct merkle again;
		size_t k;

		merkle_append(&m, &leaves[n - 1]);
		merkle_root(&m, &root);
		assert_true(merkle_is_equal(&root, &want));
		k = merkle_frontier(&m, frontier);
		assert_int_equal(merkle_restore(&again, n, frontier, k, NULL),
		    0);
		merkle_root(&again, &root);
		assert_true(merkle_is_equal(&root, &want));
		assert_int_equal(merkle_restore(&again, n, frontier, k - 1,
				     NULL),
		    ERR_FORMAT);
		assert_int_equal(merkle_restore(&again, n, frontier, k + 1,
				     NULL),
		    ERR_FORMAT);
	}
	assert_int_equal(merkle_restore(&m, MERKLE_SIZE_MAX + 1, leaves, 1,
			     NULL),
	    ERR_FORMAT);
}

static void
check_proof(const struct merkle_proof *p, size_t i, size_t n)
{
	struct merkle_hash root = book_root(0, n);
	struct merkle_proof want = { .n = 0 };

	book_path(i, 0, n, &want);
	assert_int_equal(p->index, i);
	assert_int_equal(p->size, n);
	assert_int_equal(p->n, want.n);
	assert_memory_equal(p->node, want.node,
	    want.n * sizeof(struct merkle_hash));
	assert_int_equal(merkle_proof_verify(p, &leaves[i], &root, NULL), 0);
}

static void
test_batches(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 5, 8, 13, 21, 33 };
	struct merkle m;

	(void)state;
	merkle_init(&m);
	for (size_t before = 0; before < 66; before++) {
		for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
			struct merkle_batch *b = NULL;
			size_t k = sizes[s];

			assert_int_equal(merkle_batch_new(&b, &m,
					     leaves + before, k, NULL),
			    0);
			for (size_t i = 0; i < k; i++) {
				struct merkle_proof p;

				merkle_batch_proof(b, i, &p);
				check_proof(&p, before + i, before + k);
			}
			merkle_batch_free(&b);
			assert_null(b);
		}
		merkle_append(&m, &leaves[before]);
	}
}

static void
test_prover(void **state)
{
	(void)state;
	for (size_t i = 0; i < 40; i++) {
		struct merkle_prover pr;
		struct merkle_proof p;

		merkle_prover_begin(&pr, i);
		for (size_t n = 0; n < 45; n++) {
			struct err e = ERR_INIT;
			int r = merkle_prover_end(&pr, &p, &e);

			if (n <= i)
				test_err_is(&e, ERR_NOENT, "no leaf");
			else
				check_proof(&p, i, n);
			assert_int_equal(r, n <= i ? ERR_NOENT : 0);
			merkle_prover_add(&pr, &leaves[n]);
		}
	}
}

/* The leaves up to any size are passed by the tree of that size. */
static void
test_prover_skip(void **state)
{
	(void)state;
	for (size_t i = 0; i < 40; i++) {
		for (size_t to = 0; to <= i; to++) {
			struct merkle_prover pr;
			struct merkle_proof p;
			struct merkle tree;

			merkle_init(&tree);
			merkle_prover_begin(&pr, i);
			for (size_t n = 0; n < to; n++) {
				merkle_append(&tree, &leaves[n]);
				if (n < to / 2)
					merkle_prover_add(&pr, &leaves[n]);
			}
			merkle_prover_skip(&pr, &tree);
			for (size_t n = to; n < 45; n++) {
				if (n > i) {
					assert_int_equal(merkle_prover_end(&pr,
					    &p, NULL), 0);
					check_proof(&p, i, n);
				}
				merkle_prover_add(&pr, &leaves[n]);
			}
		}
	}
}

static void
test_verify_refuses(void **state)
{
	struct merkle_hash root = book_root(0, 77), other;
	struct merkle_proof p = { .index = 70, .size = 77 }, q;

	(void)state;
	book_path(70, 0, 77, &p);
	assert_int_equal(merkle_proof_verify(&p, &leaves[70], &root, NULL), 0);
	for (size_t i = 0; i < p.n; i++) {
		for (size_t bit = 0; bit < 256; bit++) {
			q = p;
			q.node[i].b[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(merkle_proof_verify(&q, &leaves[70],
					     &root, NULL),
			    ERR_AUTH);
		}
	}
	assert_int_equal(merkle_proof_verify(&p, &leaves[71], &root, NULL),
	    ERR_AUTH);
	other = book_root(0, 76);
	assert_int_equal(merkle_proof_verify(&p, &leaves[70], &other, NULL),
	    ERR_AUTH);
	for (uint64_t i = 0; i < 80; i++) {
		q = p;
		q.index = i;
		assert_int_equal(merkle_proof_verify(&q, &leaves[70], &root,
				     NULL) == 0,
		    i == 70);
	}
	q = p;
	q.n--;
	assert_int_equal(merkle_proof_verify(&q, &leaves[70], &root, NULL),
	    ERR_FORMAT);
	q.n += 2;
	assert_int_equal(merkle_proof_verify(&q, &leaves[70], &root, NULL),
	    ERR_FORMAT);
	q = p;
	q.size = 0;
	assert_int_equal(merkle_proof_verify(&q, &leaves[70], &root, NULL),
	    ERR_FORMAT);
	q.size = q.index;
	assert_int_equal(merkle_proof_verify(&q, &leaves[70], &root, NULL),
	    ERR_FORMAT);
	/* Paths that lead to the root, of places that no log has: behind the
	 * last leaf, and beyond the largest size. */
	root = book_root(0, 2);
	q = (struct merkle_proof){ .index = 0, .size = 2, .n = 1,
		.node = { leaves[1] } };
	assert_int_equal(merkle_proof_verify(&q, &leaves[0], &root, NULL), 0);
	q.index = 2;
	assert_int_equal(merkle_proof_verify(&q, &leaves[0], &root, NULL),
	    ERR_FORMAT);
	q.node[0] = leaves[0];
	q.index = MERKLE_SIZE_MAX + 1;
	q.size = q.index + 1;
	assert_int_equal(merkle_proof_verify(&q, &leaves[1], &root, NULL),
	    ERR_FORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ct_roots),
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_prover),
		cmocka_unit_test(test_prover_skip),
		cmocka_unit_test(test_verify_refuses),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
