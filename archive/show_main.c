/*
 * show_main.c - `amber-archive show`: one entry in full, but for bodies.
 */
#include <inttypes.h>
#include <string.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "archive/head_view.h"
#include "archive/keyring.h"
#include "base/clock.h"
#include "base/secret.h"
#include "base/units.h"

enum { OPT_RECORD_KEY = 256 };

static const struct option options[] = {
	{ "record-key", required_argument, NULL, OPT_RECORD_KEY },
	{ NULL, 0, NULL, 0 },
};

struct show {
	struct secret	*rs;
	bool		 is_shown, is_open;
	uint64_t	 index;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct show *s = arg;

	(void)cli;
	(void)c;
	secret_free(&s->rs);
	return keyring_read_record_key(value, &s->rs, e);
}

static const char *
type_name(enum segment_type t)
{
	return t == SEGMENT_MANIFEST ? "epoch manifest" :
	    t == SEGMENT_PRUNED	     ? "record, pruned" :
				       "record";
}

/* ---- text ---- */

static void
put_name(const char *name)
{
	(void)printf("%-15s", name);
}

static void
put_text(const char *name, const struct capture_text *t)
{
	if (t->p == NULL)
		return;
	put_name(name);
	archive_cli_put(t->p, t->n, 0);
	(void)printf("\n");
}

static void
put_hex(const char *name, const void *p, size_t n)
{
	put_name(name);
	archive_cli_put_hex(p, n);
	(void)printf("\n");
}

static void
put_outside(const struct archive_cli_record *rec)
{
	const struct segment_frame *f = &rec->en.frame;
	char name[SEGMENT_NAME_MAX], when[CLOCK_TEXT_MAX];

	segment_name(name, rec->en.first);
	clock_format_s(rec->en.mtime, when);
	(void)printf("%-15s%" PRIu64 ", %s\n"
		     "%-15sseg/%s, offset %" PRIu64 "\n"
		     "%-15s%s, the last write of that file\n"
		     "%-15s%" PRIu64 "\n",
	    "entry", f->index, type_name(f->type), "segment", name, f->offset,
	    "committed by", when, "epoch",
	    rec->epoch != NULL ? rec->epoch->epoch.number : rec->en.epoch);
	put_hex("leaf", f->leaf.b, sizeof(f->leaf.b));
	if (f->type == SEGMENT_MANIFEST) {
		if (rec->epoch != NULL)
			put_hex("puzzle", rec->epoch->epoch.puzzle,
			    SEAL_ID_LEN);
		return;
	}
	put_hex("puzzle", f->head.puzzle, sizeof(f->head.puzzle));
	put_hex("salt", f->head.salt, sizeof(f->head.salt));
	put_hex("commitment", f->head.commit, sizeof(f->head.commit));
	put_hex("ciphertext", f->digest, sizeof(f->digest));
	(void)printf("%-15s%" PRIu64 " bytes\n", "size", f->cipher_len);
}

/* The line alone that ends a head: trailers that were none. */
static bool
is_empty(const struct capture_bytes *head)
{
	return head->n == 0 || (head->n == 1 && head->p[0] == '\n') ||
	    (head->n == 2 && memcmp(head->p, "\r\n", 2) == 0);
}

static void
put_flags(unsigned flags)
{
	static const struct { unsigned flag; const char *name; } rows[] = {
		{ CAPTURE_CHUNKED, "chunked" },
		{ CAPTURE_REUSED, "reused" },
		{ CAPTURE_REDACTED, "redacted" },
	};
	const char *gap = "";

	if (flags == 0)
		return;
	put_name("flags");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((flags & rows[i].flag) == 0)
			continue;
		(void)printf("%s%s", gap, rows[i].name);
		gap = " ";
	}
	(void)printf("\n");
}

/* Line by line, each escaped. */
static void
put_head(const char *title, const struct capture_bytes *head)
{
	struct head_view v;
	struct head_line l;

	if (head->p == NULL || is_empty(head))
		return;
	(void)printf("\n%s\n", title);
	head_view_begin(&v, head);
	while (head_view_next(&v, &l)) {
		size_t n = l.line_len;

		while (n > 0 && (l.line[n - 1] == '\n' ||
				    l.line[n - 1] == '\r'))
			n--;
		if (n == 0)
			continue;
		(void)printf("    ");
		archive_cli_put(l.line, n, 0);
		(void)printf("\n");
	}
}

