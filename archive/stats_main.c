/*
 * stats_main.c - `amber-archive stats`: how many, how large, and what it
 * takes to open them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "base/units.h"

enum { OPT_RATE = 256 };

static const struct option options[] = {
	{ "rate", required_argument, NULL, OPT_RATE },
	{ NULL, 0, NULL, 0 },
};

struct epoch_stats {
	uint64_t	number;
	uint64_t	records, pruned;
	uint64_t	record_bytes;	/* payloads of records */
	uint64_t	opened, capture_bytes, body_bytes;
};

struct stats {
	uint64_t		 rate;		/* hashes a second; 0: none */
	struct epoch_stats	*v;
	size_t			 n;
	struct epoch_stats	 sum;
	uint64_t		 entries, disk_bytes;
	uint64_t		 failed;	/* records that do not open */
	uint64_t		 damaged;	/* places that were passed */
	struct record		 record;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct stats *s = arg;

	(void)cli;
	(void)c;
	return units_parse_uint(value, 1, UINT64_C(1000000000), &s->rate, e);
}

/* ---- gathering ---- */

/* The sizes of all files of a folder, one level. */
static int
sum_folder(int dir, uint64_t *sum, struct err *e)
{
	struct dirent *d;
	struct stat st;
	DIR *stream;
	int fd;

	if ((fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return err_sys(e, "open the folder");
	if ((stream = fdopendir(fd)) == NULL) {
		close(fd);
		return err_sys(e, "open the folder");
	}
	errno = 0;
	while ((d = readdir(stream)) != NULL) {
		if (fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			*sum += (uint64_t)st.st_size;
		errno = 0;
	}
	closedir(stream);
	return errno == 0 ? 0 : err_sys(e, "read the folder");
}

static int
sum_disk(const struct layout *l, uint64_t *sum, struct err *e)
{
	const int dirs[] = { l->root, l->seg, l->epoch, l->quarantine };
	int r = 0;

	*sum = 0;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && r == 0; i++)
		if (dirs[i] != -1)
			r = sum_folder(dirs[i], sum, e);
	return r;
}

/* The row of an epoch, made when it is the first of it. */
static int
row_of(struct stats *s, uint64_t number, struct epoch_stats **out,
    struct err *e)
{
	struct epoch_stats *v;

	for (size_t i = s->n; i-- > 0;)
		if (s->v[i].number == number) {
			*out = &s->v[i];
			return 0;
		}
	if ((v = realloc(s->v, (s->n + 1) * sizeof(*v))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for epochs");
	s->v = v;
	memset(&v[s->n], 0, sizeof(*v));
	v[s->n].number = number;
	*out = &v[s->n++];
	return 0;
}

static int
measure(struct archive_cli *cli, struct stats *s, struct skim *skim,
    struct skim_entry *en, struct epoch_stats *row, struct err *e)
{
	const uint8_t *key = keyring_find(cli->keys, en->frame.head.puzzle);
	const struct capture *c = &s->record.capture;
	struct err why = ERR_INIT;
	int r;

	if (key == NULL)
		return 0;
	if ((r = skim_load(skim, en, &s->record.payload, &why)) == 0)
		r = record_open(&s->record, key, RECORD_EPOCH_KEY,
		    cli->pin.name, &why);
	if (r != 0) {
		err_ctx(&why, "record %" PRIu64, en->frame.index);
		if (archive_cli_record_is_fatal(r))
			return err_set(e, r, "%s", why.msg);
		s->failed++;
		return archive_cli_damage(cli, &why, e);
	}
	row->opened++;
	row->capture_bytes += s->record.capture_len;
	row->body_bytes += c->request_body.n + c->response_body.n;
	return 0;
}

static int
take(struct archive_cli *cli, struct stats *s, struct skim *skim,
    struct skim_entry *en, struct err *e)
{
	const struct epochs_row *known;
	struct epoch_stats *row = NULL;
	uint64_t number = en->epoch;
	int r;

	if (!segment_is_entry(en->frame.type))
		return 0;
	s->entries++;
	if (en->frame.type != SEGMENT_MANIFEST) {
		known = epochs_of_puzzle(&cli->epochs, en->frame.head.puzzle);
		if (known != NULL)
			number = known->epoch.number;
	}
	if ((r = row_of(s, number, &row, e)) != 0)
		return r;
	if (en->frame.type == SEGMENT_MANIFEST)
		return 0;
	row->records++;
	row->record_bytes += en->frame.payload_len;
	if (en->frame.type == SEGMENT_PRUNED) {
		row->pruned++;
		return 0;
	}
	return measure(cli, s, skim, en, row, e);
}

static int
gather(struct archive_cli *cli, struct stats *s, struct err *e)
{
	struct skim *skim = NULL;
	struct skim_entry en;
	int r;

	if ((r = sum_disk(cli->layout, &s->disk_bytes, e)) != 0 ||
	    (r = skim_new(&skim, cli->layout, e)) != 0)
		return r;
	for (;;) {
		struct err why = ERR_INIT;

		archive_cli_progress(cli, "%" PRIu64 " %s", s->entries,
		    units_word(s->entries, "entry", "entries"));
		if ((r = archive_cli_stopped(e)) != 0)
			break;
		if ((r = skim_next(skim, &en, &why)) == 0)
			r = take(cli, s, skim, &en, e);
		else if (r == ERR_FORMAT)
			r = archive_cli_pass(cli, skim, &why, &s->damaged, e);
		else
			err_set(e, r, "%s", why.msg);
		if (r != 0)
			break;
	}
	skim_free(&skim);
	return r == ERR_EOF ? 0 : r;
}

static void
add_up(struct stats *s)
{
	for (size_t i = 0; i < s->n; i++) {
		s->sum.records += s->v[i].records;
		s->sum.pruned += s->v[i].pruned;
		s->sum.record_bytes += s->v[i].record_bytes;
		s->sum.opened += s->v[i].opened;
		s->sum.capture_bytes += s->v[i].capture_bytes;
		s->sum.body_bytes += s->v[i].body_bytes;
	}
}

/* ---- telling ---- */

static double
share(uint64_t all, uint64_t part)
{
	return part == 0 ? 0 : (double)all / (double)part;
}

/* What is there besides the records, as a part of them. */
static double
overhead(const struct stats *s)
{
	return s->sum.record_bytes == 0 ? 0 :
	    share(s->disk_bytes, s->sum.record_bytes) - 1;
}

static void
put_solving(const struct stats *s, const struct epochs_row *row)
{
	char text[UNITS_TEXT_MAX];
	uint64_t hashes;

	if (row == NULL) {
		(void)printf("  no manifest\n");
		return;
	}
	hashes = (uint64_t)row->segments * row->steps;
	(void)printf("  %" PRIu64 " %s hashes", hashes, row->algorithm);
	if (s->rate > 0) {
		units_format_duration((double)hashes / (double)s->rate, text);
		(void)printf(", %s", text);
	}
	(void)printf("\n");
}

static void
put_text(const struct archive_cli *cli, const struct stats *s)
{
	char size[UNITS_TEXT_MAX];

	(void)printf("%8s %10s %8s %12s  %s\n", "EPOCH", "RECORDS", "PRUNED",
	    "SIZE", "  SOLVING, ONE HASH AFTER ANOTHER");
	for (size_t i = 0; i < s->n; i++) {
		const struct epoch_stats *v = &s->v[i];

		units_format_size(v->record_bytes, size);
		(void)printf("%8" PRIu64 " %10" PRIu64 " %8" PRIu64 " %12s",
		    v->number, v->records, v->pruned, size);
		put_solving(s, epochs_of_number(&cli->epochs, v->number));
	}
	(void)printf("\nentries       %" PRIu64 ", of them %" PRIu64
		     " %s\n",
	    s->entries, s->sum.records,
	    units_word(s->sum.records, "record", "records"));
	units_format_size(s->sum.record_bytes, size);
	(void)printf("records       %" PRIu64 " bytes (%s), sealed\n",
	    s->sum.record_bytes, size);
	units_format_size(s->disk_bytes, size);
	(void)printf("on disk       %" PRIu64 " bytes (%s), %.3f %% more\n",
	    s->disk_bytes, size, 100 * overhead(s));
	if (s->sum.opened == 0)
		return;
	(void)printf("opened        %" PRIu64 " %s\n"
		     "captures      %" PRIu64 " bytes\n"
		     "bodies        %" PRIu64 " %s\n",
	    s->sum.opened, units_word(s->sum.opened, "record", "records"),
	    s->sum.capture_bytes, s->sum.body_bytes,
	    units_word(s->sum.body_bytes, "byte", "bytes"));
	if (s->sum.opened == s->sum.records)
		(void)printf("disk/captures %.4f\n",
		    share(s->disk_bytes, s->sum.capture_bytes));
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct stats *s = arg;
	int r;

	record_init(&s->record);
	r = gather(cli, s, e);
	record_free(&s->record);
	add_up(s);
	if (r == 0 && !cli->json)
		put_text(cli, s);
	if (r == 0)
		archive_cli_damaged(cli, s->failed + s->damaged);
	return r;
}

static void
put_epoch_json(const struct archive_cli *cli, const struct stats *s,
    const struct epoch_stats *v, struct json *j)
{
	const struct epochs_row *row = epochs_of_number(&cli->epochs,
	    v->number);
	uint64_t hashes;

	json_object(j, NULL);
	json_uint(j, "epoch", v->number);
	json_uint(j, "records", v->records);
	json_uint(j, "pruned", v->pruned);
	json_uint(j, "record_bytes", v->record_bytes);
	if (v->opened > 0) {
		json_uint(j, "opened", v->opened);
		json_uint(j, "capture_bytes", v->capture_bytes);
		json_uint(j, "body_bytes", v->body_bytes);
	}
	if (row != NULL) {
		json_str(j, "algorithm", row->algorithm);
		hashes = (uint64_t)row->segments * row->steps;
		json_uint(j, "hashes", hashes);
		if (s->rate > 0)
			json_double(j, "seconds",
			    (double)hashes / (double)s->rate);
		json_int(j, "not_before", row->epoch.not_before);
		json_int(j, "not_after", row->epoch.not_after);
	}
	json_close(j);
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct stats *s = arg;

	json_uint(j, "records", s->sum.records);
	json_uint(j, "entries", s->entries);
	json_array(j, "epochs");
	for (size_t i = 0; i < s->n; i++)
		put_epoch_json(cli, s, &s->v[i], j);
	json_close(j);
	json_uint(j, "disk_bytes", s->disk_bytes);
	json_uint(j, "record_bytes", s->sum.record_bytes);
	json_double(j, "overhead", overhead(s));
	json_uint(j, "failed", s->failed);
	json_uint(j, "damaged", s->damaged);
	if (s->sum.opened == 0)
		return;
	json_uint(j, "capture_bytes", s->sum.capture_bytes);
	json_uint(j, "body_bytes", s->sum.body_bytes);
	if (s->sum.opened == s->sum.records)
		json_double(j, "amplification",
		    share(s->disk_bytes, s->sum.capture_bytes));
}

static const struct archive_cli_spec spec = {
	.name = "stats",
	.usage = "",
	.what = "Counts entries and bytes, epoch by epoch, and says what "
		"solving each epoch's\npuzzle needs.  With all keys also how "
		"much disk a byte of capture takes.\n",
	.own_help = "      --rate HPS   reckon the time of solving with so "
		    "many hashes a second\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.flags = ARCHIVE_CLI_KEYS,
};

int
stats_main(int argc, char **argv)
{
	struct stats s = { 0 };
	int code = archive_cli_main(&spec, &s, argc, argv);

	free(s.v);
	return code;
}
