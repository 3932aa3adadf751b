/*
 * token_file.h - who may use the relay, where access is not open.
 *
 * A text file of lines "name sha256-of-token-in-hex"; "#" begins a comment.
 * Tokens themselves are in no file of the relay.  A presented token is
 * hashed and compared with every line in constant time.
 */
#ifndef AMBER_RELAY_TOKEN_FILE_H
#define AMBER_RELAY_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct token_file;

enum {
	TOKEN_FILE_MAX = 4096,		/* tokens */
	TOKEN_FILE_NAME_MAX = 64,	/* bytes of [A-Za-z0-9._-] */
	TOKEN_FILE_BYTES_MAX = 1 << 20,
};

/* ERR_ARG with the line and what is wrong: a name twice, a hash twice, not 64
 * hex digits.  An empty file lets nobody in, which is an error too. */
int	token_file_load(struct token_file **out, const char *path,
	struct err *e);
int	token_file_parse(struct token_file **out, const char *text, size_t n,
	struct err *e);
void	token_file_free(struct token_file **tp);

/*
 * The value of Proxy-Authorization: "Bearer <token>" (RFC 6750 section 2.1;
 * the scheme in any case).  The number of the line that matches, or -1.
 */
int	token_file_check(const struct token_file *t, const char *value,
	size_t n);

size_t	token_file_count(const struct token_file *t);
const char *token_file_name(const struct token_file *t, size_t i);
/* Requests let in by this token; survives a reload under the same name. */
uint64_t token_file_uses(const struct token_file *t, size_t i);
void	token_file_use(struct token_file *t, size_t i);
void	token_file_keep_uses(struct token_file *t,
	const struct token_file *old);

#endif