static void
put_body(const char *name, const struct capture_bytes *b)
{
	char size[UNITS_TEXT_MAX];

	if (b->p == NULL)
		return;
	units_format_size(b->n, size);
	(void)printf("%-15s%zu %s (%s)\n", name, b->n,
	    units_word(b->n, "byte", "bytes"), size);
}

static void
put_times(const struct capture *c)
{
	static const char *const names[CAPTURE_PHASES] = { "dns", "connect",
		"tls", "first byte", "total" };
	const char *comma = "";

	put_name("milliseconds");
	for (int i = 0; i < CAPTURE_PHASES; i++) {
		if (c->times.ms[i] < 0)
			continue;
		(void)printf("%s%s %" PRId64, comma, names[i],
		    c->times.ms[i]);
		comma = ", ";
	}
	(void)printf("\n");
}

static void
put_capture(const struct capture *c)
{
	(void)printf("\n");
	put_name("start");
	archive_cli_put_ms(c->start_ms);
	(void)printf("\n");
	put_text("method", &c->method);
	put_text("url", &c->url);
	(void)printf("%-15s%s\n", "outcome",
	    capture_outcome_name(c->outcome));
	if (c->status != 0)
		(void)printf("%-15s%u\n", "status", c->status);
	put_text("error", &c->error);
	put_text("peer", &c->peer);
	put_text("tls", &c->tls.version);
	put_text("cipher", &c->tls.cipher);
	put_text("alpn", &c->tls.alpn);
	if (c->tls.nchain > 0)
		(void)printf("%-15s%zu\n", "certificates", c->tls.nchain);
	put_times(c);
	put_text("software", &c->software);
	put_flags(c->flags);
	put_body("request body", &c->request_body);
	put_body("response body", &c->response_body);
	put_head("request head", &c->request_head);
	for (size_t i = 0; i < c->ninterim; i++)
		put_head("interim head", &c->interim[i]);
	put_head("response head", &c->response_head);
	put_head("trailers", &c->trailers);
}

/* ---- JSON ---- */

static void
json_text(struct json *j, const char *name, const struct capture_text *t)
{
	if (t->p != NULL)
		json_strn(j, name, t->p, t->n);
}

static void
json_head(struct json *j, const char *name, const struct capture_bytes *b)
{
	if (b->p != NULL)
		json_strn(j, name, (const char *)b->p, b->n);
}

static void
json_capture(struct json *j, const struct capture *c)
{
	static const char *const names[CAPTURE_PHASES] = { "dns", "connect",
		"tls", "first_byte", "total" };

	json_int(j, "start_ms", c->start_ms);
	json_text(j, "method", &c->method);
	json_text(j, "url", &c->url);
	json_str(j, "outcome", capture_outcome_name(c->outcome));
	if (c->status != 0)
		json_uint(j, "status", c->status);
	json_text(j, "error", &c->error);
	json_text(j, "peer", &c->peer);
	json_text(j, "tls_version", &c->tls.version);
	json_text(j, "tls_cipher", &c->tls.cipher);
	json_text(j, "tls_alpn", &c->tls.alpn);
	json_array(j, "tls_chain");
	for (size_t i = 0; i < c->tls.nchain; i++)
		json_hex(j, NULL, c->tls.chain[i].p, c->tls.chain[i].n);
	json_close(j);
	json_object(j, "ms");
	for (int i = 0; i < CAPTURE_PHASES; i++)
		if (c->times.ms[i] >= 0)
			json_int(j, names[i], c->times.ms[i]);
	json_close(j);
	json_text(j, "software", &c->software);
	json_bool(j, "chunked", (c->flags & CAPTURE_CHUNKED) != 0);
	json_bool(j, "reused", (c->flags & CAPTURE_REUSED) != 0);
	json_bool(j, "redacted", (c->flags & CAPTURE_REDACTED) != 0);
	json_head(j, "request_head", &c->request_head);
	json_uint(j, "request_body_bytes", c->request_body.n);
	json_array(j, "interim_heads");
	for (size_t i = 0; i < c->ninterim; i++)
		json_head(j, NULL, &c->interim[i]);
	json_close(j);
	json_head(j, "response_head", &c->response_head);
	json_uint(j, "response_body_bytes", c->response_body.n);
	json_head(j, "trailers", &c->trailers);
}

