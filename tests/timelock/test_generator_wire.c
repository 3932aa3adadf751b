/*
 * test_generator_wire.c - what generators, their workers and supervisors say
 * to each other, there and back, and bodies that break their form.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/generator_wire.h"
#include "timelock/worker_wire.h"

struct fixture {
	int		fds[2];
	struct bytes	buf;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(frame_pair(f->fds, NULL), 0);
	bytes_init(&f->buf, GENERATOR_WIRE_RESULT_MAX + FRAME_ROOM);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fds[0]);
	close(f->fds[1]);
	bytes_free(&f->buf);
	free(f);
	return 0;
}

static struct frame
receive(struct fixture *f, const struct frame_role *role, uint32_t type)
{
	struct frame fr = { .fd = -1 };
	struct err e = ERR_INIT;

	if (frame_recv(f->fds[1], role, &fr, &f->buf, 5000, &e) != 0)
		fail_msg("%s", e.msg);
	assert_int_equal(fr.type, type);
	return fr;
}

static void
test_progress(void **state)
{
	const struct generator_progress p = { "recheck", 1, UINT64_MAX - 1, 3,
		1024, 24, 1234.5, 86400.25, 12.5, 7, 9 };
	struct generator_progress q = p;
	struct generator_wire_progress out;
	struct fixture *f = *state;
	struct frame fr;

	assert_int_equal(generator_wire_send_progress(f->fds[0], &p, NULL),
	    0);
	fr = receive(f, &generator_wire_to_supervisor,
	    GENERATOR_WIRE_PROGRESS);
	assert_int_equal(generator_wire_get_progress(&fr, &out, NULL), 0);
	assert_string_equal(out.progress.phase, "recheck");
	assert_int_equal(out.progress.completed_hashes, 1);
	assert_int_equal(out.progress.total_hashes, UINT64_MAX - 1);
	assert_int_equal(out.progress.completed_segments, 3);
	assert_int_equal(out.progress.segments, 1024);
	assert_int_equal(out.progress.workers, 24);
	assert_true(out.progress.rate_hps == 1234.5);
	assert_true(out.progress.eta_s == 86400.25);
	assert_true(out.progress.elapsed_s == 12.5);
	assert_int_equal(out.progress.restarts, 7);
	assert_int_equal(out.progress.recheck_errors, 9);
	q.eta_s = -1;
	assert_int_equal(generator_wire_send_progress(f->fds[0], &q, NULL),
	    0);
	fr = receive(f, &generator_wire_to_supervisor,
	    GENERATOR_WIRE_PROGRESS);
	assert_int_equal(generator_wire_get_progress(&fr, &out, NULL), 0);
	assert_true(out.progress.eta_s < 0);
}

static void
test_texts(void **state)
{
	char text[GENERATOR_WIRE_TEXT_MAX + 1];
	char big[GENERATOR_WIRE_TEXT_MAX + 100];
	struct err why = ERR_INIT, back = ERR_INIT;
	struct fixture *f = *state;
	struct frame fr;

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(generator_wire_send_note(f->fds[0], big, NULL), 0);
	fr = receive(f, &generator_wire_to_supervisor, GENERATOR_WIRE_NOTE);
	assert_int_equal(generator_wire_get_note(&fr, text, NULL), 0);
	assert_int_equal(strlen(text), GENERATOR_WIRE_TEXT_MAX);
	(void)err_set(&why, ERR_CORRUPT, "a bit changed");
	assert_int_equal(generator_wire_send_failed(f->fds[0], &why, NULL), 0);
	fr = receive(f, &generator_wire_to_supervisor, GENERATOR_WIRE_FAILED);
	assert_int_equal(generator_wire_get_failed(&fr, &back, NULL), 0);
	test_err_is(&back, ERR_CORRUPT, "a bit changed");
	assert_int_equal(generator_wire_send_stop(f->fds[0], NULL), 0);
	(void)receive(f, &generator_wire_to_generator, GENERATOR_WIRE_STOP);
}

static void
test_result(void **state)
{
	const struct manifest_params p = puzzle_params(3, 20, 6);
	struct puzzle_board *b = puzzle_board_new();
	struct manifest *m, *back = NULL;
	struct secret *key = NULL, *key_back = NULL;
	struct fixture *f = *state;
	struct puzzle_source src;
	struct err e = ERR_INIT;
	struct frame fr;
	uint8_t raw[32];

	puzzle_source_init(&src, b, p.key);
	m = puzzle_make(&p, &src.plain, raw);
	m->has_times = false;
	assert_int_equal(secret_copy(&key, raw, 32, NULL), 0);
	assert_int_equal(generator_wire_send_result(f->fds[0], m, key, &e), 0);
	fr = receive(f, &generator_wire_to_supervisor, GENERATOR_WIRE_RESULT);
	assert_int_equal(generator_wire_get_result(&fr, &back, &key_back, &e),
	    0);
	assert_true(secret_is_equal(key_back, raw, 32));
	assert_false(back->has_times);
	puzzle_solve(back, &src.plain, raw);
	manifest_free(&back);
	secret_free(&key_back);
	/* each bit: another key is noticed, another map is or breaks */
	for (size_t i = fr.len - 32; i < fr.len; i++) {
		((uint8_t *)(uintptr_t)fr.body)[i] ^= 1;
		assert_int_equal(generator_wire_get_result(&fr, &back,
		    &key_back, &e), ERR_PEER);
		test_err_is(&e, ERR_PEER, "commits to");
		((uint8_t *)(uintptr_t)fr.body)[i] ^= 1;
	}
	for (; fr.len > 0; fr.len--) {
		struct frame cut = fr;

		cut.len--;
		assert_int_equal(generator_wire_get_result(&cut, &back,
		    &key_back, &e), ERR_PEER);
	}
	assert_null(back);
	assert_null(key_back);
	/* with times it is no unsigned map */
	m->has_times = true;
	assert_int_equal(generator_wire_send_result(f->fds[0], m, key, &e), 0);
	fr = receive(f, &generator_wire_to_supervisor, GENERATOR_WIRE_RESULT);
	assert_int_equal(generator_wire_get_result(&fr, &back, &key_back, &e),
	    ERR_PEER);
	secret_free(&key);
	manifest_free(&m);
	puzzle_board_free(b);
}

