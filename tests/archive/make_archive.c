/*
 * make_archive.c - writes an archive for tests of readers: so many epochs and
 * records, and the epochs' keys beside it.
 *
 *	make_archive DIR EPOCHS RECORDS [SEGMENT-ENTRIES]
 *	make_archive DIR + RECORDS [SEGMENT-ENTRIES]
 *
 * The first makes DIR; the second opens it again, recovers it if need be, and
 * adds records to its last epoch.  DIR.keys gets a line "number hex-key" for
 * each epoch, DIR.vkey the verifier key, DIR.urls the URL of each record in
 * log order, DIR.receipts one receipt a record, each followed by a line of
 * "=", as soon as it is given; DIR.identity is the log's key.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/signer.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "base/units.h"
#include "tests/archive/sample.h"

enum { BATCH = 37 };

struct files {
	FILE	*keys, *vkey, *urls, *receipts;
};

static FILE *
beside(const char *dir, const char *suffix, const char *mode)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%s", dir, suffix);
	if ((f = fopen(path, mode)) == NULL)
		err(1, "%s", path);
	return f;
}

static uint64_t
number(const char *s, uint64_t max)
{
	struct err e = ERR_INIT;
	uint64_t v;

	if (units_parse_uint(s, 1, max, &v, &e) != 0)
		errx(2, "%s", e.msg);
	return v;
}

static void
must(int r, const struct err *e)
{
	if (r != 0)
		errx(1, "%s", e->msg);
}

static void
write_epoch(struct commit *c, const struct identity *id, uint64_t n,
    struct sample_epoch *ep, const struct files *f)
{
	struct commit_entry en;
	struct err e = ERR_INIT;

	sample_epoch_make(ep, id, n);
	must(commit_entry_manifest(&en, ep->cose.p, ep->cose.len, &e), &e);
	must(commit_manifest(c, &ep->epoch, &en, &e), &e);
	commit_entry_free(&en);
	fprintf(f->keys, "%llu ", (unsigned long long)n);
	for (size_t i = 0; i < sizeof(ep->key); i++)
		fprintf(f->keys, "%02x", ep->key[i]);
	fprintf(f->keys, "\n");
}

/* Bodies of many sizes, the empty one and those around a padding step among
 * them. */
static size_t
body_size(uint64_t i)
{
	static const size_t sizes[] = { 0, 1, 100, 500, 700, 1016, 1017, 3000,
		70000 };

	return sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void
write_batch(struct commit *c, const char *origin,
    const struct sample_epoch *ep, size_t n, const struct files *f)
{
	struct commit_entry en[BATCH], *v[BATCH];
	uint64_t first = commit_size(c);
	struct err e = ERR_INIT;

	for (size_t i = 0; i < n; i++) {
		sample_entry(&en[i], ep, origin, first + i,
		    body_size(first + i));
		v[i] = &en[i];
	}
	must(commit_batch(c, v, n, &e), &e);
	for (size_t i = 0; i < n; i++) {
		fprintf(f->urls, "https://a.example/%llu\n",
		    (unsigned long long)(first + i));
		fwrite(en[i].receipt.p, 1, en[i].receipt.len, f->receipts);
		fputs("=\n", f->receipts);
		commit_entry_free(&en[i]);
	}
	if (fflush(f->urls) != 0 || fflush(f->receipts) != 0)
		err(1, "write");
}

static void
write_records(struct commit *c, const char *origin,
    const struct sample_epoch *ep, uint64_t left, const struct files *f)
{
	for (; left > 0; left -= left < BATCH ? left : BATCH)
		write_batch(c, origin, ep, left < BATCH ? (size_t)left : BATCH,
		    f);
}

/* The epochs, each with its share of the records. */
static void
write_all(struct commit *c, const struct identity *id, uint64_t epochs,
    uint64_t records, const struct files *f)
{
	static struct sample_epoch ep;

	for (uint64_t k = 0; k < epochs; k++) {
		write_epoch(c, id, k + 1, &ep, f);
		write_records(c, identity_vkey(id)->name, &ep,
		    records / epochs + (k < records % epochs ? 1 : 0), f);
		sample_epoch_free(&ep);
	}
}

static struct identity *
open_identity(const char *dir, bool is_new)
{
	struct identity *id = NULL;
	struct err e = ERR_INIT;
	char path[4096];

	snprintf(path, sizeof(path), "%s.identity", dir);
	if (is_new)
		must(identity_create(path, "relay.example/log", &e), &e);
	must(identity_load(path, &id, &e), &e);
	return id;
}

int
main(int argc, char **argv)
{
	struct commit_opts o = { .segment_entries = 100 };
	static struct sample_epoch ep;
	struct identity *id;
	struct layout *l = NULL;
	struct signer *s = NULL;
	struct commit *c = NULL;
	struct recovery rec;
	struct err e = ERR_INIT;
	char vkey[VKEY_TEXT_MAX];
	struct files f;
	bool is_new;

	if (argc < 4 || argc > 5)
		errx(2, "usage: make_archive DIR EPOCHS|+ RECORDS "
			"[SEGMENT-ENTRIES]");
	is_new = strcmp(argv[2], "+") != 0;
	if (argc == 5)
		o.segment_entries = number(argv[4], 65536);
	must(secret_init(&e), &e);
	id = open_identity(argv[1], is_new);
	f = (struct files){ beside(argv[1], "keys", is_new ? "w" : "a"),
		beside(argv[1], "vkey", "w"),
		beside(argv[1], "urls", is_new ? "w" : "a"),
		beside(argv[1], "receipts", is_new ? "w" : "a") };
	vkey_print(identity_vkey(id), vkey);
	fprintf(f.vkey, "%s\n", vkey);
	if (is_new)
		must(layout_create(argv[1], identity_vkey(id), disk_system(),
			 &e), &e);
	must(layout_open(&l, argv[1], &e), &e);
	must(layout_lock(l, disk_system(), &e), &e);
	must(signer_local_new(&s, id, &e), &e);
	o.recovery.disk = disk_system();
	o.recovery.signer = s;
	must(commit_new(&c, l, &o, &rec, &e), &e);
	if (is_new)
		write_all(c, id, number(argv[2], 1000),
		    number(argv[3], 100000000), &f);
	else {
		sample_epoch_make(&ep, id, rec.epoch.number);
		write_records(c, identity_vkey(id)->name, &ep,
		    number(argv[3], 100000000), &f);
		sample_epoch_free(&ep);
	}
	must(commit_close(&c, true, &e), &e);
	layout_free(&l);
	signer_free(&s);
	identity_free(&id);
	if (fclose(f.keys) != 0 || fclose(f.vkey) != 0 || fclose(f.urls) != 0 ||
	    fclose(f.receipts) != 0)
		err(1, "write");
	return 0;
}
