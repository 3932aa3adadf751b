/*
 * cbor_echo.h - read an item piece by piece and write what was read.
 *
 * For round trips: what the strict reader accepts, the writer must write
 * back to the same bytes.
 */
#ifndef AMBER_TESTS_BASE_CBOR_ECHO_H
#define AMBER_TESTS_BASE_CBOR_ECHO_H

struct cbor_read;
struct cbor_write;
struct err;

/* One whole item.  0, or the reader's fault (the writer is then useless). */
int	cbor_echo(struct cbor_read *r, struct cbor_write *w, struct err *e);

#endif
