/*
 * origin_play.c - the answers, good and bad.  Each fault is one that hit
 * systems like this one.
 */
#include <sys/socket.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "loadtest/origin.h"
#include "loadtest/origin_pattern.h"
#include "loadtest/origin_play.h"

enum {
	BLOCK = 64 * 1024,
	HEAD_MAX = 256,		/* of an answer with the pattern */
	CHUNK_LINE = 32,
	SLICE_NS = 50 * 1000 * 1000,
	TEN_MIB = 10 << 20,
};

bool
origin_play_write(SSL *ssl, const void *p, size_t n)
{
	size_t done;

	return n == 0 || SSL_write_ex(ssl, p, n, &done) == 1;
}

static bool
say(const struct origin_request *rq, const char *text)
{
	return origin_play_write(rq->ssl, text, strlen(text));
}

/* Sleeps in slices, so that a stop is heard, and until a point in time, so
 * that the slices' lateness does not add up. */
static void
rest(const struct origin_request *rq, unsigned long ms)
{
	const uint64_t end = clock_mono_ns(clock_system()) +
	    (uint64_t)ms * 1000000;
	struct timespec ts = { 0, 0 };
	uint64_t now;

	while (!*rq->is_stopping &&
	    (now = clock_mono_ns(clock_system())) < end) {
		ts.tv_nsec = end - now < SLICE_NS ? (long)(end - now) :
						    SLICE_NS;
		(void)nanosleep(&ts, NULL);
	}
}

/* A head, then n bytes of the pattern, in chunks when asked.  The head goes
 * out with the first of them, as a server's does. */
static bool
say_pattern(const struct origin_request *rq, const char *head, uint64_t n,
    bool chunked)
{
	static _Thread_local uint8_t block[BLOCK + HEAD_MAX];
	size_t at = strlen(head), len;
	uint64_t done;

	memcpy(block, head, at);
	for (done = 0; done < n; done += len) {
		len = n - done < BLOCK ? (size_t)(n - done) : BLOCK;
		if (chunked)
			at += (size_t)snprintf((char *)block + at, CHUNK_LINE,
			    "%s%zx\r\n", done == 0 ? "" : "\r\n", len);
		origin_pattern_fill(block + at, len, done);
		if (!origin_play_write(rq->ssl, block, at + len))
			return false;
		at = 0;
	}
	return (at == 0 || origin_play_write(rq->ssl, block, at)) &&
	    (!chunked || say(rq, n == 0 ? "0\r\n\r\n" :
					  "\r\n0\r\n\r\n"));
}

static enum origin_then
play_size(const struct origin_request *rq, uint64_t n, bool chunked)
{
	char head[HEAD_MAX - CHUNK_LINE];

	if (chunked)
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n"
		    "Content-Type: application/octet-stream\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n");
	else
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n"
		    "Content-Type: application/octet-stream\r\n"
		    "Content-Length: %llu\r\n\r\n", (unsigned long long)n);
	if (rq->is_head)
		return say(rq, head) ? ORIGIN_KEEP : ORIGIN_CUT;
	return say_pattern(rq, head, n, chunked) ? ORIGIN_KEEP : ORIGIN_CUT;
}

/* %xx becomes its byte, in place. */
static void
decode(char *text)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	char *to = text;
	unsigned x;

	for (; *text != '\0'; text++) {
		*to = *text;
		if (*text == '%' && strspn(text + 1, hex) >= 2) {
			(void)sscanf(text + 1, "%2x", &x);
			*to = (char)x;
			text += 2;
		}
		to++;
	}
	*to = '\0';
}

/* A Location may hold what a URL cannot. */
static enum origin_then
play_redirect_to(const struct origin_request *rq)
{
	const char *from = strchr(rq->path, '?');
	char *to = strdup(from == NULL ? "/ok" : from + 1);
	enum origin_then then = ORIGIN_CUT;

	if (to == NULL)
		return ORIGIN_CUT;
	decode(to);
	if (say(rq, "HTTP/1.1 302 Found\r\nLocation: ") && say(rq, to) &&
	    say(rq, "\r\nContent-Length: 0\r\n\r\n"))
		then = ORIGIN_KEEP;
	free(to);
	return then;
}

static enum origin_then
play_echo(const struct origin_request *rq)
{
	char head[128];

	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n"
	    "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
	    rq->head_len + rq->body_len);
	if (!say(rq, head) ||
	    !origin_play_write(rq->ssl, rq->head, rq->head_len) ||
	    !origin_play_write(rq->ssl, rq->body, rq->body_len))
		return ORIGIN_CUT;
	return ORIGIN_KEEP;
}

