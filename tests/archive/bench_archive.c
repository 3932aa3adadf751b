/*
 * bench_archive.c - the archive against the way of its predecessor, on the
 * same disk, in turns.
 *
 *	bench_archive [--seconds S] [--rounds R] [--folder DIR]
 *
 * Predecessor: a JSON file a record with hex ciphertext around a base64 body,
 * fsync of the file and of its folder, one thread a writer.  Ours: the writer
 * beside an event loop, so many captures in flight as there are writers.  Both
 * begin with the same capture in memory and count a record when it is durable.
 * Prints medians over the rounds, group sizes, sync times, the size on disk
 * and how long the loop was held.
 */
#include <err.h>
#include <event2/event.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/seal.h"
#include "archive/signer.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/secret.h"
#include "base/units.h"
#include "tests/archive/sample.h"

enum {
	WRITERS_MAX = 16,
	ROUNDS_MAX = 15,
	/* What a usual exchange has besides its body: heads, and a chain of
	 * two certificates. */
	REQUEST_HEAD = 240,
	RESPONSE_HEAD = 420,
	LEAF_CERT = 1150,
	NEXT_CERT = 1290,
	LATENCIES = 1 << 18,
	HEADS_SPREAD = 4096,
};

static double seconds = 3;
static unsigned rounds = 3;
static const char *folder = ".";
static struct identity *id;
static struct sample_epoch ep;
static uint8_t filler[4096];

struct result {
	double			rate;		/* records a second */
	uint64_t		records;
	uint64_t		capture_bytes;	/* encoded */
	uint64_t		disk_bytes;
	struct commit_stats	stats;
	double			hold_ms;	/* longest, of the loop */
	double			p50_ms, p99_ms;
};

