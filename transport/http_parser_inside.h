/*
 * http_parser_inside.h - what http_parser.c and http_llhttp.c share: the
 * parser itself, and the way between them.  For these two alone.
 */
#ifndef AMBER_TRANSPORT_HTTP_PARSER_INSIDE_H
#define AMBER_TRANSPORT_HTTP_PARSER_INSIDE_H

#include <llhttp.h>

#include "transport/http_parser.h"
#include "transport/http_section.h"

enum phase { PH_HEAD, PH_BODY, PH_TRAILERS, PH_DONE };

struct http_parser {
	llhttp_t		 ll;
	struct http_limits	 limits;
	struct http_sink	 sink;
	enum http_kind		 kind;
	enum phase		 phase;
	enum http_fault		 fault;
	int			 fault_code;	/* ERR_*, with fault */
	bool			 answers_head;
	bool			 is_stale;	/* holds an interim head */
	bool			 blank_cr;	/* CR of an empty line before */
	bool			 last_chunk;
	bool			 is_complete;	/* llhttp agrees */
	unsigned		 interims;
	size_t			 blank;		/* bytes of such lines */
	size_t			 chunking;	/* bytes of chunk lines */
	uint64_t		 left;		/* of the body or of a chunk */
	size_t			 got;		/* body bytes of a call */
	struct err		*e;		/* of the feed under way */
	struct http_section	 head, trail;
	struct http_message	 m;
};

/* http_parser.c: keeps the fault for good, and returns its code. */
int	http_parser_fail(struct http_parser *p, enum http_fault f, int code,
	struct err *e);
/* Body bytes; counts before it gives them away. */
int	http_parser_deliver(struct http_parser *p, const uint8_t *at,
	size_t n);

/* http_llhttp.c: for a new message of p->kind. */
void	http_llhttp_init(struct http_parser *p);
/* *used bytes were taken; a pause is no failure. */
int	http_llhttp_execute(struct http_parser *p, const uint8_t *data,
	size_t n, size_t *used, struct err *e);

#endif
