/*
 * test_kill.c - a writing process killed (SIGKILL) at random moments, again
 * and again on one archive; and a real small file system that fills.
 *
 * After each kill the archive is recovered: every acknowledged record is
 * there, at its index and with its leaf, and no record is there twice.  The
 * argument is the number of kills (20 without).
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/disk.h"
#include "archive/receipt.h"
#include "archive/signer.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/log.h"
#include "base/secret.h"
#include "tests/archive/check.h"
#include "tests/archive/life.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

enum { WRITERS = 8, ACKS_MAX = 1 << 20, WAIT_S = 60 };

static unsigned long kills = 20;
static struct identity *id;
static struct sample_epoch ep;

struct ack {
	uint64_t		index;
	struct merkle_hash	leaf;
};

/* ---- the process that writes ---- */

struct slot {
	struct writer	*w;
	struct capture	 c;
	char		 url[64];
	uint8_t		 body[4000];
};

struct writer {
	struct archive	*a;
	int		 fd;		/* acknowledgements go here */
	uint64_t	 n;
	struct slot	 slots[WRITERS];
};

static void	slot_next(struct slot *s);

/* Told to the parent before anything else happens. */
static void
slot_on_done(const struct archive_done *d, void *arg)
{
	struct slot *s = arg;
	struct receipt rc;
	struct ack ack;

	if (d->status != 0 ||
	    receipt_parse(&rc, (const char *)d->receipt, d->receipt_len,
		NULL) != 0)
		_exit(3);
	ack = (struct ack){ d->index, rc.leaf };
	if (write(s->w->fd, &ack, sizeof(ack)) != sizeof(ack))
		_exit(4);
	slot_next(s);
}

static void
slot_next(struct slot *s)
{
	const struct archive_cb cb = { slot_on_done, s };
	size_t body = s->w->n * 37 % sizeof(s->body);

	memset(s->body, (int)s->w->n, body);
	sample_capture_body(&s->c, s->w->n++, s->body, body, s->url);
	if (archive_append(s->w->a, 1, &s->c, &cb, NULL) != 0)
		_exit(5);
}

static void
publish_on_done(const struct archive_done *d, void *arg)
{
	struct writer *w = arg;

	if (d->status != 0)
		_exit(6);
	for (size_t i = 0; i < WRITERS; i++) {
		w->slots[i].w = w;
		slot_next(&w->slots[i]);
	}
}

static void
write_for_ever(const char *path, int fd)
{
	static struct writer w;
	const struct archive_cb cb = { publish_on_done, &w };
	struct archive_opts o = { .path = path, .vkey = identity_vkey(id),
		.may_create = true };
	struct secret *key = NULL;
	struct err e = ERR_INIT;

	o.base = event_base_new();
	o.commit.segment_entries = 300;
	w.fd = fd;
	if (signer_local_new(&o.commit.recovery.signer, id, &e) != 0 ||
	    archive_open_writer(&w.a, &o, NULL, &e) != 0 ||
	    secret_copy(&key, ep.key, sizeof(ep.key), &e) != 0 ||
	    archive_publish(w.a, ep.cose.p, ep.cose.len, key, &cb, &e) != 0) {
		fprintf(stderr, "%s\n", e.msg);
		_exit(7);
	}
	event_base_loop(o.base, 0);
	_exit(8);		/* only a signal ends it */
}

/* ---- the one that kills ---- */

static struct ack *acks;
static size_t nacks;

static void
take_acks(int fd)
{
	while (nacks < ACKS_MAX &&
	    io_read_full(fd, &acks[nacks], sizeof(*acks), NULL) == 0)
		nacks++;
	assert_true(nacks < ACKS_MAX);
}

static void
kill_one(const char *path, uint64_t *seed)
{
	const struct timespec ms = { 0, (long)(5 + test_random(seed) % 120) *
		1000000 };
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	/* Acks never wait for the parent: a pipe of 1 MiB is plenty. */
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 1 << 20) > 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		close(fds[0]);
		write_for_ever(path, fds[1]);
	}
	close(fds[1]);
	nanosleep(&ms, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	take_acks(fds[0]);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("the writer ended by itself: %d",
		    WEXITSTATUS(status));
}

static int
by_hash(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct merkle_hash));
}

static void
check_all(const char *path)
{
	struct life f;
	struct check c;

	life_init(&f, id);
	life_begin(&f, path);
	life_end(&f, false);
	check_archive(&c, path, identity_vkey(id), &ep, 1);
	for (size_t i = 0; i < nacks; i++)
		if (acks[i].index >= c.tree.size ||
		    !merkle_is_equal(&acks[i].leaf, &c.leaves[acks[i].index]))
			fail_msg("record %llu was acknowledged and is lost",
			    (unsigned long long)acks[i].index);
	qsort(c.leaves, (size_t)c.tree.size, sizeof(*c.leaves), by_hash);
	for (uint64_t i = 1; i < c.tree.size; i++)
		if (merkle_is_equal(&c.leaves[i - 1], &c.leaves[i]))
			fail_msg("a record is there twice");
	check_free(&c);
}

