/*
 * fuzz_stored_head.c - heads as strangers sent them: lines add up to the
 * head, values lie within it, a rewritten head keeps none of the fields that
 * it must not have; and a body decoded by what the head says stays within
 * its cap.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "archive/body_decode.h"
#include "archive/head_view.h"
#include "archive/warc_exchange.h"
#include "base/bytes.h"
#include "base/err.h"
#include "tests/fuzz/fuzz_check.h"

enum { CAP = 100000 };

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
walk(const struct capture_bytes *head)
{
	const char *begin = (const char *)head->p, *end = begin + head->n;
	struct head_view v;
	struct head_line l;
	size_t sum = 0;

	head_view_begin(&v, head);
	while (head_view_next(&v, &l)) {
		fuzz_check(l.line == begin + sum && l.line_len > 0);
		sum += l.line_len;
		if (l.name == NULL)
			continue;
		fuzz_check(l.name == l.line && l.name_len > 0);
		fuzz_check(l.value >= l.name + l.name_len &&
		    l.value + l.value_len <= end);
	}
	fuzz_check(sum == head->n);
}

static void
rewrite(const struct capture_bytes *head, size_t length)
{
	struct bytes out = BYTES_INIT(1 << 22);
	struct capture_bytes now;
	bool is_changed;

	fuzz_check(head_view_rewrite(&out, head, length, &is_changed,
	    NULL) == 0);
	now = capture_span(out.p, out.len);
	fuzz_check(head_view_count(&now, "transfer-encoding") == 0);
	fuzz_check(length == SIZE_MAX ||
	    head_view_count(&now, "content-length") <= 1);
	fuzz_check(is_changed || (out.len == head->n &&
				(out.len == 0 ||
				    memcmp(out.p, head->p, out.len) == 0)));
	bytes_free(&out);
}

static int
on_put(void *arg, const void *p, size_t n, struct err *e)
{
	size_t *sum = arg;

	(void)p;
	(void)e;
	*sum += n;
	fuzz_check(*sum <= CAP);
	return 0;
}

/* The head ends at the first empty line; the rest is its body. */
static void
decode(const uint8_t *p, size_t n)
{
	const uint8_t *gap = memmem(p, n, "\r\n\r\n", 4);
	size_t sum = 0, at = gap == NULL ? n : (size_t)(gap - p) + 4;
	const struct capture_bytes head = { p, at }, body = { p + at, n - at };
	const struct body_decode_opts o = { CAP, on_put, &sum };
	struct err e = ERR_INIT;
	int r = body_decode(&head, &body, &o, &e);

	fuzz_check(r == 0 || (e.code == r && e.msg[0] != '\0'));
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct capture_bytes head = { p, n };
	const struct capture_text peer = { (const char *)p, n };
	char address[64];

	if (n > 1 << 20)
		return 0;
	walk(&head);
	rewrite(&head, n);
	rewrite(&head, SIZE_MAX);
	decode(p, n);
	if (n > 0 && warc_exchange_address(address, &peer))
		fuzz_check(strlen(address) < sizeof(address));
	return 0;
}
