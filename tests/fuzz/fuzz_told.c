/*
 * fuzz_told.c - what a relay tells of itself: accepted or refused whole, and
 * each epoch that is accepted has one spelling.
 *
 * The first line is Amber-State, each one after it an Amber-Epoch.
 */
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "client/amber_told.h"
#include "tests/fuzz/fuzz_check.h"

enum { FIELDS = 8 };

int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_epoch(const struct amber_epoch *ep, const struct http_field *f)
{
	char text[256], hex[2 * sizeof(ep->puzzle) + 1];

	sodium_bin2hex(hex, sizeof(hex), ep->puzzle, sizeof(ep->puzzle));
	(void)snprintf(text, sizeof(text), "n=%llu, from=%lld, until=%lld, "
	    "puzzle=%s", (unsigned long long)ep->number,
	    (long long)ep->not_before, (long long)ep->not_after, hex);
	fuzz_check(strlen(text) == f->value_len &&
	    memcmp(text, f->value, f->value_len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct http_field v[FIELDS];
	struct http_fields fields = { v, 0 };
	struct amber_state s;
	struct err e = ERR_INIT;
	const char *at = (const char *)data, *end = at + n, *nl;
	size_t i;

	for (; fields.n < FIELDS; at = nl + 1) {
		if ((nl = memchr(at, '\n', (size_t)(end - at))) == NULL)
			nl = end;
		v[fields.n] = (struct http_field){
			fields.n == 0 ? "Amber-State" : "Amber-Epoch", at, 11,
			(size_t)(nl - at) };
		fields.n++;
		if (nl == end)
			break;
	}
	if (amber_told_take(&s, fields, &e) != 0) {
		fuzz_check(e.msg[0] != '\0' && s.nepochs == 0 &&
		    s.word[0] == '\0');
		return 0;
	}
	fuzz_check(s.nepochs == fields.n - 1 && s.nepochs <= AMBER_EPOCHS_MAX);
	fuzz_check(strlen(s.word) == v[0].value_len &&
	    memcmp(s.word, v[0].value, v[0].value_len) == 0);
	for (i = 0; i < s.nepochs; i++) {
		check_epoch(&s.epochs[i], &v[i + 1]);
		fuzz_check(amber_told_find(&s, s.epochs[i].puzzle) != NULL);
	}
	return 0;
}
