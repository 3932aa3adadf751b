/*
 * inner_peer.c - see inner_peer.h.
 */
#include <event2/event.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/receipt.h"
#include "archive/seal.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "relay/inner_inside.h"
#include "transport/tls_stream.h"
#include "tests/relay/inner_peer.h"
#include "tests/test_util.h"

static void
on_event(void *arg)
{
	struct peer *p = arg;

	event_base_loopbreak(p->w->rig.base);
}

static void
on_established(void *arg)
{
	((struct peer *)arg)->is_established = true;
}

static void
on_busy(bool busy, void *arg)
{
	((struct peer *)arg)->is_busy = busy;
}

static void
on_abort(void *arg)
{
	((struct peer *)arg)->is_aborted = true;
	on_event(arg);
}

struct inner_cbs
peer_cbs(struct peer *p)
{
	return (struct inner_cbs){ on_event, on_event, on_established,
		on_busy, on_abort, p };
}

void
peer_open(struct peer *p, struct relay_world *w)
{
	const struct inner_cbs cbs = peer_cbs(p);

	memset(p, 0, sizeof(*p));
	p->w = w;
	bytes_init(&p->got, 32 << 20);
	assert_int_equal(inner_new(&p->inner, &w->s, &cbs, NULL), 0);
	assert_int_equal(tls_stream_new(&p->tls, w->pin, NULL, NULL), 0);
}

void
peer_close(struct peer *p)
{
	inner_free(&p->inner);
	tls_stream_free(&p->tls);
	bytes_free(&p->got);
}

/* Plaintext out of what the session sent. */
static void
peer_read(struct peer *p)
{
	struct err e = ERR_INIT;
	uint8_t buf[16384];
	size_t got;
	int r;

	while ((r = tls_stream_read(p->tls, buf, sizeof(buf), &got, &e)) == 0)
		assert_int_equal(bytes_append(&p->got, buf, got, NULL), 0);
	if (r == ERR_EOF)
		p->has_end = true;
	else if (r != ERR_AGAIN)
		fail_msg("client's TLS: %s", e.msg);
}

void
peer_move(struct peer *p)
{
	uint8_t buf[8192];
	size_t n, used, done;
	bool end = false, moved = true;

	while (moved && !p->is_aborted) {
		moved = false;
		if ((n = tls_stream_drain(p->tls, buf, sizeof(buf))) > 0) {
			for (done = 0; done < n; done += used)
				if ((used = inner_feed(p->inner, buf + done,
				    n - done)) == 0)
					fail_msg("the session is full");
			moved = true;
		}
		n = inner_read(p->inner, buf, p->most_read != 0 &&
		    p->most_read < sizeof(buf) ? p->most_read : sizeof(buf),
		    &end);
		for (done = 0; done < n; done += used) {
			assert_int_equal(tls_stream_feed(p->tls, buf + done,
			    n - done, &used, NULL), 0);
			peer_read(p);
		}
		if (n > 0)
			moved = true;
		peer_read(p);
	}
	if (end)
		p->has_end = true;
}

void
peer_send(struct peer *p, const char *text, size_t n)
{
	size_t used;
	int r;

	peer_move(p);
	while (n > 0) {
		r = tls_stream_write(p->tls, text, n, &used, NULL);
		assert_true(r == 0 || r == ERR_AGAIN);
		text += used;
		n -= used;
		peer_move(p);
	}
}

/* Is there a whole answer?  Its head's length, or 0. */
static size_t
answer(const struct peer *p, size_t *body, bool is_head)
{
	const char *text = (const char *)p->got.p, *end, *f;

	*body = 0;
	if (p->got.len == 0 || (end = memmem(text, p->got.len, "\r\n\r\n",
	    4)) == NULL)
		return 0;
	f = memmem(text, (size_t)(end - text), "\r\nContent-Length: ", 18);
	if (f != NULL && !is_head && memcmp(text + 9, "204", 3) != 0 &&
	    memcmp(text + 9, "304", 3) != 0)
		*body = strtoul(f + 18, NULL, 10);
	if (p->got.len < (size_t)(end + 4 - text) + *body)
		return 0;
	return (size_t)(end + 4 - text);
}

size_t
peer_wait(struct peer *p, size_t *body, bool is_head)
{
	size_t head;

	while ((head = answer(p, body, is_head)) == 0 &&
	    !p->is_aborted && !p->has_end) {
		event_base_loop(p->w->rig.base, EVLOOP_ONCE);
		peer_move(p);
	}
	if (head != 0)
		assert_int_equal(bytes_terminate(&p->got, NULL), 0);
	return head;
}

unsigned
peer_ask(struct peer *p, const char *request, size_t *head, size_t *body)
{
	char *text;

	bytes_clear(&p->got);
	peer_send(p, request, strlen(request));
	*head = peer_wait(p, body, strncmp(request, "HEAD", 4) == 0);
	if (*head == 0)
		return 0;
	text = (char *)p->got.p;
	assert_memory_equal(text, "HTTP/1.1 ", 9);
	return (unsigned)strtoul(text + 9, NULL, 10);
}

char *
peer_field(const struct peer *p, size_t head, const char *name)
{
	char key[64];
	const char *f, *end;

	snprintf(key, sizeof(key), "\r\n%s: ", name);
	f = memmem(p->got.p, head, key, strlen(key));
	if (f == NULL)
		return NULL;
	f += strlen(key);
	end = strstr(f, "\r\n");
	return strndup(f, (size_t)(end - f));
}

void
peer_field_is(const struct peer *p, size_t head, const char *name,
    const char *want)
{
	char *value = peer_field(p, head, name);

	if (value == NULL || want == NULL) {
		if (value != want)
			fail_msg("%s: %s", name, value == NULL ? "-" : value);
	} else if (strstr(value, want) == NULL)
		fail_msg("%s: %s", name, value);
	free(value);
}

void
peer_check_receipt(const struct peer *p, size_t head)
{
	char *text = peer_field(p, head, "Amber-Receipt");
	char *key = peer_field(p, head, "Amber-Record-Key");
	uint8_t receipt[RECEIPT_MAX], rs[SEAL_KEY_LEN];
	struct receipt r;
	struct err e = ERR_INIT;
	size_t n;

	assert_non_null(text);
	assert_non_null(key);
	assert_true(base64_decode(receipt, sizeof(receipt), text,
	    strlen(text), &n));
	if (receipt_verify(&r, NULL, (const char *)receipt, n,
	    identity_vkey(p->w->id), &e) != 0)
		fail_msg("%s", e.msg);
	assert_memory_equal(r.head.puzzle, p->w->epoch.epoch.puzzle,
	    SEAL_ID_LEN);
	assert_int_equal(sodium_base642bin(rs, sizeof(rs), key, strlen(key),
	    NULL, &n, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING), 0);
	assert_int_equal(seal_check_rs(&r.head, rs, &e), 0);
	free(text);
	free(key);
}

char *
peer_request(const struct relay_world *w, const char *method, const char *path,
    const char *fields)
{
	static char text[4096];

	snprintf(text, sizeof(text), "%s https://origin.example:%u%s "
	    "HTTP/1.1\r\nHost: x.example\r\n%s\r\n", method,
	    origin_port(w->rig.origin), path, fields);
	return text;
}

unsigned
peer_get(struct peer *p, const char *path, size_t *head, size_t *body)
{
	return peer_ask(p, peer_request(p->w, "GET", path, ""), head, body);
}
