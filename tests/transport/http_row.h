/*
 * http_row.h - a message for http_parser and its outcome, in tables of tests.
 */
#ifndef AMBER_TESTS_TRANSPORT_HTTP_ROW_H
#define AMBER_TESTS_TRANSPORT_HTTP_ROW_H

struct http_limits;

/* Flags: a request; in answer to HEAD; the input does not end there. */
enum { REQ = 1, HEAD = 2, NOEOF = 4 };

struct http_row {
	const char	*name;
	unsigned	 flags;
	const char	*in;
	const char	*want;		/* see http_outcome.h */
};

#define R11	"HTTP/1.1 200 OK\r\n"
#define CHUNKED	"Transfer-Encoding: chunked\r\n"

/* The row at once, byte by byte, and cut in two at every byte: each time the
 * outcome is the one wanted.  limits NULL: the defaults. */
void	http_row_check(const struct http_row *row,
	const struct http_limits *limits);

#endif