static double
now(clockid_t id_of_clock)
{
	struct timespec t;

	clock_gettime(id_of_clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
must(int r, const struct err *e)
{
	if (r != 0)
		errx(1, "%s", e->msg);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

static uint64_t disk_sum;

static int
add_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)path;
	(void)f;
	if (type == FTW_F)
		disk_sum += (uint64_t)st->st_size;
	return 0;
}

static uint64_t
disk_bytes(const char *path)
{
	disk_sum = 0;
	if (nftw(path, add_one, 16, FTW_PHYS) != 0)
		err(1, "%s", path);
	return disk_sum;
}

static void
fill_capture(struct capture *c, const uint8_t *body, size_t n)
{
	sample_capture_small(c);
	c->request_head = capture_span(filler, REQUEST_HEAD);
	c->response_head = capture_span(filler, RESPONSE_HEAD);
	c->response_body = capture_span(body, n);
	c->tls.nchain = 2;
	c->tls.chain[0] = capture_span(filler, LEAF_CERT);
	c->tls.chain[1] = capture_span(filler, NEXT_CERT);
}

/* ---- ours ---- */

struct run {
	struct archive	*a;
	double		 end;
	uint64_t	 done;
	unsigned	 flying;
	double		*latency;	/* ms, of the first LATENCIES */
};

struct writer {
	struct run	*run;
	struct capture	 c;
	double		 begun;
};

static void	writer_on_done(const struct archive_done *d, void *arg);

static void
writer_next(struct writer *w)
{
	const struct archive_cb cb = { writer_on_done, w };
	struct err e = ERR_INIT;

	w->begun = now(CLOCK_MONOTONIC);
	must(archive_append(w->run->a, 1, &w->c, &cb, &e), &e);
	w->run->flying++;
}

static void
writer_on_done(const struct archive_done *d, void *arg)
{
	struct writer *w = arg;
	double t = now(CLOCK_MONOTONIC);

	must(d->status, d->err);
	if (w->run->done < LATENCIES)
		w->run->latency[w->run->done] = (t - w->begun) * 1e3;
	w->run->done++;
	w->run->flying--;
	if (t < w->run->end)
		writer_next(w);
}

static void
publish_on_done(const struct archive_done *d, void *arg)
{
	must(d->status, d->err);
	*(int *)arg = 1;
}

static void
publish(struct archive *a, struct event_base *base)
{
	int is_done = 0;
	const struct archive_cb cb = { publish_on_done, &is_done };
	struct secret *key = NULL;
	struct err e = ERR_INIT;

	must(secret_copy(&key, ep.key, sizeof(ep.key), &e), &e);
	must(archive_publish(a, ep.cose.p, ep.cose.len, key, &cb, &e), &e);
	secret_free(&key);
	while (!is_done)
		event_base_loop(base, EVLOOP_ONCE);
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
run_ours(const char *path, unsigned writers, const uint8_t *body, size_t n,
    struct result *out)
{
	struct event_base *base = event_base_new();
	struct archive_opts o = { .path = path, .vkey = identity_vkey(id),
		.base = base, .may_create = true };
	struct writer w[WRITERS_MAX];
	struct run run = { .done = 0 };
	struct archive_state st;
	struct err e = ERR_INIT;
	double begun, held;
	size_t len = 0, k;

	must(signer_local_new(&o.commit.recovery.signer, id, &e), &e);
	must(archive_open_writer(&run.a, &o, NULL, &e), &e);
	publish(run.a, base);
	run.latency = calloc(LATENCIES, sizeof(double));
	begun = now(CLOCK_MONOTONIC);
	run.end = begun + seconds;
	for (unsigned i = 0; i < writers; i++) {
		w[i].run = &run;
		fill_capture(&w[i].c, body, n);
		writer_next(&w[i]);
	}
	/* CPU time, so that only our own work counts. */
	while (run.flying > 0) {
		held = now(CLOCK_THREAD_CPUTIME_ID);
		event_base_loop(base, EVLOOP_ONCE);
		held = (now(CLOCK_THREAD_CPUTIME_ID) - held) * 1e3;
		if (held > out->hold_ms)
			out->hold_ms = held;
	}
	out->rate = (double)run.done / (now(CLOCK_MONOTONIC) - begun);
	out->records = run.done;
	archive_get_state(run.a, &st);
	out->stats = st.commit;
	must(archive_close(&run.a, &e), &e);
	signer_free(&o.commit.recovery.signer);
	event_base_free(base);
	must(capture_encoded_len(&w[0].c, &len, &e), &e);
	out->capture_bytes = len * run.done;
	out->disk_bytes = disk_bytes(path);
	k = run.done < LATENCIES ? (size_t)run.done : LATENCIES;
	qsort(run.latency, k, sizeof(double), by_value);
	out->p50_ms = run.latency[k / 2];
	out->p99_ms = run.latency[k * 99 / 100];
	free(run.latency);
}

/* ---- the predecessor's way ---- */

struct old {
	const char	*path;
	unsigned	 number;
	const uint8_t	*body;
	size_t		 n;
	double		 end;
	uint64_t	 done;
	pthread_t	 thread;
};

/* The file's text; *len of it.  The caller frees. */
static char *
old_text(const struct old *o, uint64_t i, size_t *len)
{
	static const uint8_t nonce[12];
	size_t b64 = sodium_base64_ENCODED_LEN(o->n,
	    sodium_base64_VARIANT_ORIGINAL);
	size_t cap = b64 + 8192, n, hex;
	char *plain = malloc(cap), *out;
	uint8_t *cipher;
	unsigned long long clen;
	int k;

	if (plain == NULL)
		errx(1, "no memory");
	k = snprintf(plain, cap,
	    "{\"method\":\"GET\",\"url\":\"https://a.example/%llu\","
	    "\"status\":200,\"headers\":\"",
	    (unsigned long long)i);
	n = (size_t)k;
	sodium_bin2hex(plain + n, cap - n, filler,
	    (REQUEST_HEAD + RESPONSE_HEAD) / 2);
	n += strlen(plain + n);
	n += (size_t)snprintf(plain + n, cap - n, "\",\"body\":\"");
	sodium_bin2base64(plain + n, cap - n, o->body, o->n,
	    sodium_base64_VARIANT_ORIGINAL);
	n += b64 - 1;
	n += (size_t)snprintf(plain + n, cap - n, "\"}");
	if ((cipher = malloc(n + 16)) == NULL)
		errx(1, "no memory");
	crypto_aead_chacha20poly1305_ietf_encrypt(cipher, &clen,
	    (uint8_t *)plain, n, NULL, 0, NULL, nonce, ep.key);
	hex = (size_t)clen * 2;
	if ((out = malloc(hex + 256)) == NULL)
		errx(1, "no memory");
	n = (size_t)snprintf(out, 256,
	    "{\"id\":%llu,\"nonce\":\"%024d\",\"ciphertext\":\"",
	    (unsigned long long)i, 0);
	sodium_bin2hex(out + n, hex + 1, cipher, (size_t)clen);
	n += hex;
	memcpy(out + n, "\"}\n", 3);
	*len = n + 3;
	free(cipher);
	free(plain);
	return out;
}

static void *
old_main(void *arg)
{
	struct old *o = arg;
	struct err e = ERR_INIT;
	int dir = open(o->path, O_RDONLY | O_DIRECTORY);

	if (dir == -1)
		err(1, "%s", o->path);
	do {
		char name[64];
		size_t len;
		char *text = old_text(o, o->done, &len);
		int fd;

		snprintf(name, sizeof(name), "%02u-%09llu.json", o->number,
		    (unsigned long long)o->done);
		if ((fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL,
			 0640)) == -1)
			err(1, "%s", name);
		must(io_write_full(fd, text, len, &e), &e);
		if (fsync(fd) == -1 || close(fd) == -1 || fsync(dir) == -1)
			err(1, "sync");
		free(text);
		o->done++;
	} while (now(CLOCK_MONOTONIC) < o->end);
	close(dir);
	return NULL;
}

static void
run_old(const char *path, unsigned writers, const uint8_t *body, size_t n,
    struct result *out)
{
	struct old o[WRITERS_MAX];
	double begun = now(CLOCK_MONOTONIC);

	if (mkdir(path, 0750) == -1)
		err(1, "%s", path);
	for (unsigned i = 0; i < writers; i++) {
		o[i] = (struct old){ .path = path, .number = i, .body = body,
			.n = n, .end = begun + seconds };
		if (pthread_create(&o[i].thread, NULL, old_main, &o[i]) != 0)
			errx(1, "thread");
	}
	for (unsigned i = 0; i < writers; i++) {
		pthread_join(o[i].thread, NULL);
		out->records += o[i].done;
	}
	out->rate = (double)out->records / (now(CLOCK_MONOTONIC) - begun);
	out->disk_bytes = disk_bytes(path);
}

/* ---- report ---- */

static void
print_machine(void)
{
	char line[256] = "", cpu[256] = "unknown";
	struct utsname u;
	struct statfs st;
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "model name", 10) == 0) {
			snprintf(cpu, sizeof(cpu), "%s", strchr(line, ':') + 2);
			cpu[strcspn(cpu, "\n")] = '\0';
			break;
		}
	if (f != NULL)
		fclose(f);
	if (uname(&u) != 0 || statfs(folder, &st) != 0)
		err(1, "%s", folder);
	printf("machine: %s, %ld CPUs, %s %s, file system 0x%lx; %g s a run, "
	       "%u rounds in turns, medians\n\n",
	    cpu, sysconf(_SC_NPROCESSORS_ONLN), u.sysname, u.release,
	    (unsigned long)st.f_type, seconds, rounds);
}

