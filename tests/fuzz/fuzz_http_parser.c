/*
 * fuzz_http_parser.c - two ways of cutting the input must say the same.
 *
 * Input: flags (1 request, 2 answers HEAD, 4 end of file, 8 small caps), the
 * number of cuts (0..7), the cuts (0 counts as 1), then the message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/transport/http_outcome.h"

int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct http_limits small = { 40, 200, 4, 30, 40, 60, 64 };
	struct http_outcome_opts o = { .kind = HTTP_RESPONSES };
	uint8_t cuts[8];
	char *whole, *parts;
	size_t ncuts, i;

	if (n < 2 || n < 2 + (size_t)(data[1] % 8))
		return 0;
	if (data[0] & 1)
		o.kind = HTTP_REQUESTS;
	o.answers_head = (data[0] & 2) != 0;
	o.has_eof = (data[0] & 4) != 0;
	o.limits = data[0] & 8 ? &small : NULL;
	ncuts = data[1] % 8;
	for (i = 0; i < ncuts; i++)
		cuts[i] = data[2 + i] == 0 ? 1 : data[2 + i];
	data += 2 + ncuts;
	n -= 2 + ncuts;
	if (ncuts == 0)
		cuts[ncuts++] = 1;
	whole = http_outcome(data, n, &o);
	o.cuts = cuts;
	o.ncuts = ncuts;
	parts = http_outcome(data, n, &o);
	if (strcmp(whole, parts) != 0)
		abort();
	free(whole);
	free(parts);
	return 0;
}
