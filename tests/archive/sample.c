/*
 * sample.c - see sample.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"
#include "base/kdf.h"
#include "base/log.h"
#include "base/secret.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"
#include "timelock/manifest.h"

struct sample sample;

void
sample_capture_small(struct capture *c)
{
	static const char request[] = "GET / HTTP/1.1\r\n"
				      "Host: a.example\r\n\r\n";
	static const char head[] = "HTTP/1.1 200 OK\r\n"
				   "Content-Length: 2\r\n\r\n";

	capture_init(c);
	c->start_ms = 1700000000123;
	c->method = capture_str("GET");
	c->url = capture_str("https://a.example/");
	c->request_head = capture_span(request, strlen(request));
	c->outcome = CAPTURE_COMPLETE;
	c->status = 200;
	c->response_head = capture_span(head, strlen(head));
	c->response_body = capture_span("ok", 2);
	c->peer = capture_str("192.0.2.7:443");
	c->tls.version = capture_str("TLSv1.3");
	c->tls.cipher = capture_str("TLS_AES_128_GCM_SHA256");
	c->times.ms[CAPTURE_DNS] = 3;
	c->times.ms[CAPTURE_TOTAL] = 48;
	c->software = capture_str("amber/0.1.0");
}

void
sample_capture_full(struct capture *c)
{
	sample_capture_small(c);
	c->request_body = capture_span("\x00\xff", 2);
	c->trailers = capture_span("X-T: 1\r\n\r\n", 10);
	c->ninterim = 2;
	c->interim[0] = capture_span("HTTP/1.1 100 Continue\r\n\r\n", 25);
	c->interim[1] = capture_span("HTTP/1.1 103 Early Hints\r\n\r\n", 28);
	c->tls.alpn = capture_str("http/1.1");
	c->tls.nchain = 2;
	c->tls.chain[0] = capture_span("\x30\x00", 2);
	c->tls.chain[1] = capture_span("\x30\x01\x00", 3);
	for (int i = 0; i < CAPTURE_PHASES; i++)
		c->times.ms[i] = i * 300;
	c->error = capture_str("http_response_incomplete");
	c->outcome = CAPTURE_CLOSED_EARLY;
	c->flags = CAPTURE_FLAGS;
}

void
sample_capture_body(struct capture *c, uint64_t i, const void *body, size_t n,
    char url[64])
{
	sample_capture_small(c);
	snprintf(url, 64, "https://a.example/%llu", (unsigned long long)i);
	c->url = capture_str(url);
	c->response_body = capture_span(body, n);
}

/* 32 bytes that depend on a label and a number alone. */
static void
derived(uint8_t out[32], const char *label, uint64_t number)
{
	static const uint8_t key[32] = "the samples' key, known to all";
	const struct kdf_part info[] = { { label, strlen(label) },
		{ &number, sizeof(number) } };

	kdf_expand(out, 32, key, info, 2);
}

void
sample_epoch_make(struct sample_epoch *s, const struct identity *id,
    uint64_t number)
{
	const struct vkey *v = identity_vkey(id);
	struct manifest_params p = { .epoch = number, .segments = 2,
		.steps = 10, .interval = 5 };
	struct manifest *m = NULL;

	memset(s, 0, sizeof(*s));
	bytes_init(&s->cose, MANIFEST_FILE_MAX);
	memcpy(p.origin, v->name, strlen(v->name));
	derived(p.key, "dataset", number);
	derived(s->key, "epoch", number);
	assert_int_equal(manifest_new(&m, &p, NULL), 0);
	wrap_commit(m->commit, s->key, m->salt);
	strcpy(m->software, "amber/0.1.0");
	assert_int_equal(manifest_set_times(m, 1700000000 +
		(int64_t)number * 86400, 1700086400 + (int64_t)number * 86400,
		NULL), 0);
	assert_int_equal(manifest_sign(m, id, &s->cose, NULL), 0);
	manifest_free(&m);
	assert_int_equal(epoch_open(&s->epoch, s->cose.p, s->cose.len, v,
			     NULL),
	    0);
	assert_int_equal(epoch_check_key(&s->epoch, s->key, NULL), 0);
}

void
sample_epoch_free(struct sample_epoch *s)
{
	bytes_free(&s->cose);
}

int
sample_setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	if (secret_init(NULL) != 0 ||
	    identity_new(&sample.id, "log.example/test", NULL) != 0 ||
	    identity_new(&sample.other, "log.example/test", NULL) != 0)
		return -1;
	sample_epoch_make(&sample.ep, sample.id, 1);
	sample_epoch_make(&sample.ep2, sample.id, 2);
	sample_epoch_make(&sample.ep3, sample.id, 3);
	sample_epoch_make(&sample.alien, sample.other, 1);
	return 0;
}

int
sample_teardown(void **state)
{
	(void)state;
	sample_epoch_free(&sample.ep);
	sample_epoch_free(&sample.ep2);
	sample_epoch_free(&sample.ep3);
	sample_epoch_free(&sample.alien);
	identity_free(&sample.id);
	identity_free(&sample.other);
	return 0;
}

void
sample_entry(struct commit_entry *en, const struct sample_epoch *s,
    const char *origin, uint64_t i, size_t body)
{
	uint8_t salt[SEAL_SALT_LEN], rs[SEAL_KEY_LEN];
	const struct seal_opts o = { s->key, s->epoch.puzzle, origin, salt };
	struct capture c;
	char url[64];
	uint8_t *p;

	derived(salt, "salt", i);
	p = malloc(body + 1);
	assert_non_null(p);
	memset(p, (int)i, body);
	sample_capture_body(&c, i, p, body, url);
	assert_int_equal(commit_entry_record(en, &c, &o, rs, NULL), 0);
	free(p);
}

void
sample_entry_manifest(struct commit_entry *en, const struct sample_epoch *s)
{
	assert_int_equal(commit_entry_manifest(en, s->cose.p, s->cose.len,
			     NULL),
	    0);
}
