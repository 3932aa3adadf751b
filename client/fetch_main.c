/*
 * fetch_main.c - amber fetch: one URL through a relay, receipt first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "archive/out_file.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "client/commands.h"
#include "client/fetch_opts.h"
#include "client/fetch_show.h"
#include "client/fetch_status.h"
#include "transport/url.h"
#include "transport/url_ref.h"

enum {
	REDIRECTS_MAX = 20,
	URL_MAX = 64 << 10,
	KEY_TEXT_MAX = 64,
	BINARY_LOOK = 8192,	/* bytes that are looked at */
};

/* One run of the command. */
struct run {
	const struct fetch_opts	*o;
	struct bytes		*fields;	/* o's; fewer elsewhere */
	struct amber		*a;
	struct progress		*line;
	struct fetch_wait	 wait;
	uint64_t		 start_ms;	/* monotonic */
};

/* ---- what is given out ---- */

/* Whole or not at all; with the mode of what was there, which may have been
 * made for few eyes, and through links. */
static int
write_file(const char *path, const void *p, size_t n, struct err *e)
{
	struct out_file *o = NULL;
	int r;

	if ((r = out_file_open(&o, path, NULL, e)) == 0 &&
	    (r = out_file_put(o, p, n, e)) == 0)
		r = out_file_commit(o, e);
	out_file_free(&o);
	return r;
}

static int
save_receipt(const struct fetch_opts *o, const struct amber_answer *r,
    struct err *e)
{
	char key[KEY_TEXT_MAX];
	int ret = 0;

	if (!r->has_record)
		return 0;
	if (o->receipt != NULL)
		ret = write_file(o->receipt, r->receipt, r->receipt_len, e);
	if (ret == 0 && o->record_key != NULL) {
		sodium_bin2base64(key, sizeof(key) - 1, r->record_key,
		    sizeof(r->record_key),
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		strcat(key, "\n");
		if ((ret = io_replace_file(o->record_key, key, strlen(key),
			 0600, e)) != 0)
			err_ctx(e, "%s", o->record_key);
		WIPE(key);
	}
	return ret;
}

static int
write_body(const struct fetch_opts *o, const struct amber_answer *r,
    struct err *e)
{
	struct bytes all = BYTES_INIT(r->head_len + r->body_len + 1);
	int ret = 0;

