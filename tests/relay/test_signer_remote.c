/*
 * test_signer_remote.c - a committer and a signer in two threads with only a
 * socket between them; refusals, a lost signer, answers that are none.
 */
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test_util.h"

#include "archive/checkpoint.h"
#include "archive/note.h"
#include "archive/signer.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/identity.h"
#include "base/secret.h"
#include "relay/messages.h"
#include "relay/signer_remote.h"
#include "relay/signer_serve.h"

struct far_end {
	pthread_t		 thread;
	struct event_base	*base;
	struct identity		*id;
	struct signer		*local;
	struct signer_serve	*serve;
	int			 end_code;
	uint64_t		 notes;
};

static void
far_on_end(const struct err *why, void *arg)
{
	struct far_end *f = arg;

	f->end_code = why->code;
	f->notes = signer_serve_count(f->serve);
	signer_serve_free(&f->serve);
	event_base_loopbreak(f->base);
}

static void *
far_run(void *arg)
{
	struct far_end *f = arg;

	event_base_dispatch(f->base);
	return NULL;
}

static struct signer *
far_start(struct far_end *f)
{
	struct signer *s;
	int fds[2];

	memset(f, 0, sizeof(*f));
	assert_int_equal(frame_pair(fds, NULL), 0);
	assert_non_null(f->base = event_base_new());
	assert_int_equal(identity_new(&f->id, "test.example", NULL), 0);
	assert_int_equal(signer_local_new(&f->local, f->id, NULL), 0);
	assert_int_equal(signer_serve_new(&f->serve, f->base, fds[0],
	    f->local, far_on_end, f, NULL), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, far_run, f), 0);
	assert_int_equal(signer_remote_new(&s, fds[1], NULL), 0);
	return s;
}

/* After the near end has closed its socket. */
static void
far_stop(struct far_end *f)
{
	assert_int_equal(pthread_join(f->thread, NULL), 0);
	assert_null(f->serve);
	signer_free(&f->local);
	identity_free(&f->id);
	event_base_free(f->base);
}

static void
note_has_tree(const struct bytes *note, const struct far_end *f,
	const struct merkle *tree)
{
	struct merkle_hash root;
	struct checkpoint cp;

	assert_int_equal(checkpoint_open(&cp, (const char *)note->p,
	    note->len, identity_vkey(f->id), NULL), 0);
	merkle_root(tree, &root);
	assert_int_equal(cp.size, tree->size);
	assert_true(merkle_is_equal(&cp.root, &root));
}

static void
test_extend(void **state)
{
	struct bytes note = BYTES_INIT(NOTE_MAX), again = BYTES_INIT(NOTE_MAX);
	struct merkle_hash leaf[5];
	struct merkle tree;
	struct far_end f;
	struct signer *s;
	struct err e;
	size_t i;

	(void)state;
	s = far_start(&f);
	assert_int_equal(signer_last(s, &note, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, "the signer refuses");
	merkle_init(&tree);
	assert_int_equal(signer_resume(s, &tree, NULL, 0, NULL), 0);
	for (i = 0; i < 5; i++) {
		merkle_leaf(&leaf[i], "x", i % 2);
		merkle_append(&tree, &leaf[i]);
	}
	assert_int_equal(signer_extend(s, leaf, 5, &note, NULL), 0);
	note_has_tree(&note, &f, &tree);
	assert_int_equal(signer_last(s, &again, NULL), 0);
	assert_int_equal(again.len, note.len);
	assert_memory_equal(again.p, note.p, note.len);
	/* A refusal ends nothing. */
	assert_int_equal(signer_resume(s, &tree, NULL, 0, &e), ERR_PHASE);
	bytes_clear(&again);
	assert_int_equal(signer_extend(s, NULL, 0, &again, NULL), 0);
	assert_memory_equal(again.p, note.p, note.len);
	signer_free(&s);
	far_stop(&f);
	assert_int_equal(f.end_code, ERR_EOF);
	assert_int_equal(f.notes, 4);
	bytes_free(&note);
	bytes_free(&again);
}

/* As many leaves as a frame carries, and one more, which takes two. */
static void
test_many_leaves(void **state)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct merkle_hash *leaf;
	struct merkle tree;
	struct far_end f;
	struct signer *s;
	size_t i, n;

	(void)state;
	s = far_start(&f);
	merkle_init(&tree);
	assert_int_equal(signer_resume(s, &tree, NULL, 0, NULL), 0);
	leaf = calloc(SIGNER_LEAVES_MAX + 1, sizeof(*leaf));
	assert_non_null(leaf);
	for (n = SIGNER_LEAVES_MAX; n <= SIGNER_LEAVES_MAX + 1; n++) {
		for (i = 0; i < n; i++)
			merkle_append(&tree, &leaf[i]);
		bytes_clear(&note);
		assert_int_equal(signer_extend(s, leaf, n, &note, NULL), 0);
		note_has_tree(&note, &f, &tree);
	}
	free(leaf);
	signer_free(&s);
	far_stop(&f);
	bytes_free(&note);
}

