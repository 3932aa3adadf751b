/*
 * load_get.h - a GET of a relay's own pages (status, metrics), blocking.
 */
#ifndef AMBER_LOADTEST_LOAD_GET_H
#define AMBER_LOADTEST_LOAD_GET_H

struct bytes;
struct err;

enum { LOAD_GET_S = 10 };	/* for each step */

/* where is "127.0.0.1:8440", an IPv4 address; the body, ended by NUL, comes
 * into out (cleared first). */
int	load_get(const char *where, const char *path, unsigned *status,
	struct bytes *out, struct err *e);

/* The number after a name in a text: of "name 12" lines (metrics) and of
 * "name": 12 members (JSON); missing: what is given. */
double	load_get_number(const char *text, const char *name, double missing);

#endif
