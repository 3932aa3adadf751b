/*
 * http_outcome.h - everything http_parser says of an input, as one text, so
 * that two ways of feeding it can be compared.  Used by tests and fuzzers.
 */
#ifndef AMBER_TESTS_HTTP_OUTCOME_H
#define AMBER_TESTS_HTTP_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/http_parser.h"

struct http_outcome_opts {
	enum http_kind		 kind;
	bool			 answers_head;
	bool			 has_eof;	/* the input ends with an EOF */
	const struct http_limits *limits;	/* NULL: the defaults */
	/* sizes of successive feeds, repeated; NULL: all at once */
	const uint8_t		*cuts;
	size_t			 ncuts;
};

/*
 * One message: "103[link=a] 200 n=1 length(5) [x=y] 'body' trailers[] keep
 * left=2", or a fault's name where it stopped.  The caller frees.
 */
char	*http_outcome(const void *data, size_t n,
	const struct http_outcome_opts *o);

#endif
