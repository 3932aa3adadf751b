/*
 * fetch_show.c - see fetch_show.h.  Bytes from the other side are made
 * harmless for a terminal.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "client/fetch_show.h"

static void
print_safe(FILE *f, const char *s, size_t n)
{
	size_t i, step;

	for (i = 0; i < n; i += step) {
		if ((step = utf8_step_shown(s + i, n - i)) > 0) {
			fwrite(s + i, 1, step, f);
			continue;
		}
		if (s[i] != '\r')
			fprintf(f, "\\x%02x", (unsigned)(unsigned char)s[i]);
		step = 1;
	}
}

/* Each line of a head behind a mark, as curl does. */
static void
print_head(const char *mark, const char *head)
{
	size_t n;

	for (; *head != '\0'; head += n + (head[n] != '\0')) {
		n = strcspn(head, "\n");
		fputs(mark, stderr);
		print_safe(stderr, head, n);
		fputc('\n', stderr);
	}
}

void
fetch_show_request(const struct amber_request *q)
{
	fprintf(stderr, "> %s ", q->method);
	print_safe(stderr, q->url, strlen(q->url));
	fputc('\n', stderr);
	if (q->fields != NULL)
		print_head("> ", q->fields);
	if (q->has_body)
		fprintf(stderr, "> (and %zu bytes)\n", q->body_len);
}

/* "name 12.3 ms", unless there was no such stage. */
static void
print_stage(const char *name, double seconds, const char **comma)
{
	if (seconds < 0)
		return;
	fprintf(stderr, "%s%s %.1f ms", *comma, name, seconds * 1000);
	*comma = ", ";
}

static void
show_session(const struct amber *a, const struct amber_answer *r)
{
	const struct amber_state *s = amber_state(a);
	char until[CLOCK_TEXT_MAX], hex[17];

	if (r->times.connect_s > 0)
		fprintf(stderr, "* session: opened in %.1f ms, the relay is "
		    "the one of the pin\n", r->times.connect_s * 1000);
	else
		fputs("* session: the same as before\n", stderr);
	if (s == NULL || s->nepochs == 0)
		return;
	clock_format_s(s->epochs[0].not_after, until);
	sodium_bin2hex(hex, sizeof(hex), s->epochs[0].puzzle, 8);
	fprintf(stderr, "* epoch: %llu until %s, puzzle %s...\n",
	    (unsigned long long)s->epochs[0].number, until, hex);
}

static void
show_permit(const struct amber_answer *r, const struct fetch_wait *w)
{
	if (r->is_relays && r->status == 503)
		fprintf(stderr, "* permit: refused (%s)\n", r->reason);
	else if (w->refusals == 0)
		fputs("* permit: at once\n", stderr);
	else
		fprintf(stderr, "* permit: after %.1f s and %u refusal%s\n",
		    w->seconds, w->refusals, w->refusals == 1 ? "" : "s");
}

static void
show_record(const struct amber_answer *r)
{
	const struct amber_times *t = &r->times;
	const char *comma = "* upstream: ";

	print_stage("dns", t->dns_s, &comma);
	print_stage("connect", t->tcp_s, &comma);
	print_stage("tls", t->tls_s, &comma);
	print_stage("first byte", t->server_s, &comma);
	print_stage("body", t->body_s, &comma);
	print_stage("in all", t->fetch_s, &comma);
	if (t->fetch_s >= 0)
		fputc('\n', stderr);
	if (!r->has_record) {
		fputs("* record: none\n", stderr);
		return;
	}
	fprintf(stderr, "* record: %llu, receipt %s",
	    (unsigned long long)r->index,
	    r->is_verified ? "verified" : "NOT verified");
	comma = "; ";
	print_stage("seal", t->seal_s, &comma);
	print_stage("commit", t->commit_s, &comma);
	fputc('\n', stderr);
}

void
fetch_show_answer(const struct amber *a, const struct amber_answer *r,
    const struct fetch_wait *w)
{
	show_session(a, r);
	show_permit(r, w);
	show_record(r);
	if (r->is_relays)
		fprintf(stderr, "* the relay's own answer: %s (%s)\n",
		    r->token, r->details);
	fprintf(stderr, "* exchanges: %llu, %llu of them repeated; first byte "
	    "after %.1f ms, all after %.1f ms\n",
	    (unsigned long long)r->exchanges, (unsigned long long)r->retries,
	    r->times.first_byte_s * 1000, r->times.total_s * 1000);
	print_head("< ", r->head);
}

void
fetch_show_on_progress(const struct amber_progress *p, void *arg)
{
	char done[UNITS_TEXT_MAX], all[UNITS_TEXT_MAX] = "", of[] = " of ";
	struct progress *line = arg;

	if (p->seconds < 1)
		return;
	switch (p->stage) {
	case AMBER_CONNECTING:
		(void)progress_draw(line, "connecting to the relay, %.0f s",
		    p->seconds);
		return;
	case AMBER_SENDING:
		units_format_size(p->sent, done);
		units_format_size(p->to_send, all);
		(void)progress_draw(line, "sent %s of %s, %.0f s", done, all,
		    p->seconds);
		return;
	case AMBER_WAITING:
		(void)progress_draw(line, "waiting for the answer, %.0f s",
		    p->seconds);
		return;
	case AMBER_RECEIVING:
		units_format_size(p->got, done);
		if (p->to_get > 0)
			units_format_size(p->to_get, all);
		else
			of[0] = '\0';
		(void)progress_draw(line, "received %s%s%s, %.0f s", done, of,
		    all, p->seconds);
	}
}

void
fetch_show_write_out(const char *text, const struct amber_answer *r,
    const struct fetch_wait *w)
{
	const struct { const char *name; double v; int digits; } rows[] = {
		{ "%{http_code}", r->status, 0 },
		{ "%{record}", r->has_record ? (double)r->index : -1, 0 },
		{ "%{epoch}", (double)r->epoch, 0 },
		{ "%{time_total}", r->times.total_s, 6 },
		{ "%{time_connect}", r->times.connect_s, 6 },
		{ "%{time_starttransfer}", r->times.first_byte_s, 6 },
		{ "%{time_permit}", w->seconds, 6 },
		{ "%{size_download}", (double)r->body_len, 0 },
		{ "%{num_exchanges}", (double)r->exchanges, 0 },
		{ "%{num_refusals}", w->refusals, 0 },
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
