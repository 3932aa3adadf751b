/*
 * fetch_main.c - amber fetch: one URL through a relay, receipt first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "client/commands.h"
#include "client/fetch_opts.h"
#include "transport/url.h"

enum { REDIRECTS_MAX = 20, URL_MAX = 64 << 10, KEY_TEXT_MAX = 64 };

/* Bytes from the other side, made harmless for a terminal. */
static void
print_safe(FILE *f, const char *s)
{
	for (; *s != '\0'; s++)
		if (((unsigned char)*s >= 0x20 && *s != 0x7f) || *s == '\n')
			fputc(*s, f);
		else if (*s != '\r')
			fprintf(f, "\\x%02x", (unsigned)(unsigned char)*s);
}

static void
tell(const struct fetch_opts *o, const struct amber_answer *r,
    const char *url)
{
	if (!o->verbose)
		return;
	fprintf(stderr, "* %s %s\n", o->method, url);
	if (r->times.connect_s > 0)
		fprintf(stderr, "* session with the relay: %.3f s\n",
		    r->times.connect_s);
	fprintf(stderr, "* first byte %.3f s, whole %.3f s; %llu exchanges, "
			"%llu repeated\n",
	    r->times.first_byte_s, r->times.total_s,
	    (unsigned long long)r->exchanges,
	    (unsigned long long)r->retries);
	if (r->has_record)
		fprintf(stderr, "* record %llu, receipt %s\n",
		    (unsigned long long)r->index,
		    r->is_verified ? "verified" : "NOT verified");
	if (r->is_relays)
		fprintf(stderr, "* the relay's own answer: %s (%s)\n",
		    r->token, r->details);
	fputs("< ", stderr);
	print_safe(stderr, r->head);
}

/* ---- what is given out ---- */

static int
write_file(const char *path, const void *p, size_t n, mode_t mode,
    struct err *e)
{
	int r = io_replace_file(path, p, n, mode, e);

	if (r != 0)
		err_ctx(e, "%s", path);
	return r;
}

static int
save_receipt(const struct fetch_opts *o, const struct amber_answer *r,
    struct err *e)
{
	char key[KEY_TEXT_MAX];
	int ret = 0;

	if (!r->has_record && (o->receipt != NULL || o->record_key != NULL))
		return err_set(e, ERR_NOENT, "this answer has no record, so "
					     "there is no receipt to save");
	if (o->receipt != NULL)
		ret = write_file(o->receipt, r->receipt, r->receipt_len, 0644,
		    e);
	if (ret == 0 && o->record_key != NULL) {
		sodium_bin2base64(key, sizeof(key) - 1, r->record_key,
		    sizeof(r->record_key),
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		strcat(key, "\n");
		ret = write_file(o->record_key, key, strlen(key), 0600, e);
		WIPE(key);
	}
	return ret;
}

static bool
is_binary(const struct amber_answer *r)
{
	size_t n = r->body_len < 8192 ? r->body_len : 8192;

	return n > 0 && memchr(r->body, '\0', n) != NULL;
}

static int
write_body(const struct fetch_opts *o, const struct amber_answer *r,
    struct err *e)
{
	struct bytes all = BYTES_INIT(r->head_len + r->body_len + 1);
	int ret = 0;

	if (o->output == NULL && is_binary(r) && isatty(STDOUT_FILENO))
		return err_set(e, ERR_ARG, "binary output is not written to "
		    "a terminal; use -o FILE");
	if (o->include)
		ret = bytes_append(&all, r->head, r->head_len, e);
	if (ret == 0)
		ret = bytes_append(&all, r->body, r->body_len, e);
	if (ret == 0 && o->output != NULL)
		ret = write_file(o->output, all.p, all.len, 0644, e);
	else if (ret == 0 && all.len > 0 &&
	    (ret = io_write_full(STDOUT_FILENO, all.p, all.len, e)) != 0)
		err_ctx(e, "standard output");
	bytes_free(&all);
	return ret;
}

/* %{name} and \n of --write-out; unknown ones stay as they are. */
static void
write_out(const char *text, const struct amber_answer *r)
{
	const struct { const char *name; double v; int digits; } rows[] = {
		{ "%{http_code}", r->status, 0 },
		{ "%{record}", r->has_record ? (double)r->index : -1, 0 },
		{ "%{time_total}", r->times.total_s, 6 },
		{ "%{time_connect}", r->times.connect_s, 6 },
		{ "%{time_starttransfer}", r->times.first_byte_s, 6 },
		{ "%{size_download}", (double)r->body_len, 0 },
		{ "%{num_exchanges}", (double)r->exchanges, 0 },
	};
	size_t i, n;

	while (*text != '\0') {
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			n = strlen(rows[i].name);
			if (strncmp(text, rows[i].name, n) == 0)
				break;
		}
		if (i < sizeof(rows) / sizeof(rows[0])) {
			printf("%.*f", rows[i].digits, rows[i].v);
			text += strlen(rows[i].name);
		} else if (text[0] == '\\' && text[1] == 'n') {
			putchar('\n');
			text += 2;
		} else
			putchar(*text++);
	}
	fflush(stdout);
}