/* ---- faults that are more than a text ---- */

static enum origin_then
play_drip(const struct origin_request *rq)
{
	if (!say(rq, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"))
		return ORIGIN_CUT;
	while (!*rq->is_stopping && say(rq, "x"))
		rest(rq, 2000);
	return ORIGIN_CUT;
}

/* The same text again and again, far past every cap. */
static enum origin_then
play_endless(const struct origin_request *rq, const char *head,
    const char *more)
{
	if (!say(rq, head))
		return ORIGIN_CUT;
	while (!*rq->is_stopping && say(rq, more))
		;
	return ORIGIN_CUT;
}

static enum origin_then
play_endless_headers(const struct origin_request *rq)
{
	return play_endless(rq, "HTTP/1.1 200 OK\r\n", "X-More: yes\r\n");
}

static enum origin_then
play_endless_field(const struct origin_request *rq)
{
	return play_endless(rq, "HTTP/1.1 200 OK\r\nX-Long: ",
	    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

static enum origin_then
play_endless_trailers(const struct origin_request *rq)
{
	return play_endless(rq, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
	    "chunked\r\n\r\n1\r\nx\r\n0\r\n", "X-More: yes\r\n");
}

static enum origin_then
play_endless_extensions(const struct origin_request *rq)
{
	return play_endless(rq, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
	    "chunked\r\n\r\n1", ";extension=of-a-chunk");
}

static enum origin_then
play_endless_interims(const struct origin_request *rq)
{
	return play_endless(rq, "", "HTTP/1.1 103 Early Hints\r\n\r\n");
}

static enum origin_then
play_close_race(const struct origin_request *rq)
{
	/* The first request is answered; the connection dies as the second
	 * one comes, before a byte. */
	if (rq->nth > 1)
		return ORIGIN_CUT;
	return say(rq, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst") ?
	    ORIGIN_KEEP : ORIGIN_CUT;
}

/* 256 KiB of zeros in 289 bytes. */
static enum origin_then
play_gzip_bomb(const struct origin_request *rq)
{
	static const uint8_t begin[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3,
		0xed, 0xc1, 0x31, 1, 0, 0, 0, 0xc2, 0xa0, 0xf5, 0x4f, 0xed,
		0x6d, 0x07, 0xa0 };
	static const uint8_t end[] = { 0xde, 0, 0x22, 0xea, 0x0e, 0xe2, 0, 0,
		4, 0 };
	uint8_t bomb[289] = { 0 };

	memcpy(bomb, begin, sizeof(begin));
	memcpy(bomb + sizeof(bomb) - sizeof(end), end, sizeof(end));
	return say(rq, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
		       "Content-Length: 289\r\n\r\n") &&
		origin_play_write(rq->ssl, bomb, sizeof(bomb)) ?
	    ORIGIN_KEEP : ORIGIN_CUT;
}

/* To disconnect a TCP socket is to reset it. */
static enum origin_then
play_reset(const struct origin_request *rq)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	(void)connect(SSL_get_fd(rq->ssl), &none, sizeof(none));
	return ORIGIN_CUT;
}

static enum origin_then
play_reset_body(const struct origin_request *rq)
{
	if (say(rq, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"))
		rest(rq, 20);
	return play_reset(rq);
}

static enum origin_then
play_update_keys(const struct origin_request *rq)
{
	uint8_t block[1000];
	int i;

	if (!say(rq, "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n"))
		return ORIGIN_CUT;
	for (i = 0; i < 10; i++) {
		origin_pattern_fill(block, sizeof(block),
		    (uint64_t)i * sizeof(block));
		if (SSL_version(rq->ssl) == TLS1_3_VERSION)
			(void)SSL_key_update(rq->ssl,
			    i % 2 ? SSL_KEY_UPDATE_REQUESTED :
				    SSL_KEY_UPDATE_NOT_REQUESTED);
		if (!origin_play_write(rq->ssl, block, sizeof(block)))
			return ORIGIN_CUT;
	}
	return ORIGIN_KEEP;
}

static enum origin_then
play_limit(const struct origin_request *rq)
{
	return play_size(rq, TEN_MIB, false);
}

static enum origin_then
play_limit_chunked(const struct origin_request *rq)
{
	return play_size(rq, TEN_MIB, true);
}

static enum origin_then
play_over(const struct origin_request *rq)
{
	return play_size(rq, TEN_MIB + 1, false);
}

static enum origin_then
play_over_chunked(const struct origin_request *rq)
{
	return play_size(rq, TEN_MIB + 1, true);
}

/* A fault is a text and what comes after it, or a function. */
struct row {
	struct origin_fault	 pub;
	const char		*text;
	enum origin_then	 then;
	enum origin_then	(*play)(const struct origin_request *rq);
};

#define OK		"HTTP/1.1 200 OK\r\n"
#define CHUNKED		"Transfer-Encoding: chunked\r\n"
#define INTERIM		"HTTP/1.1 100 Continue\r\n\r\n"
#define HINTS		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

static const struct row rows[] = {
	{ { "hints", "103 before 200" },
	    HINTS OK "Content-Length: 2\r\n\r\nok", ORIGIN_KEEP, NULL },
	{ { "five-interims", "five 100s before 200" },
	    INTERIM INTERIM INTERIM INTERIM INTERIM OK
	    "Content-Length: 2\r\n\r\nok", ORIGIN_KEEP, NULL },
	{ { "six-interims", "six 100s before 200" },
	    INTERIM INTERIM INTERIM INTERIM INTERIM INTERIM OK
	    "Content-Length: 2\r\n\r\nok", ORIGIN_KEEP, NULL },
	{ { "switching", "101" },
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
	    "Connection: upgrade\r\n\r\nnot HTTP", ORIGIN_CLOSE, NULL },
	{ { "no-content", "204 with a Content-Length" },
	    "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
	    ORIGIN_KEEP, NULL },
	{ { "not-modified", "304 with a Content-Length, and odd bytes" },
	    "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n"
	    "ETag: \"v1\"\r\nX-Odd: \xc3\xa4\xc2\x9b" "1m\x9b\r\n\r\n",
	    ORIGIN_KEEP, NULL },
	{ { "two-lengths", "two Content-Length fields that differ" },
	    OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
	    ORIGIN_KEEP, NULL },
	{ { "equal-lengths", "two Content-Length fields that agree" },
	    OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
	    ORIGIN_KEEP, NULL },
	{ { "gzip-chunked", "Transfer-Encoding: gzip, chunked" },
	    OK "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	    ORIGIN_KEEP, NULL },
	{ { "chunked-twice", "Transfer-Encoding: chunked, chunked" },
	    OK "Transfer-Encoding: chunked, chunked\r\n\r\n"
	    "2\r\nok\r\n0\r\n\r\n", ORIGIN_KEEP, NULL },
	{ { "length-and-chunked", "Content-Length and chunked" },
	    OK "Content-Length: 2\r\n" CHUNKED "\r\n2\r\nok\r\n0\r\n\r\n",
	    ORIGIN_KEEP, NULL },
	{ { "extra-bytes", "bytes beyond Content-Length" },
	    OK "Content-Length: 2\r\n\r\nok and more", ORIGIN_KEEP, NULL },
	{ { "close-answer", "Connection: close" },
	    OK "Connection: close\r\nContent-Length: 2\r\n\r\nok",
	    ORIGIN_CLOSE, NULL },
	{ { "short-body", "fewer bytes than announced" },
	    OK "Content-Length: 10\r\n\r\nshort", ORIGIN_CLOSE, NULL },
	{ { "cut-chunk", "a chunked body cut short" },
	    OK CHUNKED "\r\na\r\nshort", ORIGIN_CLOSE, NULL },
	{ { "no-last-chunk", "a chunked body without its end" },
	    OK CHUNKED "\r\n2\r\nok\r\n", ORIGIN_CLOSE, NULL },
	{ { "until-close", "neither length nor chunked" },
	    "HTTP/1.1 200 OK\r\n\r\nuntil the end", ORIGIN_CLOSE, NULL },
	{ { "until-cut", "the same, without close_notify" },
	    "HTTP/1.1 200 OK\r\n\r\nuntil the cut", ORIGIN_CUT, NULL },
	{ { "cut-complete", "a whole answer, without close_notify" },
	    OK "Content-Length: 2\r\nConnection: close\r\n\r\nok", ORIGIN_CUT,
	    NULL },
	{ { "huge-chunk", "a chunk of fffffffffffffff1 bytes" },
	    OK CHUNKED "\r\nfffffffffffffff1\r\nx", ORIGIN_CLOSE, NULL },
	{ { "trailers", "chunked, with trailers" },
	    OK CHUNKED "Trailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\n"
	    "X-Sum: 1\r\n\r\n", ORIGIN_KEEP, NULL },
	{ { "http09", "no status line" }, "plain text, as in 1991",
	    ORIGIN_CLOSE, NULL },
	{ { "bad-version", "HTTP/3.7" },
	    "HTTP/3.7 200 OK\r\nContent-Length: 2\r\n\r\nok", ORIGIN_CLOSE,
	    NULL },
	{ { "silent-close", "closes without an answer" }, "", ORIGIN_CLOSE,
	    NULL },
	{ { "redirect", "302 elsewhere" },
	    "HTTP/1.1 302 Found\r\nLocation: https://other.example/\r\n"
	    "Content-Length: 0\r\n\r\n", ORIGIN_KEEP, NULL },
	{ { "redirect-to", "302 to what is behind the ?, %xx decoded" }, NULL, 0,
	    play_redirect_to },
	{ { "cookies", "Set-Cookie twice, Amber-* and Proxy-Authenticate" },
	    OK "Set-Cookie: session=s3cr3t\r\nSet-Cookie: b=t0psecret\r\n"
	    "Amber-Record: 99\r\nProxy-Authenticate: Basic\r\n"
	    "Content-Length: 2\r\n\r\nok", ORIGIN_KEEP, NULL },
	{ { "drip", "a byte every 2 seconds" }, NULL, 0, play_drip },
	{ { "endless-headers", "fields without end" }, NULL, 0,
	    play_endless_headers },
	{ { "endless-field", "one field without end" }, NULL, 0,
	    play_endless_field },
	{ { "endless-trailers", "trailers without end" }, NULL, 0,
	    play_endless_trailers },
	{ { "endless-extensions", "a chunk extension without end" }, NULL, 0,
	    play_endless_extensions },
	{ { "endless-interims", "103s without end" }, NULL, 0,
	    play_endless_interims },
	{ { "close-race", "closes when the second request comes" }, NULL, 0,
	    play_close_race },
	{ { "gzip-bomb", "gzip that unpacks to 900 times its size" }, NULL, 0,
	    play_gzip_bomb },
	{ { "reset", "a reset instead of an answer" }, NULL, 0, play_reset },
	{ { "reset-body", "a reset in the body" }, NULL, 0, play_reset_body },
	{ { "update-keys", "key updates between records" }, NULL, 0,
	    play_update_keys },
	{ { "limit", "exactly 10 MiB" }, NULL, 0, play_limit },
	{ { "limit-chunked", "exactly 10 MiB, chunked" }, NULL, 0,
	    play_limit_chunked },
	{ { "over", "10 MiB and a byte" }, NULL, 0, play_over },
	{ { "over-chunked", "10 MiB and a byte, chunked" }, NULL, 0,
	    play_over_chunked },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

const struct origin_fault *
origin_faults(size_t *n)
{
	static struct origin_fault faults[ROWS];
	size_t i;

	for (i = 0; i < ROWS; i++)
		faults[i] = rows[i].pub;
	*n = ROWS;
	return faults;
}

static enum origin_then
play_fault(const struct origin_request *rq, const char *name, size_t n)
{
	const struct row *r;

	for (r = rows; r < rows + ROWS; r++) {
		if (strlen(r->pub.name) != n ||
		    memcmp(r->pub.name, name, n) != 0)
			continue;
		if (r->play != NULL)
			return r->play(rq);
		return say(rq, r->text) ? r->then : ORIGIN_CUT;
	}
	return say(rq, "HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\n"
		       "not here") ?
	    ORIGIN_KEEP : ORIGIN_CUT;
}

enum origin_then
origin_play(const struct origin_request *rq)
{
	const char *delay = strstr(rq->path, "delay=");

	rest(rq, delay == NULL ? rq->delay_ms :
	    strtoul(delay + 6, NULL, 10));
	if (strncmp(rq->path, "/size/", 6) == 0)
		return play_size(rq, strtoull(rq->path + 6, NULL, 10), false);
	if (strncmp(rq->path, "/chunked/", 9) == 0)
		return play_size(rq, strtoull(rq->path + 9, NULL, 10), true);
	if (strncmp(rq->path, "/echo", 5) == 0)
		return play_echo(rq);
	if (strncmp(rq->path, "/ok", 3) == 0)
		return say(rq, OK "Content-Type: text/plain\r\n"
			       "Content-Length: 6\r\n\r\nhello\n") ?
		    ORIGIN_KEEP : ORIGIN_CUT;
	return play_fault(rq, rq->path + 1, strcspn(rq->path + 1, "?"));
}
