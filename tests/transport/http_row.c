/*
 * http_row.c - see http_row.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"
#include "tests/transport/http_outcome.h"
#include "tests/transport/http_row.h"

static char *
outcome(const struct http_row *row, const struct http_limits *limits,
    const uint8_t *cuts, size_t ncuts)
{
	struct http_outcome_opts o = {
		.kind = row->flags & REQ ? HTTP_REQUESTS : HTTP_RESPONSES,
		.answers_head = (row->flags & HEAD) != 0,
		.has_eof = (row->flags & NOEOF) == 0,
		.limits = limits,
		.cuts = cuts,
		.ncuts = ncuts,
	};

	return http_outcome(row->in, strlen(row->in), &o);
}

void
http_row_check(const struct http_row *row, const struct http_limits *limits)
{
	uint8_t cuts[2] = { 1, 255 };
	char *got = outcome(row, limits, NULL, 0), *other;
	size_t i;

	if (strcmp(got, row->want) != 0)
		fail_msg("%s:\n got  %s\n want %s", row->name, got, row->want);
	other = outcome(row, limits, cuts, 1);
	if (strcmp(got, other) != 0)
		fail_msg("%s, byte by byte:\n got  %s\n want %s", row->name,
		    other, got);
	free(other);
	for (i = 1; i < strlen(row->in) && i < 255; i++) {
		cuts[0] = (uint8_t)i;
		other = outcome(row, limits, cuts, 2);
		if (strcmp(got, other) != 0)
			fail_msg("%s, cut at %zu:\n got  %s\n want %s",
			    row->name, i, other, got);
		free(other);
	}
	free(got);
}
