/*
 * list_main.c - `amber-archive list`: records, one a line.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "archive/head_view.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "base/clock.h"
#include "base/units.h"

struct list {
	uint64_t	from, to;
	uint64_t	records, opened, failed, pruned;
	uint64_t	damaged;	/* places that were passed */
	bool		is_open;	/* keys were given */
	struct record	record;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	(void)cli;
	(void)arg;
	(void)c;
	(void)value;
	return err_set(e, ERR_ARG, "no such option");
}

static struct capture_text
type_of(const struct capture *c)
{
	return head_view_find(&c->response_head, "content-type", 0);
}

static void
put_columns(const struct list *l)
{
	if (l->is_open)
		(void)printf("%9s  %-24s %6s %12s  %-7s %6s  %-24s %s\n",
		    "INDEX", "START", "EPOCH", "SIZE", "METHOD", "STATUS",
		    "TYPE", "URL");
	else
		(void)printf("%9s  %-21s %-21s %6s %12s\n", "INDEX",
		    "NOT BEFORE", "COMMITTED BY", "EPOCH", "SIZE");
}

/* The epoch that a record is sealed under: its own, by its puzzle. */
static uint64_t
epoch_of(const struct archive_cli *cli, const struct skim_entry *en)
{
	const struct epochs_row *row = epochs_of_puzzle(&cli->epochs,
	    en->frame.head.puzzle);

	return row != NULL ? row->epoch.number : en->epoch;
}

static void
put_sealed(const struct archive_cli *cli, const struct list *l,
    const struct skim_entry *en)
{
	const char *why = en->frame.type == SEGMENT_PRUNED ? "  pruned" :
	    l->is_open					   ? "  sealed" :
							     "";
	const struct epochs_row *row = epochs_of_puzzle(&cli->epochs,
	    en->frame.head.puzzle);
	char from[CLOCK_TEXT_MAX] = "-", when[CLOCK_TEXT_MAX];

	if (row != NULL)
		clock_format_s(row->epoch.not_before, from);
	clock_format_s(en->mtime, when);
	if (l->is_open)
		(void)printf("%9" PRIu64 "  %-24s %6" PRIu64 " %12" PRIu64
			     "%s\n",
		    en->frame.index, "-", epoch_of(cli, en),
		    en->frame.cipher_len, why);
	else
		(void)printf("%9" PRIu64 "  %-21s %-21s %6" PRIu64
			     " %12" PRIu64 "%s\n",
		    en->frame.index, from, when, epoch_of(cli, en),
		    en->frame.cipher_len, why);
}

static void
put_opened(const struct archive_cli *cli, const struct list *l,
    const struct skim_entry *en)
{
	const struct capture *c = &l->record.capture;
	struct capture_text type = type_of(c);

	(void)printf("%9" PRIu64 "  ", en->frame.index);
	archive_cli_put_ms(c->start_ms);
	(void)printf(" %6" PRIu64 " %12" PRIu64 "  ", epoch_of(cli, en),
	    en->frame.cipher_len);
	archive_cli_put(c->method.p, c->method.n, 7);
	if (c->status != 0)
		(void)printf(" %6u  ", c->status);
	else
		(void)printf(" %6s  ", "-");
	archive_cli_put(type.p == NULL ? "-" : type.p,
	    type.p == NULL ? 1 : type.n, 24);
	(void)printf(" ");
	archive_cli_put(c->url.p, c->url.n, 0);
	if (c->outcome != CAPTURE_COMPLETE)
		(void)printf("  (%s)", capture_outcome_name(c->outcome));
	(void)printf("\n");
}

static int
put_json(struct archive_cli *cli, const struct list *l,
    const struct skim_entry *en, const struct capture *c, struct err *e)
{
	const struct epochs_row *row = epochs_of_puzzle(&cli->epochs,
	    en->frame.head.puzzle);
	struct json *j = archive_cli_json(cli, "record");
	struct capture_text type;

	(void)l;
	json_uint(j, "index", en->frame.index);
	json_uint(j, "epoch", epoch_of(cli, en));
	json_uint(j, "size", en->frame.cipher_len);
	json_bool(j, "pruned", en->frame.type == SEGMENT_PRUNED);
	json_int(j, "committed_by", en->mtime);
	json_str(j, "committed_by_source", "last write of the segment's file");
	if (row != NULL) {
		json_int(j, "epoch_not_before", row->epoch.not_before);
		json_int(j, "epoch_not_after", row->epoch.not_after);
	}
	json_bool(j, "opened", c != NULL);
	if (c != NULL) {
		type = type_of(c);
		json_int(j, "start_ms", c->start_ms);
		json_strn(j, "method", c->method.p, c->method.n);
		if (c->status != 0)
			json_uint(j, "status", c->status);
		else
			json_null(j, "status");
		json_strn(j, "url", c->url.p, c->url.n);
		if (type.p != NULL)
			json_strn(j, "type", type.p, type.n);
		else
			json_null(j, "type");
		json_str(j, "outcome", capture_outcome_name(c->outcome));
		json_uint(j, "body_bytes", c->response_body.n);
	}
	return archive_cli_json_end(cli, e);
}