static void
test_worker(void **state)
{
	struct worker_wire_job j = { WORKER_WIRE_CHECK, 1024, 7,
		(uint64_t)1 << 40, { 1, 2, 3 } }, job;
	struct worker_wire_report r = { .type = WORKER_WIRE_MILESTONE,
		.step = 9, .tag = { 4 }, .secret = { 5 } }, got;
	struct fixture *f = *state;
	struct frame fr;

	assert_int_equal(worker_wire_send_job(f->fds[0], &j, NULL), 0);
	fr = receive(f, &worker_wire_to_worker, WORKER_WIRE_JOB);
	assert_int_equal(worker_wire_get_job(&fr, &job, NULL), 0);
	assert_memory_equal(&job, &j, sizeof(j));
	for (unsigned t = WORKER_WIRE_MILESTONE; t <= WORKER_WIRE_RATE; t++) {
		r.type = (enum worker_wire_type)t;
		r.hashes = 77;
		r.ns = 88;
		assert_int_equal(worker_wire_send_report(f->fds[0], &r, NULL),
		    0);
		fr = receive(f, &worker_wire_to_generator, t);
		assert_int_equal(worker_wire_get_report(&fr, &got, NULL), 0);
		assert_int_equal(got.type, t);
		if (t == WORKER_WIRE_RATE) {
			assert_int_equal(got.hashes, 77);
			assert_int_equal(got.ns, 88);
			continue;
		}
		assert_int_equal(got.step, 9);
		assert_memory_equal(got.tag, r.tag, sizeof(r.tag));
		/* a check tells its tag and nothing else */
		assert_int_equal(got.secret[0], t == WORKER_WIRE_CHECKED ? 0 :
		    5);
		assert_int_equal(fr.len < 32, t == WORKER_WIRE_CHECKED);
	}
}

static const struct { const char *name, *hex; } bad_jobs[] = {
	{ "nothing", "" },
	{ "empty map", "a0" },
	{ "a kind that is none", "a5 0103 0200 0300 0400 0540" },
	{ "short state", "a5 0100 0201 0300 0404 0541 00" },
	{ "from after to", "a5 0100 0201 0305 0404 05 5820"
	    "00000000000000000000000000000000"
	    "00000000000000000000000000000000" },
	{ "segment 2^32", "a5 0100 021b0000000100000000 0300 0404 05 5820"
	    "00000000000000000000000000000000"
	    "00000000000000000000000000000000" },
};

static void
test_bad_bodies(void **state)
{
	struct generator_wire_progress progress;
	char text[GENERATOR_WIRE_TEXT_MAX + 1];
	struct worker_wire_report report;
	struct worker_wire_job job;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(bad_jobs); i++) {
		struct frame fr = { .fd = -1 };
		uint8_t *p = test_unhex(bad_jobs[i].hex, &fr.len);

		fr.body = p;
		for (unsigned t = 1; t <= 5; t++) {
			fr.type = t;
			if (worker_wire_get_job(&fr, &job, &e) != ERR_PEER)
				fail_msg("%s", bad_jobs[i].name);
			assert_int_equal(worker_wire_get_report(&fr, &report,
			    &e), ERR_PEER);
			assert_int_equal(generator_wire_get_progress(&fr,
			    &progress, &e), ERR_PEER);
			assert_int_equal(generator_wire_get_note(&fr, text,
			    &e), ERR_PEER);
			assert_int_equal(generator_wire_get_failed(&fr, &e,
			    &e), ERR_PEER);
		}
		free(p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_progress, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_result, setup, teardown),
		cmocka_unit_test_setup_teardown(test_worker, setup, teardown),
		cmocka_unit_test(test_bad_bodies),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
