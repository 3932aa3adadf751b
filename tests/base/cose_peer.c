/*
 * cose_peer.c - what test_cose_peer.py asks of our side.
 *
 *	cose_peer create FILE ORIGIN		an identity and its vkey
 *	cose_peer vkey FILE			the identity's vkey
 *	cose_peer sign FILE AAD IN OUT		IN's content as a Sign1
 *	cose_peer open VKEY AAD IN OUT		a Sign1's payload, if it holds
 *	cose_peer aad PROTECTED AAD		the Enc_structure; all in hex
 *	cose_peer echo IN OUT			CBOR, read and written again
 *
 * Exit 0, 1 when refused (the reason on stderr), 2 for usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/cose.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/secret.h"
#include "tests/base/cbor_echo.h"

enum { FILE_MAX_LEN = 4 << 20 };	/* bytes */

static int
cmd_vkey(char **arg, struct err *e)
{
	struct identity *id = NULL;
	char text[VKEY_TEXT_MAX];
	int r;

	if ((r = identity_load(arg[0], &id, e)) != 0)
		return r;
	vkey_print(identity_vkey(id), text);
	puts(text);
	identity_free(&id);
	return 0;
}

static int
cmd_create(char **arg, struct err *e)
{
	int r;

	r = identity_create(arg[0], arg[1], e);
	return r != 0 ? r : cmd_vkey(arg, e);
}

static int
cmd_sign(char **arg, struct err *e)
{
	struct bytes in = BYTES_INIT(FILE_MAX_LEN);
	struct bytes out = BYTES_INIT(FILE_MAX_LEN);
	struct identity *id = NULL;
	int r;

	if ((r = identity_load(arg[0], &id, e)) == 0 &&
	    (r = io_read_file(arg[2], &in, e)) == 0 &&
	    (r = cose_sign1_make(&out, id, arg[1], in.p, in.len, e)) == 0)
		r = io_replace_file(arg[3], out.p, out.len, 0600, e);
	identity_free(&id);
	bytes_free(&out);
	bytes_free(&in);
	return r;
}

static int
cmd_open(char **arg, struct err *e)
{
	struct bytes in = BYTES_INIT(FILE_MAX_LEN);
	struct cose_sign1 s;
	struct vkey v;
	int r;

	if ((r = vkey_from_arg(&v, arg[0], e)) == 0 &&
	    (r = io_read_file(arg[2], &in, e)) == 0 &&
	    (r = cose_sign1_parse(&s, in.p, in.len, e)) == 0 &&
	    (r = cose_sign1_verify(&s, &v, arg[1], e)) == 0)
		r = io_replace_file(arg[3], s.payload, s.payload_len, 0600, e);
	bytes_free(&in);
	return r;
}

static int
unhex(const char *hex, uint8_t *out, size_t size, size_t *n, struct err *e)
{
	if (sodium_hex2bin(out, size, hex, strlen(hex), NULL, n, NULL) != 0)
		return err_set(e, ERR_ARG, "not hex");
	return 0;
}

static int
cmd_aad(char **arg, struct err *e)
{
	struct bytes out = BYTES_INIT(FILE_MAX_LEN);
	uint8_t protect[4096], aad[4096];
	size_t nprotect, naad, i;
	int r;

	if ((r = unhex(arg[0], protect, sizeof(protect), &nprotect, e)) == 0 &&
	    (r = unhex(arg[1], aad, sizeof(aad), &naad, e)) == 0 &&
	    (r = cose_encrypt0_aad(&out, protect, nprotect, aad, naad, e)) ==
	    0) {
		for (i = 0; i < out.len; i++)
			printf("%02x", out.p[i]);
		putchar('\n');
	}
	bytes_free(&out);
	return r;
}

static int
cmd_echo(char **arg, struct err *e)
{
	struct bytes in = BYTES_INIT(FILE_MAX_LEN);
	struct bytes out = BYTES_INIT(FILE_MAX_LEN);
	struct cbor_read r;
	struct cbor_write w;
	int c;

	if ((c = io_read_file(arg[0], &in, e)) != 0)
		goto out;
	cbor_read_begin(&r, in.p, in.len);
	cbor_write_begin(&w, &out);
	if ((c = cbor_echo(&r, &w, e)) == 0 &&
	    (c = cbor_read_end(&r, e)) == 0 &&
	    (c = cbor_write_end(&w, e)) == 0)
		c = io_replace_file(arg[1], out.p, out.len, 0600, e);
out:
	bytes_free(&out);
	bytes_free(&in);
	return c;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char	*name;
		int		 nargs;
		int	       (*run)(char **arg, struct err *e);
	} cmds[] = {
		{ "create", 2, cmd_create },
		{ "vkey", 1, cmd_vkey },
		{ "sign", 4, cmd_sign },
		{ "open", 4, cmd_open },
		{ "aad", 2, cmd_aad },
		{ "echo", 2, cmd_echo },
	};
	struct err e = ERR_INIT;
	size_t i;

	if (secret_init(&e) != 0) {
		err_print(&e, "cose_peer");
		return 1;
	}
	for (i = 0; argc > 1 && i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		if (strcmp(argv[1], cmds[i].name) != 0 ||
		    argc - 2 != cmds[i].nargs)
			continue;
		if (cmds[i].run(argv + 2, &e) == 0)
			return 0;
		err_print(&e, "cose_peer");
		return 1;
	}
	return 2;
}
