/*
 * double_generator.c - a program that the supervisor takes for
 * `amber-timelock generate --fd 3`: its puzzle is there at once.
 *
 * Files that change it: "crash" (a number: die so many times first), "hang"
 * (wait to be stopped), "chatter" (then go on telling), "deafen" (wait, and do
 * not listen), "liar" (a key that its manifest does not commit to, once),
 * "limit" (refuse, by ERR_LIMIT).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/secret.h"
#include "tests/relay/double_folder.h"
#include "tests/relay/puzzle_double.h"
#include "timelock/generator_wire.h"
#include "timelock/manifest.h"

#define LOG	"generator.log"

enum { FD = 3, HANG_MS = 60000, CHATTER = 5 };

static const char *
value_of(int argc, char **argv, const char *name)
{
	int i;

	for (i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	double_folder_log(LOG, "no %s", name);
	exit(2);
}

static void
crash_if_asked(void)
{
	const long left = double_folder_number("crash");

	if (left <= 0)
		return;
	double_folder_remove("crash");
	if (left > 1)
		double_folder_log("crash", "%ld", left - 1);
	_exit(3);
}

static void
refuse_if_asked(struct err *e)
{
	if (!double_folder_has("limit"))
		return;
	(void)err_set(e, ERR_LIMIT, "it would take too long");
	(void)generator_wire_send_failed(FD, e, NULL);
	exit(1);
}

static void
hang_if_asked(const struct generator_progress *p, struct err *e)
{
	struct bytes buf = BYTES_INIT(FRAME_ROOM + 64);
	struct frame f;
	int r;

	if (double_folder_has("deafen"))
		(void)sleep(HANG_MS / 1000);
	if (!double_folder_has("hang"))
		return;
	r = frame_recv(FD, &generator_wire_to_generator, &f, &buf, HANG_MS,
	    e);
	double_folder_log(LOG, r == 0 ? "stopped" : "left: %s", e->msg);
	for (int i = 0; i < CHATTER && double_folder_has("chatter"); i++) {
		(void)usleep(100 * 1000);
		(void)generator_wire_send_progress(FD, p, NULL);
	}
	exit(4);
}

int
main(int argc, char **argv)
{
	const struct generator_progress p = { .phase = "compute",
		.completed_hashes = 1, .total_hashes = 2, .segments = 1,
		.workers = 1, .eta_s = -1 };
	struct err e = ERR_INIT;
	struct manifest *m;
	struct secret *key;
	uint64_t epoch;

	if (secret_init(&e) != 0)
		return 1;
	epoch = strtoull(value_of(argc, argv, "--epoch"), NULL, 10);
	double_folder_log(LOG, "generate pid %ld epoch %llu", (long)getpid(),
	    (unsigned long long)epoch);
	crash_if_asked();
	refuse_if_asked(&e);
	if (generator_wire_send_progress(FD, &p, &e) != 0 ||
	    generator_wire_send_note(FD, "only a double", &e) != 0)
		return 1;
	hang_if_asked(&p, &e);
	puzzle_double_make(value_of(argc, argv, "--origin"), epoch, &m, &key);
	if (double_folder_has("liar")) {
		double_folder_remove("liar");
		key->p[0] ^= 1;
	}
	if (generator_wire_send_result(FD, m, key, &e) != 0)
		return 1;
	manifest_free(&m);
	secret_free(&key);
	return 0;
}