static void
print_histogram(const char *what, const uint64_t *v, size_t n, uint64_t base)
{
	printf("    %s:", what);
	for (size_t i = 0; i < n; i++)
		if (v[i] > 0)
			printf(" <=%llu:%llu",
			    (unsigned long long)(base << i),
			    (unsigned long long)v[i]);
	printf("\n");
}

static double
median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* What length and padding add to a capture of n bytes, as a part of it. */
static double
padding(uint64_t n)
{
	return (double)(seal_plain_len(n) - n) / (double)n;
}

/* Where what the disk holds above the captures comes from.  The padding
 * depends on the very length, so also as the heads vary. */
static void
print_overhead(const struct result *a)
{
	const uint64_t len = a->capture_bytes / a->records;
	const double whole = (double)a->disk_bytes / (double)a->capture_bytes,
		     pad = padding(len);
	double least = pad, most = pad, sum = 0;

	for (uint64_t n = len; n < len + HEADS_SPREAD; n++) {
		const double p = padding(n);

		least = p < least ? p : least;
		most = p > most ? p : most;
		sum += p;
	}
	printf("    disk/capture %.4f: padding %.2f %%, the rest %.2f %%; with "
	       "up to 4 KiB more of heads padding is %.2f to %.2f, %.2f %% in "
	       "the mean\n", whole, pad * 100, (whole - 1 - pad) * 100,
	    least * 100, most * 100, sum / (double)HEADS_SPREAD * 100);
}

