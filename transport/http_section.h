/*
 * http_section.h - lines collected raw up to an empty one (a head, or a
 * trailer section), measured against caps and split into fields.
 *
 * A part of http_parser: it knows where lines end and nothing of what they
 * mean; llhttp judges their syntax before they are split.
 */
#ifndef AMBER_TRANSPORT_HTTP_SECTION_H
#define AMBER_TRANSPORT_HTTP_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "transport/http_head.h"

struct http_section {
	struct bytes		 raw;
	size_t			 line;	/* bytes of the line begun */
	size_t			 lines;	/* complete ones */
	struct http_field	*v;	/* after the split; into raw */
	size_t			 n;
	size_t			 room;	/* fields that v can hold */
};

struct http_section_caps {
	size_t	all;		/* bytes of the section */
	size_t	line;		/* bytes of the line begun, with its CRLF */
	size_t	fields;		/* lines that are not empty */
};

enum http_section_cap {
	HTTP_SECTION_FITS,
	HTTP_SECTION_ALL,
	HTTP_SECTION_LINE,
	HTTP_SECTION_COUNT,
};

void	http_section_init(struct http_section *s, size_t cap);
void	http_section_free(struct http_section *s);
/* Empty again; gives the memory of a large one back. */
void	http_section_clear(struct http_section *s);

/* How many of n bytes belong to the line begun and break no cap; *over says
 * which one the byte after them breaks. */
size_t	http_section_scan(const struct http_section *s,
	const struct http_section_caps *caps, const uint8_t *data, size_t n,
	enum http_section_cap *over);
/* k such bytes were appended to raw; true when an empty line ended. */
bool	http_section_added(struct http_section *s, size_t k);
/* Makes fields of the lines from offset at on, but for the last, empty one.
 * 0, ERR_FORMAT, ERR_NOMEM. */
int	http_section_split(struct http_section *s, size_t at);

#endif
