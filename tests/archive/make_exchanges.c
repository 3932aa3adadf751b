/*
 * make_exchanges.c - writes an archive with one exchange of each kind, for
 * tests of what readers make of them.
 *
 *	make_exchanges DIR [ROUNDS [BYTES]]
 *
 * ROUNDS repeats the first epoch's rows, BYTES adds a record with a body of
 * that size to each round.  DIR must not exist.  Beside it: DIR.identity (the
 * log's private key, so that tests can sign what never was),
 * DIR.identity.vkey, DIR.keys ("number hex-key" a line), DIR.rs ("index name
 * base64url-key" a line) and DIR.receipts (one receipt a record, each
 * followed by a line of "=").
 */
#include <err.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST	/* input is only read */
#include <zlib.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/signer.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "base/units.h"
#include "tests/archive/sample.h"

enum { BOMB = 3 << 20, SQUEEZED_MAX = 64 << 10 };

/* A body's coding, done when the capture is made. */
enum coding { PLAIN, GZIP, GZIP_TWO, ZLIB, RAW, TWICE, DAMAGED, CUT, ZEROS };

struct row {
	const char		*name, *method, *status_line, *fields;
	const char		*body;		/* NULL: none */
	enum coding		 coding;
	unsigned		 status;
	enum capture_outcome	 outcome;
	unsigned		 flags;
	bool			 is_cut;	/* the head, behind fields */
	const char		*error, *trailers, *interim, *request_body;
};

#define TEXT	"The quick brown fox jumps over the lazy dog.\n"