/* ---- redirects ---- */

static bool
is_redirect(unsigned status)
{
	return status == 301 || status == 302 || status == 303 ||
	    status == 307 || status == 308;
}

/* An absolute https URL, or a path on the same host. */
static int
resolve(struct bytes *url, const char *location, struct err *e)
{
	struct url u;
	char host[URL_AUTHORITY_MAX];
	int r;

	if (strncmp(location, "https://", 8) == 0) {
		bytes_clear(url);
		r = bytes_append_str(url, location, e);
	} else if (location[0] == '/' && location[1] != '/') {
		if ((r = url_parse(&u, (const char *)url->p, url->len, e)) !=
		    0)
			return r;
		memcpy(host, u.authority, sizeof(host));
		bytes_clear(url);
		r = bytes_printf(url, e, "https://%s%s", host, location);
	} else
		return err_set(e, ERR_ARG, "redirect to \"%.100s\": only "
		    "https URLs and absolute paths are followed", location);
	if (r != 0)
		return r;
	bytes_truncate(url, strcspn((const char *)url->p, "#") < url->len ?
		strcspn((const char *)url->p, "#") : url->len);
	return bytes_terminate(url, e);
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

/* ---- the whole ---- */

static int
status_of(const struct fetch_opts *o, const struct amber_answer *r,
    struct err *e)
{
	if (r->is_relays && (r->status == 503 || r->status == 407)) {
		err_set(e, ERR_LIMIT, "the relay refuses: %s%s%s",
		    r->reason[0] != '\0' ? r->reason : r->details,
		    r->retry_after_s != 0 ? "; come back after " : "",
		    r->retry_after_s != 0 ? "the time it names" : "");
		return EXIT_REFUSED;
	}
	if (r->is_relays && !r->has_record &&
	    (r->status == 500 || r->status == 507)) {
		err_set(e, ERR_PEER, "not archived: %s", r->details);
		return EXIT_NOT_ARCHIVED;
	}
	if (o->fail && r->status >= 400) {
		err_set(e, ERR_PEER, "status %u", r->status);
		return EXIT_HTTP_STATUS;
	}
	return EXIT_OK;
}

static int
give_out(const struct fetch_opts *o, const struct amber_answer *r,
    struct err *e)
{
	int status = status_of(o, r, e);
	struct err we = ERR_INIT;

	if (status == EXIT_HTTP_STATUS)
		return status;
	if (save_receipt(o, r, &we) != 0 || write_body(o, r, &we) != 0) {
		*e = we;
		return EXIT_WRITE;
	}
	if (o->write_out != NULL)
		write_out(o->write_out, r);
	return status;
}

static int
fetch(const struct fetch_opts *o, struct amber *a, struct err *e)
{
	struct amber_request q = { .method = o->method,
		.fields = o->fields.len == 0 ? NULL :
					       (const char *)o->fields.p,
		.body = o->body.p,
		.body_len = o->body.len,
		.has_body = o->has_body };
	struct bytes url = BYTES_INIT(URL_MAX);
	struct amber_answer *r = NULL;
	unsigned hops = 0;
	char *location;
	int status = EXIT_URL;

	if (bytes_append_str(&url, o->url, e) != 0 ||
	    bytes_terminate(&url, e) != 0)
		goto out;
	for (;;) {
		q.url = (const char *)url.p;
		if (amber_fetch(a, &q, &r, e) != 0) {
			status = common_exit(a);
			break;
		}
		tell(o, r, q.url);
		location = o->follow && is_redirect(r->status) ?
		    amber_answer_field(r, "Location") : NULL;
		if (location == NULL) {
			status = give_out(o, r, e);
			break;
		}
		redirect_method(&q, r->status);
		amber_answer_free(&r);
		status = ++hops > REDIRECTS_MAX ? EXIT_REDIRECTS : EXIT_URL;
		if (hops > REDIRECTS_MAX)
			err_set(e, ERR_LIMIT, "more than %d redirects",
			    REDIRECTS_MAX);
		if (hops > REDIRECTS_MAX || resolve(&url, location, e) != 0) {
			free(location);
			break;
		}
		free(location);
	}
out:
	amber_answer_free(&r);
	bytes_free(&url);
	return status;
}

int
fetch_main(int argc, char **argv)
{
	struct bytes token = BYTES_INIT(0);
	struct err e = ERR_INIT;
	struct amber *a = NULL;
	struct fetch_opts o;
	int r, status = EXIT_USAGE;

	fetch_opts_init(&o);
	if ((r = fetch_opts_parse(&o, argc, argv, &e)) == 1)
		status = EXIT_OK;
	else if (r == 0 && bytes_terminate(&o.fields, &e) == 0 &&
	    common_open(&a, &o.common, &token, &e) == 0)
		status = fetch(&o, a, &e);
	if (status != EXIT_OK && !o.silent)
		err_print(&e, "amber fetch");
	amber_free(&a);
	bytes_free(&token);
	fetch_opts_free(&o);
	return status;
}