	if (o->include)
		ret = bytes_append(&all, r->head, r->head_len, e);
	if (ret == 0)
		ret = bytes_append(&all, r->body, r->body_len, e);
	if (ret == 0 && o->output != NULL && strcmp(o->output, "-") != 0)
		ret = write_file(o->output, all.p, all.len, e);
	else if (ret == 0 && all.len > 0 &&
	    (ret = io_write_full(STDOUT_FILENO, all.p, all.len, e)) != 0)
		err_ctx(e, "standard output");
	bytes_free(&all);
	return ret;
}

/* By curl's measure: a NUL byte near its beginning. */
static bool
is_for_no_terminal(const struct fetch_opts *o, const struct amber_answer *r)
{
	size_t n = r->body_len < BINARY_LOOK ? r->body_len : BINARY_LOOK;

	return o->output == NULL && n > 0 &&
	    memchr(r->body, '\0', n) != NULL && isatty(STDOUT_FILENO) == 1;
}

static int
give_out(const struct run *u, const struct amber_answer *r, struct err *e)
{
	const struct fetch_status_opts so = { u->o->fail,
		u->o->common.token_file != NULL };
	int status = fetch_status(r, &so, e);
	struct err we = ERR_INIT;
	int ret = save_receipt(u->o, r, &we);

	if (ret == 0 && status == EXIT_OK && is_for_no_terminal(u->o, r))
		ret = err_set(&we, ERR_ARG, "binary output can spoil a "
		    "terminal: -o FILE saves it, -o - shows it all the same");
	/* What the relay itself says stands in the message. */
	else if (ret == 0 && (status == EXIT_OK || u->o->include))
		ret = write_body(u->o, r, &we);
	if (ret != 0) {
		*e = we;
		return EXIT_WRITE;
	}
	if (u->o->write_out != NULL)
		fetch_show_write_out(u->o->write_out, r, &u->wait);
	return status;
}

/* ---- redirects ---- */

static bool
is_redirect(unsigned status)
{
	return status == 301 || status == 302 || status == 303 ||
	    status == 307 || status == 308;
}

/* Where location leads from url, without a fragment, which is for who shows
 * a page and goes to no server; checked as a URL that the user gives. */
static int
resolve(struct bytes *url, const char *location, struct err *e)
{
	struct bytes to = BYTES_INIT(URL_MAX);
	struct url u;
	const char *mark;
	int r;

	if ((r = url_ref_resolve(&to, (const char *)url->p, location, e)) ==
	    0 && (mark = memchr(to.p, '#', to.len)) != NULL)
		bytes_truncate(&to, (size_t)(mark - (const char *)to.p));
	if (r == 0)
		r = url_parse(&u, (const char *)to.p, to.len, e);
	if (r != 0)
		err_ctx(e, "redirect to \"%.100s\"", location);
	else {
		bytes_clear(url);
		if ((r = bytes_append(url, to.p, to.len, e)) == 0)
			r = bytes_terminate(url, e);
	}
	bytes_free(&to);
	return r;
}

/* A NUL-terminated URL's host and port; "" if it is none. */
static void
authority_of(const struct bytes *url, char out[URL_AUTHORITY_MAX])
{
	struct url u;

	out[0] = '\0';
	if (url_parse(&u, (const char *)url->p, url->len, NULL) == 0)
		memcpy(out, u.authority, sizeof(u.authority));
}

static bool
is_credential(const char *line)
{
	return strncasecmp(line, "Authorization:", 14) == 0 ||
	    strncasecmp(line, "Cookie:", 7) == 0;
}

/* What was meant for one host is nothing to another; as curl does. */
static void
drop_credentials(struct bytes *fields)
{
	char *to = (char *)fields->p, *at = to, *end;

	for (; *at != '\0'; at = end) {
		end = strstr(at, "\r\n") + 2;
		if (is_credential(at))
			continue;
		memmove(to, at, (size_t)(end - at));
		to += end - at;
	}
	bytes_truncate(fields, (size_t)(to - (char *)fields->p));
}

/* RFC 9110 section 15.4: what a redirect makes of the method. */
static void
redirect_method(struct amber_request *q, unsigned status)
{
	if (status != 303 && !((status == 301 || status == 302) &&
	    strcmp(q->method, "POST") == 0))
		return;
	if (strcmp(q->method, "HEAD") != 0)
		q->method = "GET";
	q->body = NULL;
	q->body_len = 0;
	q->has_body = false;
}

/* ---- time and permits ---- */

static uint64_t
spent_ms(const struct run *u)
{
	return clock_mono_ms(clock_system()) - u->start_ms;
}

/* --max-time is for everything, not for each request. */
static int
set_time_left(const struct run *u, struct err *e)
{
	uint64_t max = u->o->common.amber.max_ms, spent = spent_ms(u);

	if (max == 0)
		return 0;
	if (spent >= max)
		return err_set(e, ERR_TIMEOUT, "--max-time is over");
	amber_set_max_ms(u->a, max - spent);
	return 0;
}

/* Up to half as long again, so that those who were refused together do not
 * come back together. */
static uint64_t
pause_ms(const struct amber_answer *r)
{
	unsigned s = r == NULL || r->retry_after_s == 0 ? 1 : r->retry_after_s;
	uint64_t ms = s * UINT64_C(1000);

	return ms + randombytes_uniform((uint32_t)ms / 2);
}

/* No permit, or not even a session (then there is no answer). */
static bool
is_refusal(const struct run *u, const struct amber_answer *r)
{
	return r == NULL ? amber_fault(u->a) == AMBER_FAULT_REFUSED :
			   fetch_status_is_refusal(r);
}

static void
rest(struct run *u, uint64_t ms, const char *reason)
{
	struct timespec step = { 0, 100 * 1000000 };
	uint64_t until = clock_mono_ms(clock_system()) + ms, now;

	if (u->o->verbose)
		fprintf(stderr, "* permit: refused (%s), again after %.1f s\n",
		    reason, (double)ms / 1000);
	while ((now = clock_mono_ms(clock_system())) < until) {
		(void)progress_draw(u->line, "refused (%s), again in %.0f s",
		    reason, (double)(until - now) / 1000);
		(void)nanosleep(&step, NULL);
	}
	u->wait.seconds += (double)ms / 1000;
	u->wait.refusals++;
}

/* One request, asked again as often as --retry allows while the relay
 * refuses it.  Its exit status. */
static int
request(struct run *u, const struct amber_request *q,
    struct amber_answer **r, struct err *e)
{
	uint64_t max = u->o->common.amber.max_ms, ms;
	int status;

