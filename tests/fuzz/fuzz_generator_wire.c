/*
 * fuzz_generator_wire.c - bodies of the frames between generator, workers and
 * supervisor.  The first byte picks the message.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/generator_wire.h"
#include "timelock/worker_wire.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void
read_supervisors(const struct frame *f, unsigned which)
{
	struct generator_wire_progress progress;
	char text[GENERATOR_WIRE_TEXT_MAX + 1];
	struct err why = ERR_INIT;
	struct secret *key = NULL;
	struct manifest *m = NULL;

	switch (which) {
	case 0:
		(void)generator_wire_get_progress(f, &progress, NULL);
		break;
	case 1:
		(void)generator_wire_get_note(f, text, NULL);
		break;
	case 2:
		if (generator_wire_get_failed(f, &why, NULL) == 0)
			assert(why.code < 0);
		break;
	default:
		if (generator_wire_get_result(f, &m, &key, NULL) == 0)
			assert(m != NULL && key != NULL && !m->has_times);
		manifest_free(&m);
		secret_free(&key);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct frame f = { .fd = -1 };
	struct worker_wire_report report;
	struct worker_wire_job job;

	if (len == 0)
		return 0;
	if (secret_init(NULL) != 0)
		abort();
	f.body = p + 1;
	f.len = len - 1;
	f.type = p[0] % 8u;
	if (p[0] % 16 < 8) {
		read_supervisors(&f, p[0] % 4u);
		return 0;
	}
	if (f.type >= WORKER_WIRE_MILESTONE && f.type <= WORKER_WIRE_RATE)
		(void)worker_wire_get_report(&f, &report, NULL);
	else if (worker_wire_get_job(&f, &job, NULL) == 0)
		assert(job.from <= job.to && job.kind < WORKER_WIRE_KINDS);
	return 0;
}