static int
put_json(struct archive_cli *cli, const struct archive_cli_record *rec,
    struct err *e)
{
	const struct segment_frame *f = &rec->en.frame;
	struct json *j = archive_cli_json(cli,
	    f->type == SEGMENT_MANIFEST ? "manifest" : "record");

	json_uint(j, "index", f->index);
	json_uint(j, "segment", rec->en.first);
	json_uint(j, "offset", f->offset);
	json_int(j, "committed_by", rec->en.mtime);
	json_uint(j, "epoch",
	    rec->epoch != NULL ? rec->epoch->epoch.number : rec->en.epoch);
	json_hex(j, "leaf", f->leaf.b, sizeof(f->leaf.b));
	if (f->type != SEGMENT_MANIFEST) {
		json_bool(j, "pruned", f->type == SEGMENT_PRUNED);
		json_hex(j, "puzzle", f->head.puzzle, SEAL_ID_LEN);
		json_hex(j, "salt", f->head.salt, SEAL_SALT_LEN);
		json_hex(j, "commitment", f->head.commit, SEAL_COMMIT_LEN);
		json_hex(j, "ciphertext_sha256", f->digest, 32);
		json_uint(j, "size", f->cipher_len);
		json_bool(j, "opened", rec->is_open);
	}
	if (rec->is_open)
		json_capture(j, &rec->record.capture);
	return archive_cli_json_end(cli, e);
}

/* ---- the command ---- */

static int
put(struct archive_cli *cli, struct show *s,
    const struct archive_cli_record *rec, struct err *e)
{
	s->is_shown = true;
	s->is_open = rec->is_open;
	s->index = rec->en.frame.index;
	if (cli->json)
		return put_json(cli, rec, e);
	put_outside(rec);
	if (rec->is_open)
		put_capture(&rec->record.capture);
	return 0;
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct archive_cli_record rec;
	struct show *s = arg;
	struct err why = ERR_INIT;
	int r, rc = 0;

	r = archive_cli_record_find(cli, &rec, cli->args[0], e);
	if (r != 0)
		goto out;
	if (rec.en.frame.type != SEGMENT_MANIFEST)
		rc = archive_cli_record_open(cli, &rec, s->rs, &why);
	if ((r = put(cli, s, &rec, e)) != 0)
		goto out;
	if (rc == ERR_UNSUPPORTED && keyring_count(cli->keys) == 0) {
		/* Its outside is all that was asked for. */
		if (!cli->json)
			archive_cli_note(cli, "%s", why.msg);
	} else if (rc != 0)
		r = err_set(e, rc, "%s", why.msg);
	if (r == 0)
		r = archive_cli_record_end(cli, &rec, e);
out:
	archive_cli_record_free(&rec);
	return r;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct show *s = arg;

	(void)cli;
	json_bool(j, "shown", s->is_shown);
	json_bool(j, "opened", s->is_open);
}

static const struct archive_cli_spec spec = {
	.name = "show",
	.usage = "N",
	.what = "Shows entry N, numbered from 0: its outside, and what it "
		"holds if the epoch's\nkey or the record's own is given.  "
		"Bodies are told by size; extract gives them.\n",
	.own_help =
	    "      --record-key FILE\n"
	    "                   the record's own key, as a client keeps it\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.min_args = 1,
	.max_args = 1,
	.flags = ARCHIVE_CLI_KEYS,
};

int
show_main(int argc, char **argv)
{
	struct show s = { 0 };
	int code = archive_cli_main(&spec, &s, argc, argv);

	secret_free(&s.rs);
	return code;
}