/* Opens it where its key is there; *c stays NULL otherwise. */
static int
open_one(struct archive_cli *cli, struct list *l, struct skim *s,
    struct skim_entry *en, const struct capture **c, struct err *e)
{
	const uint8_t *key;
	struct err why = ERR_INIT;
	int r;

	if (en->frame.type == SEGMENT_PRUNED) {
		l->pruned++;
		return 0;
	}
	if (!l->is_open ||
	    (key = keyring_find(cli->keys, en->frame.head.puzzle)) == NULL)
		return 0;
	if ((r = skim_load(s, en, &l->record.payload, &why)) == 0)
		r = record_open(&l->record, key, RECORD_EPOCH_KEY,
		    cli->pin.name, &why);
	if (r == 0) {
		l->opened++;
		*c = &l->record.capture;
		return 0;
	}
	if (archive_cli_record_is_fatal(r))
		return err_set(e, r, "%s", why.msg);
	l->failed++;
	archive_cli_note(cli, "record %" PRIu64 ": %s", en->frame.index,
	    why.msg);
	return 0;
}

static int
list_one(struct archive_cli *cli, struct list *l, struct skim *s,
    struct skim_entry *en, struct err *e)
{
	const struct capture *c = NULL;
	int r;

	l->records++;
	if ((r = open_one(cli, l, s, en, &c, e)) != 0)
		return r;
	if (cli->json)
		return put_json(cli, l, en, c, e);
	errno = 0;
	if (c != NULL)
		put_opened(cli, l, en);
	else
		put_sealed(cli, l, en);
	return ferror(stdout) ? err_sys(e, "stdout: write") : 0;
}

static int
seek(struct archive_cli *cli, struct list *l, struct skim *s, struct err *e)
{
	struct err why = ERR_INIT;
	int r;

	if (l->from == 0)
		return 0;
	if ((r = skim_seek(s, l->from, &why)) == 0)
		r = skim_check_headed(s, &why);
	if (r == 0)
		return 0;
	if (r != ERR_FORMAT)
		return err_set(e, r, "%s", why.msg);
	/* It stands behind the damage already. */
	l->damaged++;
	return archive_cli_damage(cli, &why, e);
}

static int
list_all(struct archive_cli *cli, struct list *l, struct skim *s,
    struct err *e)
{
	/* On a terminal the lines themselves are the progress. */
	bool is_seen = isatty(STDOUT_FILENO) == 1;
	struct skim_entry en;
	int r;

	if ((r = seek(cli, l, s, e)) != 0)
		return r;
	for (;;) {
		struct err why = ERR_INIT;

		if (!is_seen)
			archive_cli_progress(cli, "%" PRIu64 " %s",
			    l->records,
			    units_word(l->records, "record", "records"));
		if ((r = archive_cli_stopped(e)) != 0)
			break;
		if ((r = skim_next(s, &en, &why)) == ERR_FORMAT) {
			r = archive_cli_pass(cli, s, &why, &l->damaged, e);
			if (r != 0)
				break;
			continue;
		}
		if (r != 0) {
			err_set(e, r, "%s", why.msg);
			break;
		}
		if (!segment_is_entry(en.frame.type))
			continue;
		if (en.frame.index > l->to)
			return 0;
		if (en.frame.type != SEGMENT_MANIFEST &&
		    (r = list_one(cli, l, s, &en, e)) != 0)
			break;
	}
	return r == ERR_EOF ? 0 : r;
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct list *l = arg;
	struct skim *s = NULL;
	int r;

	if (cli->nargs == 1 &&
	    (r = archive_cli_range(cli->args[0], &l->from, &l->to, e)) != 0)
		return r;
	l->is_open = keyring_count(cli->keys) > 0;
	record_init(&l->record);
	if ((r = skim_new(&s, cli->layout, e)) != 0)
		return r;
	if (!cli->json)
		put_columns(l);
	r = list_all(cli, l, s, e);
	skim_free(&s);
	record_free(&l->record);
	if (r == 0 && !cli->json && !l->is_open && l->records > 0)
		archive_cli_note(cli, "a sealed record tells no time.  NOT "
		    "BEFORE is when its epoch began, by the signed manifest; "
		    "COMMITTED BY is the last write of the segment's file, by "
		    "the file system's word");
	if (r == 0 && !cli->json && cli->nargs == 1 &&
	    l->records + l->damaged == 0)
		archive_cli_note(cli, "no records there: what there is are "
		    "epochs' manifests, which show tells");
	if (r == 0)
		archive_cli_damaged(cli, l->failed + l->damaged);
	return r;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct list *l = arg;

	(void)cli;
	json_uint(j, "records", l->records);
	json_uint(j, "opened", l->opened);
	json_uint(j, "pruned", l->pruned);
	json_uint(j, "failed", l->failed);
	json_uint(j, "damaged", l->damaged);
}

static const struct archive_cli_spec spec = {
	.name = "list",
	.usage = "[FIRST[-LAST]]",
	.what = "Lists records: before their puzzle is solved by index, time, "
		"epoch and size;\nwith their epoch's key also by what they "
		"hold.  Heads of frames are believed;\nverify checks them.\n",
	.own_help = "",
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.max_args = 1,
	.flags = ARCHIVE_CLI_KEYS,
};

int
list_main(int argc, char **argv)
{
	struct list l = { .to = UINT64_MAX };

	return archive_cli_main(&spec, &l, argc, argv);
}