/* Once lost, always lost: no later call is tried. */
static void
test_lost(void **state)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct signer *s;
	struct err e;
	int fds[2];

	(void)state;
	assert_int_equal(frame_pair(fds, NULL), 0);
	assert_int_equal(signer_remote_new(&s, fds[1], NULL), 0);
	close(fds[0]);
	assert_int_not_equal(signer_last(s, &note, &e), 0);
	assert_int_not_equal(signer_last(s, &note, &e), 0);
	assert_non_null(strstr(e.msg, "lost before"));
	assert_int_equal(note.len, 0);
	signer_free(&s);
	bytes_free(&note);
}

/* An answer to another question is lost trust, not a note. */
static void
test_wrong_job(void **state)
{
	struct frame f = { .type = MESSAGE_NOTE, .job = 2,
		.body = (const uint8_t *)"x", .len = 1, .fd = -1 };
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct signer *s;
	struct err e;
	int fds[2];

	(void)state;
	assert_int_equal(frame_pair(fds, NULL), 0);
	assert_int_equal(signer_remote_new(&s, fds[1], NULL), 0);
	assert_int_equal(frame_send(fds[0], &f, NULL), 0);
	assert_int_equal(signer_last(s, &note, &e), ERR_PEER);
	f.job = 1;
	assert_int_equal(frame_send(fds[0], &f, NULL), 0);
	assert_int_not_equal(signer_last(s, &note, &e), 0);
	assert_int_equal(note.len, 0);
	signer_free(&s);
	close(fds[0]);
	bytes_free(&note);
}

/* A committer that breaks the protocol is ended; the tree stays. */
static void
test_bad_peer(void **state)
{
	struct frame q = { .type = MESSAGE_NOTE, .job = 1, .fd = -1 };
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct signer_serve *serve;
	struct merkle tree;
	struct far_end f;
	int fds[2];

	(void)state;
	memset(&f, 0, sizeof(f));
	assert_int_equal(frame_pair(fds, NULL), 0);
	assert_non_null(f.base = event_base_new());
	assert_int_equal(identity_new(&f.id, "test.example", NULL), 0);
	assert_int_equal(signer_local_new(&f.local, f.id, NULL), 0);
	merkle_init(&tree);
	/* Twice, before anything is signed. */
	assert_int_equal(signer_resume(f.local, &tree, NULL, 0, NULL), 0);
	assert_int_equal(signer_resume(f.local, &tree, NULL, 0, NULL), 0);
	assert_int_equal(signer_extend(f.local, NULL, 0, &note, NULL), 0);
	assert_int_equal(signer_serve_new(&serve, f.base, fds[0], f.local,
	    far_on_end, &f, NULL), 0);
	f.serve = serve;
	assert_int_equal(frame_send(fds[1], &q, NULL), 0);
	event_base_dispatch(f.base);
	assert_null(f.serve);
	assert_int_equal(f.end_code, ERR_PEER);
	assert_int_equal(signer_resume(f.local, &tree, NULL, 0, NULL),
	    ERR_PHASE);
	close(fds[1]);
	signer_free(&f.local);
	identity_free(&f.id);
	event_base_free(f.base);
	bytes_free(&note);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extend),
		cmocka_unit_test(test_many_leaves),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_wrong_job),
		cmocka_unit_test(test_bad_peer),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