static void
test_kills(void **state)
{
	char *folder = test_folder_make(), *path = test_path(folder, "a");
	uint64_t seed = 20240601;

	(void)state;
	acks = calloc(ACKS_MAX, sizeof(*acks));
	assert_non_null(acks);
	for (unsigned long i = 0; i < kills; i++) {
		kill_one(path, &seed);
		if (access(path, F_OK) == 0 && nacks > 0)
			check_all(path);
	}
	print_message("%lu kills, %zu records acknowledged, none lost\n",
	    kills, nacks);
	assert_true(nacks > kills);
	free(acks);
	test_folder_remove(folder);
	free(path);
	free(folder);
}

/* ---- a file system of 3 MiB ---- */

static int full_calls, full_status;
static bool full_flag;
static char full_receipt[RECEIPT_MAX];
static size_t full_len;
static uint64_t full_index;

static void
full_on_done(const struct archive_done *d, void *arg)
{
	(void)arg;
	full_calls++;
	full_status = d->status;
	full_flag = d->is_full;
	if (d->status == 0) {
		full_index = d->index;
		full_len = d->receipt_len;
		memcpy(full_receipt, d->receipt, d->receipt_len);
	}
}

static bool
one_record(struct archive *a, struct event_base *base, struct capture *c)
{
	const struct archive_cb cb = { full_on_done, NULL };
	int calls = full_calls;

	if (archive_append(a, 1, c, &cb, NULL) != 0)
		return false;
	while (full_calls == calls)
		event_base_loop(base, EVLOOP_ONCE);
	return full_status == 0;
}

#define NEED(x)	do {							\
	if (!(x)) {							\
		fprintf(stderr, "line %d: " #x "\n", __LINE__);		\
		return 1;						\
	}								\
} while (0)

/* In a child with a mount namespace of its own. */
static int
fill(void *arg)
{
	static uint8_t body[100 << 10];
	const struct archive_cb cb = { full_on_done, NULL };
	char *path = test_path(arg, "a"), *ballast = test_path(arg, "b");
	struct archive_opts o = { .path = path, .vkey = identity_vkey(id),
		.may_create = true };
	struct archive *a = NULL;
	struct secret *key = NULL;
	struct capture c;
	char url[64];
	int records = 0, fd;

	if (unshare(CLONE_NEWNS) == -1 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("tmpfs", arg, "tmpfs", 0, "size=3m,mode=700") == -1)
		return 77;
	NEED((fd = open(ballast, O_CREAT | O_WRONLY, 0600)) != -1);
	NEED(posix_fallocate(fd, 0, 1 << 20) == 0);
	o.base = event_base_new();
	NEED(signer_local_new(&o.commit.recovery.signer, id, NULL) == 0);
	NEED(archive_open_writer(&a, &o, NULL, NULL) == 0);
	NEED(secret_copy(&key, ep.key, sizeof(ep.key), NULL) == 0);
	NEED(archive_publish(a, ep.cose.p, ep.cose.len, key, &cb, NULL) == 0);
	while (full_calls == 0)
		event_base_loop(o.base, EVLOOP_ONCE);
	sample_capture_body(&c, 1, body, sizeof(body), url);
	while (one_record(a, o.base, &c) && records < 100)
		records++;
	NEED(records > 5 && records < 30);
	NEED(full_status == ERR_SYS && full_flag);
	NEED(!archive_has_room(a));
	usleep(1200000);
	NEED(!archive_has_room(a));
	/* Room again: writing resumes, and nothing was lost. */
	NEED(unlink(ballast) == 0 && close(fd) == 0);
	usleep(1200000);
	NEED(archive_has_room(a));
	for (int i = 0; i < 5; i++)
		NEED(one_record(a, o.base, &c));
	NEED(full_index == (uint64_t)records + 5);
	NEED(archive_close(&a, NULL) == 0);
	{
		struct check ch;

		check_archive(&ch, path, identity_vkey(id), &ep, 1);
		NEED(ch.records == (size_t)records + 5 && ch.is_closed);
		check_receipt(&ch, identity_vkey(id), full_receipt, full_len,
		    full_index);
		check_free(&ch);
	}
	return 0;
}

static void
test_full(void **state)
{
	char *folder = test_folder_make();
	int status = test_child(fill, folder, WAIT_S);

	(void)state;
	test_folder_remove(folder);
	free(folder);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		test_skip("no mounts here: a full disk is only injected "
			  "(test_archive_queue, test_commit)");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int
group_setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	if (secret_init(NULL) != 0 ||
	    identity_new(&id, "log.example/kill", NULL) != 0)
		return -1;
	sample_epoch_make(&ep, id, 1);
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	sample_epoch_free(&ep);
	identity_free(&id);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kills),
		cmocka_unit_test(test_full),
	};

	if (argc > 1)
		kills = strtoul(argv[1], NULL, 10);
	return test_exit_code(
	    cmocka_run_group_tests(tests, group_setup, group_teardown));
}