static const struct row rows[] = {
	{ .name = "plain", .method = "GET", .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Type: text/plain\r\nContent-Length: 45\r\n",
	    .body = TEXT, .status = 200 },
	{ .name = "chunked", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Type: text/html; charset=utf-8\r\n"
		      "transfer-encoding: chunked\r\nTrailer: X-Sum\r\n",
	    .body = TEXT, .status = 200, .flags = CAPTURE_CHUNKED,
	    .trailers = "X-Sum: 1\r\n\r\n",
	    .interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" },
	{ .name = "gzip", .method = "GET", .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: gzip\r\n"
		      "Transfer-Encoding: chunked\r\n",
	    .body = TEXT, .coding = GZIP, .status = 200,
	    .flags = CAPTURE_CHUNKED | CAPTURE_REUSED,
	    .trailers = "\r\n" },
	{ .name = "gzip-members", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: x-gzip\r\n", .body = TEXT,
	    .coding = GZIP_TWO, .status = 200 },
	{ .name = "deflate", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: deflate\r\n", .body = TEXT,
	    .coding = ZLIB, .status = 200 },
	{ .name = "deflate-raw", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: deflate\r\n", .body = TEXT,
	    .coding = RAW, .status = 200 },
	{ .name = "twice", .method = "GET", .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: deflate,\r\n gzip\r\n", .body = TEXT,
	    .coding = TWICE, .status = 200 },
	{ .name = "gzip-damaged", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: gzip\r\n", .body = TEXT,
	    .coding = DAMAGED, .status = 200 },
	{ .name = "gzip-cut", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: gzip\r\n", .body = TEXT,
	    .coding = CUT, .status = 200 },
	{ .name = "bomb", .method = "GET", .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: gzip\r\n", .body = "",
	    .coding = ZEROS, .status = 200 },
	{ .name = "br", .method = "GET", .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Encoding: br\r\n", .body = "\x0b\x02\x80",
	    .status = 200 },
	{ .name = "head", .method = "HEAD", .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Length: 12345\r\n", .status = 200 },
	{ .name = "head-chunked", .method = "HEAD",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Transfer-Encoding: chunked\r\n", .status = 200 },
	{ .name = "no-content", .method = "DELETE",
	    .status_line = "HTTP/1.1 204 No Content",
	    .fields = "Transfer-Encoding: chunked\r\n", .status = 204 },
	{ .name = "not-modified", .method = "GET",
	    .status_line = "HTTP/1.1 304 Not Modified",
	    .fields = "Content-Length: 99\r\n", .status = 304 },
	{ .name = "empty", .method = "GET", .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Length: 0\r\n", .body = "", .status = 200 },
	{ .name = "post", .method = "POST",
	    .status_line = "HTTP/1.1 201 Created",
	    .fields = "Content-Length: 45\r\n", .body = TEXT, .status = 201,
	    .request_body = "a=1&b=2" },
	{ .name = "over-cap", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Length: 99999999\r\n", .body = TEXT,
	    .status = 200, .outcome = CAPTURE_OVER_CAP,
	    .error = "http_response_body_size" },
	{ .name = "timed-out", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Transfer-Encoding: chunked\r\n", .body = TEXT,
	    .status = 200, .outcome = CAPTURE_TIMED_OUT,
	    .flags = CAPTURE_CHUNKED, .error = "http_response_timeout" },
	{ .name = "closed-early", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Length: 100\r\n", .body = TEXT, .status = 200,
	    .outcome = CAPTURE_CLOSED_EARLY,
	    .error = "http_response_incomplete" },
	{ .name = "malformed", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Transfer-Encoding: gzip, chunked\r\nno colon here\r\n"
		      " folded\r\n: empty name\r\n",
	    .status = 200, .outcome = CAPTURE_MALFORMED,
	    .error = "http_protocol_error" },
	{ .name = "bad-trailers", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n",
	    .body = TEXT, .status = 200, .outcome = CAPTURE_MALFORMED,
	    .flags = CAPTURE_CHUNKED, .error = "http_response_trailer_size" },
	{ .name = "tls-failure", .method = "GET",
	    .outcome = CAPTURE_TLS_FAILURE, .error = "tls_certificate_error" },
	{ .name = "dns-failure", .method = "GET",
	    .outcome = CAPTURE_DNS_FAILURE, .error = "dns_error" },
	{ .name = "refused", .method = "GET", .outcome = CAPTURE_REFUSED,
	    .error = "destination_ip_prohibited" },
	{ .name = "connect-failure", .method = "POST",
	    .outcome = CAPTURE_CONNECT_FAILURE,
	    .error = "connection_refused", .request_body = "kept" },
	{ .name = "no-time-to-dial", .method = "GET",
	    .outcome = CAPTURE_TIMED_OUT, .error = "connection_timeout" },
	{ .name = "no-time-to-answer", .method = "GET",
	    .outcome = CAPTURE_TIMED_OUT, .error = "http_response_timeout" },
	{ .name = "half-a-head", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK", .fields = "X-Cut: a\r\nX-C",
	    .is_cut = true, .outcome = CAPTURE_CLOSED_EARLY,
	    .error = "http_response_incomplete" },
	{ .name = "nothing-of-it", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Length: 100\r\n", .body = "", .status = 200,
	    .outcome = CAPTURE_CLOSED_EARLY,
	    .error = "http_response_incomplete" },
	{ .name = "escape", .method = "GET",
	    .status_line = "HTTP/1.1 200 \x1b]0;owned\x07 OK",
	    .fields = "Content-Type: text/\x1b[31mred\r\n"
		      "X-\x9b: \xff\xfe\r\nETag: \"v\\1\"\r\n"
		      "X-C1: \xc2\x9b \xc3\xa9\r\nContent-Length: 6\r\n",
	    .body = "\x1b[2J\n\x07", .status = 200 },
	{ .name = "latin1", .method = "GET",
	    .status_line = "HTTP/1.1 200 OK",
	    .fields = "Content-Length: 4\r\n", .body = "caf\xe9",
	    .status = 200 },
};

static void
must(int r, const struct err *e)
{
	if (r != 0)
		errx(1, "%s", e->msg);
}

static FILE *
beside(const char *dir, const char *suffix)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%s", dir, suffix);
	if ((f = fopen(path, "w")) == NULL)
		err(1, "%s", path);
	return f;
}

/* ---- bodies ---- */

static size_t
squeeze(int bits, const void *p, size_t n, uint8_t *out)
{
	z_stream z = { 0 };

	if (deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		errx(1, "deflateInit2");
	z.next_in = p;
	z.avail_in = (uInt)n;
	z.next_out = out;
	z.avail_out = SQUEEZED_MAX;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		errx(1, "deflate");
	n = SQUEEZED_MAX - z.avail_out;
	deflateEnd(&z);
	return n;
}

static size_t
encode(const struct row *row, uint8_t *out)
{
	static uint8_t zeros[BOMB], once[SQUEEZED_MAX];
	const char *p = row->body;
	size_t n = strlen(p), half = n / 2;

	switch (row->coding) {
	case PLAIN:
		memcpy(out, p, n);
		return n;
	case GZIP:
		return squeeze(31, p, n, out);
	case GZIP_TWO:
		half = squeeze(31, p, n / 2, out);
		return half + squeeze(31, p + n / 2, n - n / 2, out + half);
	case ZLIB:
		return squeeze(15, p, n, out);
	case RAW:
		return squeeze(-15, p, n, out);
	case TWICE:
		n = squeeze(15, p, n, once);
		return squeeze(31, once, n, out);
	case DAMAGED:
		n = squeeze(31, p, n, out);
		out[n - 6] ^= 0x10;	/* its CRC-32 */
		return n;
	case CUT:
		return squeeze(31, p, n, out) - 9;
	case ZEROS:
		return squeeze(31, zeros, sizeof(zeros), out);
	}
	return 0;
}

/* ---- captures ---- */

struct made {
	struct capture	c;
	char		url[128], request[512], response[1024];
	uint8_t		body[2 * SQUEEZED_MAX];
};

static void
add_response(struct made *m, const struct row *row)
{
	if (row->status_line == NULL)
		return;
	snprintf(m->response, sizeof(m->response), "%s\r\n%s%s",
	    row->status_line, row->fields, row->is_cut ? "" : "\r\n");
	m->c.response_head = capture_span(m->response, strlen(m->response));
	m->c.status = row->status;
	if (row->body != NULL)
		m->c.response_body = capture_span(m->body,
		    encode(row, m->body));
	if (row->trailers != NULL)
		m->c.trailers = capture_span(row->trailers,
		    strlen(row->trailers));
	if (row->interim != NULL) {
		m->c.ninterim = 1;
		m->c.interim[0] = capture_span(row->interim,
		    strlen(row->interim));
	}
}

static void
make(struct made *m, const struct row *row, size_t i)
{
	memset(m, 0, sizeof(*m));
	sample_capture_small(&m->c);
	m->c.start_ms += (int64_t)i * 1001;
	m->c.method = capture_str(row->method);
	snprintf(m->url, sizeof(m->url), "https://a.example/%s?n=%zu&\"<q>\"",
	    row->name, i);
	m->c.url = capture_str(m->url);
	m->c.outcome = row->outcome;
	m->c.flags = row->flags;
	m->c.status = 0;
	m->c.request_head = m->c.response_head = m->c.response_body =
	    (struct capture_bytes){ NULL, 0 };
	if (row->error != NULL)
		m->c.error = capture_str(row->error);
	/* As the relay does, also when it is never sent. */
	snprintf(m->request, sizeof(m->request),
	    "%s /%s?n=%zu HTTP/1.1\r\nHost: a.example\r\n\r\n", row->method,
	    row->name, i);
	m->c.request_head = capture_span(m->request, strlen(m->request));
	if (row->status_line == NULL) {
		/* Nothing was sent, nothing came. */
		m->c.peer = (struct capture_text){ NULL, 0 };
		memset(&m->c.tls, 0, sizeof(m->c.tls));
	} else {
		m->c.tls.nchain = 1;
		m->c.tls.chain[0] = capture_span("\x30\x03\x02\x01\x05", 5);
	}
	if (i % 2 == 1 && row->status_line != NULL)
		m->c.peer = capture_str("[2001:db8::7]:443");
	if (row->request_body != NULL)
		m->c.request_body = capture_span(row->request_body,
		    strlen(row->request_body));
	add_response(m, row);
}

/* ---- the archive ---- */

struct maker {
	struct identity	*id;
	struct commit	*c;
	FILE		*keys, *rs, *receipts;
};

static void
begin_epoch(struct maker *m, struct sample_epoch *ep, uint64_t n)
{
	struct commit_entry en;
	struct err e = ERR_INIT;
	char hex[65];

	sample_epoch_make(ep, m->id, n);
	must(commit_entry_manifest(&en, ep->cose.p, ep->cose.len, &e), &e);
	must(commit_manifest(m->c, &ep->epoch, &en, &e), &e);
	commit_entry_free(&en);
	sodium_bin2hex(hex, sizeof(hex), ep->key, sizeof(ep->key));
	fprintf(m->keys, "%llu %s\n", (unsigned long long)n, hex);
}

static void
append(struct maker *m, const struct sample_epoch *ep, const struct row *row,
    size_t i)
{
	static struct made made;
	const struct seal_opts o = { ep->key, ep->epoch.puzzle,
		identity_vkey(m->id)->name, NULL };
	struct commit_entry en, *v = &en;
	struct err e = ERR_INIT;
	uint8_t rs[SEAL_KEY_LEN];
	char text[64];

	make(&made, row, i);
	must(commit_entry_record(&en, &made.c, &o, rs, &e), &e);
	must(commit_batch(m->c, &v, 1, &e), &e);
	sodium_bin2base64(text, sizeof(text), rs, sizeof(rs),
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	fprintf(m->rs, "%llu %s %s\n", (unsigned long long)en.index,
	    row->name, text);
	fwrite(en.receipt.p, 1, en.receipt.len, m->receipts);
	fputs("=\n", m->receipts);
	commit_entry_free(&en);
}

/* A body too large for what a commit's rows are made of. */
static void
append_large(struct maker *m, const struct sample_epoch *ep, size_t n)
{
	const char *origin = identity_vkey(m->id)->name;
	struct commit_entry en, *v = &en;
	struct err e = ERR_INIT;

	sample_entry(&en, ep, origin, commit_size(m->c), n);
	must(commit_batch(m->c, &v, 1, &e), &e);
	commit_entry_free(&en);
}

static size_t
number(const char *s, uint64_t max)
{
	struct err e = ERR_INIT;
	uint64_t v;

	must(units_parse_uint(s, 1, max, &v, &e), &e);
	return (size_t)v;
}

int
main(int argc, char **argv)
{
	static struct sample_epoch one, two;
	struct commit_opts o = { .segment_entries = 10 };
	struct maker m = { 0 };
	struct layout *l = NULL;
	struct signer *s = NULL;
	struct err e = ERR_INIT;
	size_t n = sizeof(rows) / sizeof(rows[0]), rounds = 1, large = 0;
	char path[4096];

	if (argc < 2 || argc > 4)
		errx(2, "usage: make_exchanges DIR [ROUNDS [BYTES]]");
	if (argc > 2)
		rounds = number(argv[2], 100000);
	if (argc > 3)
		large = number(argv[3], CAPTURE_MAX / 2);
	must(secret_init(&e), &e);
	snprintf(path, sizeof(path), "%s.identity", argv[1]);
	must(identity_create(path, "relay.example/log", &e), &e);
	must(identity_load(path, &m.id, &e), &e);
	m.keys = beside(argv[1], "keys");
	m.rs = beside(argv[1], "rs");
	m.receipts = beside(argv[1], "receipts");
	must(layout_create(argv[1], identity_vkey(m.id), disk_system(), &e),
	    &e);
	must(layout_open(&l, argv[1], &e), &e);
	must(layout_lock(l, disk_system(), &e), &e);
	must(signer_local_new(&s, m.id, &e), &e);
	o.recovery.disk = disk_system();
	o.recovery.signer = s;
	must(commit_new(&m.c, l, &o, NULL, &e), &e);
	begin_epoch(&m, &one, 5);
	for (size_t k = 0; k < rounds; k++) {
		for (size_t i = 0; i < n; i++)
			append(&m, &one, &rows[i], i);
		if (large > 0)
			append_large(&m, &one, large);
	}
	/* The next epoch; a record admitted before commits in it. */
	begin_epoch(&m, &two, 7);
	append(&m, &one, &rows[0], n);
	append(&m, &two, &rows[1], n + 1);
	must(commit_close(&m.c, true, &e), &e);
	layout_free(&l);
	signer_free(&s);
	identity_free(&m.id);
	sample_epoch_free(&one);
	sample_epoch_free(&two);
	if (fclose(m.keys) != 0 || fclose(m.rs) != 0 ||
	    fclose(m.receipts) != 0)
		err(1, "write");
	return 0;
}
