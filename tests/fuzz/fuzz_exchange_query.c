/*
 * fuzz_exchange_query.c - what is accepted has one spelling: printed and read
 * again it is the same.  The same for the Amber-Stream field.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tests/fuzz/fuzz_check.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_query.h"

int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
try_answer(const char *text, size_t n)
{
	struct bytes out = BYTES_INIT(1024);
	struct exchange_answer a, b;
	const char *field, *end;

	if (exchange_answer_parse(&a, text, n, NULL) != 0)
		return;
	a.text = "text";
	fuzz_check(exchange_answer_print(&a, EXCHANGE_KEEP, &out, NULL) == 0);
	fuzz_check(bytes_terminate(&out, NULL) == 0);
	field = strstr((const char *)out.p, "Amber-Stream: ");
	fuzz_check(field != NULL);
	field += 14;
	end = strstr(field, "\r\n");
	fuzz_check(end != NULL && (size_t)(end - field) == n &&
	    memcmp(field, text, n) == 0);
	fuzz_check(exchange_answer_parse(&b, field, n, NULL) == 0);
	fuzz_check(a.status == b.status && a.o == b.o && a.l == b.l &&
	    a.u == b.u && a.q == b.q && a.has_end == b.has_end);
	bytes_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bytes out = BYTES_INIT(16384);
	struct exchange_query q, back;
	struct err e = ERR_INIT;

	try_answer((const char *)data, n);
	if (exchange_query_parse(&q, (const char *)data, n, &e) != 0) {
		fuzz_check(e.msg[0] != '\0');
		return 0;
	}
	fuzz_check(exchange_query_print(&q, &out, &e) == 0);
	fuzz_check(exchange_query_parse(&back, (const char *)out.p, out.len,
	    &e) == 0);
	fuzz_check(memcmp(q.id, back.id, sizeof(q.id)) == 0 && q.n == back.n &&
	    q.c == back.c && q.has_data == back.has_data &&
	    q.has_end == back.has_end && q.has_kill == back.has_kill &&
	    q.u == back.u && q.e == back.e && q.wait_ms == back.wait_ms &&
	    q.data_len == back.data_len &&
	    memcmp(q.data, back.data, q.data_len) == 0);
	bytes_free(&out);
	return 0;
}