static void
compare(unsigned writers, const uint8_t *body, size_t n)
{
	double ours[ROUNDS_MAX], old[ROUNDS_MAX], ratio[ROUNDS_MAX];
	struct result a = { .rate = 0 }, b = { .rate = 0 };
	char path[4096], size[UNITS_TEXT_MAX];
	double hold = 0;

	for (unsigned i = 0; i < rounds; i++) {
		a = (struct result){ .rate = 0 };
		b = (struct result){ .rate = 0 };
		snprintf(path, sizeof(path), "%s/bench.%d", folder, getpid());
		run_ours(path, writers, body, n, &a);
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		sync();
		run_old(path, writers, body, n, &b);
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		sync();
		ours[i] = a.rate;
		old[i] = b.rate;
		ratio[i] = a.rate / b.rate;
		if (a.hold_ms > hold)
			hold = a.hold_ms;
	}
	units_format_size(n, size);
	printf("%s body, %u writer%s: %.0f records/s, predecessor %.0f, "
	       "ratio %.2f (median of rounds)\n",
	    size, writers, writers == 1 ? "" : "s", median(ours, rounds),
	    median(old, rounds), median(ratio, rounds));
	print_overhead(&a);
	printf("    predecessor's disk/body %.3f; latency p50 %.2f ms, p99 "
	       "%.2f ms; loop held %.3f ms CPU at most\n",
	    (double)b.disk_bytes / ((double)b.records * (double)n), a.p50_ms,
	    a.p99_ms, hold);
	print_histogram("records a group", a.stats.groups,
	    COMMIT_GROUP_BUCKETS, 1);
	print_histogram("sync, microseconds", a.stats.sync_us,
	    COMMIT_SYNC_BUCKETS, 1);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static const size_t sizes[] = { 1 << 10, 100 << 10, 10 << 20 };
	static const unsigned writers[] = { 1, 16 };
	struct err e = ERR_INIT;
	uint8_t *body = malloc(10 << 20);
	uint64_t v;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--folder") == 0) {
			folder = argv[i + 1];
			continue;
		}
		must(units_parse_uint(argv[i + 1], 1, 600, &v, &e), &e);
		if (strcmp(argv[i], "--seconds") == 0)
			seconds = (double)v;
		else if (strcmp(argv[i], "--rounds") == 0)
			rounds = v < ROUNDS_MAX ? (unsigned)v : ROUNDS_MAX;
		else
			errx(2, "usage: bench_archive [--seconds S] "
				"[--rounds R] [--folder DIR]");
	}
	must(secret_init(&e), &e);
	must(identity_new(&id, "bench.example/log", &e), &e);
	sample_epoch_make(&ep, id, 1);
	must(secret_fill_random(filler, sizeof(filler), &e), &e);
	if (body == NULL)
		errx(1, "no memory");
	randombytes_buf(body, 10 << 20);
	print_machine();
	for (size_t s = 0; s < 3; s++)
		for (size_t k = 0; k < 2; k++)
			compare(writers[k], body, sizes[s]);
	sample_epoch_free(&ep);
	identity_free(&id);
	free(body);
	return 0;
}