	for (;;) {
		if (set_time_left(u, e) != 0)
			return EXIT_TIMEOUT;
		if (u->o->verbose)
			fetch_show_request(q);
		status = amber_fetch(u->a, q, r, e) == 0 ? EXIT_OK :
							   common_exit(u->a);
		progress_clear(u->line);
		ms = pause_ms(*r);
		if (!is_refusal(u, *r) ||
		    u->wait.refusals >= u->o->retries ||
		    (max != 0 && spent_ms(u) + ms >= max))
			return status;
		rest(u, ms, *r != NULL ? (*r)->reason : "sessions");
		amber_answer_free(r);
	}
}

/* ---- the whole ---- */

static int
follow(const struct run *u, struct bytes *url, struct amber_request *q,
    char *location, unsigned status, struct err *e)
{
	char was[URL_AUTHORITY_MAX], is[URL_AUTHORITY_MAX];

	redirect_method(q, status);
	authority_of(url, was);
	if (resolve(url, location, e) != 0)
		return EXIT_URL;
	authority_of(url, is);
	if (strcmp(was, is) != 0)
		drop_credentials(u->fields);
	q->url = (const char *)url->p;
	return EXIT_OK;
}

static int
fetch(struct run *u, struct bytes *url, struct err *e)
{
	const struct fetch_opts *o = u->o;
	struct amber_request q = { .method = o->method,
		.url = (const char *)url->p,
		.fields = o->fields.len == 0 ? NULL :
					       (const char *)o->fields.p,
		.body = o->body.p,
		.body_len = o->body.len,
		.has_body = o->has_body };
	struct amber_answer *r = NULL;
	unsigned hops = 0;
	char *location;
	int status;

	while ((status = request(u, &q, &r, e)) == EXIT_OK) {
		if (o->verbose)
			fetch_show_answer(u->a, r, &u->wait);
		location = o->follow && is_redirect(r->status) ?
		    amber_answer_field(r, "Location") : NULL;
		if (location == NULL) {
			status = give_out(u, r, e);
			break;
		}
		status = follow(u, url, &q, location, r->status, e);
		free(location);
		amber_answer_free(&r);
		if (status == EXIT_OK && ++hops > REDIRECTS_MAX) {
			err_set(e, ERR_LIMIT, "more than %d redirects",
			    REDIRECTS_MAX);
			status = EXIT_REDIRECTS;
		}
		if (status != EXIT_OK)
			break;
	}
	amber_answer_free(&r);
	if (status != EXIT_OK)
		err_ctx(e, "%.200s", (const char *)url->p);
	return status;
}

static int
run(struct fetch_opts *o, struct progress *line, struct err *e)
{
	struct bytes token = BYTES_INIT(0), url = BYTES_INIT(URL_MAX);
	struct run u = { .o = o, .fields = &o->fields, .line = line,
		.start_ms = clock_mono_ms(clock_system()) };
	int status;

	o->common.amber.on_progress = fetch_show_on_progress;
	o->common.amber.progress_arg = line;
	if (bytes_terminate(&o->fields, e) != 0 ||
	    bytes_append_str(&url, o->url, e) != 0 ||
	    bytes_terminate(&url, e) != 0)
		status = common_exit_start(e);
	else if ((status = common_open(&u.a, &o->common, &token, e)) ==
	    EXIT_OK)
		status = fetch(&u, &url, e);
	progress_clear(line);
	amber_free(&u.a);
	bytes_free(&token);
	bytes_free(&url);
	return status;
}

int
fetch_main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct progress line;
	struct fetch_opts o;
	int r, status;

	fetch_opts_init(&o);
	if ((r = fetch_opts_parse(&o, argc, argv, &e)) == 1)
		status = EXIT_OK;
	else if (r == 0) {
		progress_begin(&line, !o.silent && !o.quiet);
		status = run(&o, &line, &e);
	} else
		status = common_exit_start(&e);
	if (status != EXIT_OK && e.msg[0] != '\0' &&
	    (!o.silent || o.show_errors))
		err_print(&e, "amber fetch");
	fetch_opts_free(&o);
	return status;
}
