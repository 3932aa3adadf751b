/*
 * identity.c - Ed25519 identities and their files, on libsodium.  The seed
 * and each text of it stay in struct secret; nothing secret is ever put on
 * the stack, into a message, or into a file of another mode than 0600.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/secret.h"

#define PREFIX "PRIVATE+KEY+"

enum {
	SEED_LEN = crypto_sign_SEEDBYTES,
	RAW_LEN = 1 + SEED_LEN,		/* type || seed */
	HEX_LEN = 2 * VKEY_ID_LEN,
	B64_LEN = 44,			/* of RAW_LEN bytes; no padding */
	TAIL_LEN = 1 + HEX_LEN + 1 + B64_LEN,
	LINE_MAX_LEN = sizeof(PREFIX) - 1 + VKEY_NAME_MAX + TAIL_LEN + 1,
	SIG_TYPE = 0x01,		/* C2SP: Ed25519 */
};

struct identity {
	struct vkey	 vkey;
	struct secret	*key;		/* libsodium's: seed || public key */
};

bool
identity_is_origin(const char *name, size_t n)
{
	size_t i;

	if (n == 0 || n > IDENTITY_NAME_MAX || name[0] < 'a' || name[0] > 'z')
		return false;
	for (i = 1; i < n; i++)
		if (!(name[i] >= 'a' && name[i] <= 'z') &&
		    !(name[i] >= '0' && name[i] <= '9') && name[i] != '.' &&
		    name[i] != '/' && name[i] != '-')
			return false;
	return true;
}

/* The seed of SEED_LEN bytes is copied. */
static int
from_seed(struct identity **out, const char *origin, const uint8_t *seed,
    struct err *e)
{
	struct identity *id;
	uint8_t pub[VKEY_PUB_LEN];
	int r;

	if ((id = calloc(1, sizeof(*id))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an identity");
	if ((r = secret_new(&id->key, crypto_sign_SECRETKEYBYTES, e)) != 0)
		goto out;
	crypto_sign_seed_keypair(pub, id->key->p, seed);
	if ((r = vkey_make(&id->vkey, origin, pub, e)) != 0)
		goto out;
	*out = id;
	id = NULL;			/* handed over */
out:
	identity_free(&id);
	return r;
}

int
identity_new(struct identity **out, const char *origin, struct err *e)
{
	struct secret *seed = NULL;
	int r;

	if ((r = secret_random(&seed, SEED_LEN, e)) == 0)
		r = from_seed(out, origin, seed->p, e);
	secret_free(&seed);
	return r;
}

void
identity_free(struct identity **ip)
{
	if (*ip == NULL)
		return;
	secret_free(&(*ip)->key);
	free(*ip);
	*ip = NULL;
}

const struct vkey *
identity_vkey(const struct identity *id)
{
	return &id->vkey;
}

int
identity_sign(const struct identity *id, const void *msg, size_t n,
    uint8_t sig[IDENTITY_SIG_LEN], struct err *e)
{
	if (crypto_sign_detached(sig, NULL, msg, n, id->key->p) != 0)
		return err_set(e, ERR_CRYPTO, "libsodium does not sign");
	return 0;
}

/* The identity's line with its newline and a NUL that *n does not count. */
static int
print_line(const struct identity *id, struct secret **out, size_t *n,
    struct err *e)
{
	struct secret *raw = NULL, *line = NULL;
	char hex[HEX_LEN + 1];
	size_t at;
	int r;

	*n = sizeof(PREFIX) - 1 + strlen(id->vkey.name) + TAIL_LEN + 1;
	if ((r = secret_new(&raw, RAW_LEN, e)) != 0 ||
	    (r = secret_new(&line, *n + 1, e)) != 0)
		goto out;
	raw->p[0] = SIG_TYPE;
	memcpy(raw->p + 1, id->key->p, SEED_LEN);
	sodium_bin2hex(hex, sizeof(hex), id->vkey.id, sizeof(id->vkey.id));
	at = (size_t)snprintf((char *)line->p, line->len, PREFIX "%s+%s+",
	    id->vkey.name, hex);
	sodium_bin2base64((char *)line->p + at, line->len - at, raw->p,
	    raw->len, sodium_base64_VARIANT_ORIGINAL);
	line->p[*n - 1] = '\n';
	*out = line;
	line = NULL;			/* handed over */
out:
	secret_free(&line);
	secret_free(&raw);
	return r;
}

static int
parse_line(struct identity **out, const char *text, size_t n, struct err *e)
{
	char name[VKEY_NAME_MAX + 1] = "";
	uint8_t keyid[VKEY_ID_LEN];
	struct identity *id = NULL;
	struct secret *raw = NULL;
	size_t len, got;
	int r;

	if (n > 0 && text[n - 1] == '\n')
		n--;
	if (n < sizeof(PREFIX) - 1 + TAIL_LEN ||
	    memcmp(text, PREFIX, sizeof(PREFIX) - 1) != 0)
		return err_set(e, ERR_FORMAT,
		    "not an identity: it is a line "
		    "that begins with " PREFIX);
	text += sizeof(PREFIX) - 1;
	len = n - (sizeof(PREFIX) - 1) - TAIL_LEN;
	if (!identity_is_origin(text, len))
		return err_set(e, ERR_FORMAT,
		    "the identity's name is no "
		    "origin, or its line has the wrong length");
	memcpy(name, text, len);
	text += len;
	if (text[0] != '+' || text[1 + HEX_LEN] != '+' ||
	    sodium_hex2bin(keyid, sizeof(keyid), text + 1, HEX_LEN, NULL, NULL,
		NULL) != 0)
		return err_set(e, ERR_FORMAT,
		    "the identity's key id is not "
		    "%d hex digits",
		    HEX_LEN);
	if ((r = secret_new(&raw, RAW_LEN, e)) != 0)
		return r;
	if (sodium_base642bin(raw->p, raw->len, text + 1 + HEX_LEN + 1, B64_LEN,
		NULL, &got, NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    got != RAW_LEN || raw->p[0] != SIG_TYPE)
		r = err_set(e, ERR_FORMAT,
		    "the identity's key is not base64 "
		    "of an Ed25519 seed");
	else if ((r = from_seed(&id, name, raw->p + 1, e)) == 0 &&
	    memcmp(keyid, id->vkey.id, sizeof(keyid)) != 0)
		r = err_set(e, ERR_FORMAT,
		    "the identity's key id does not "
		    "belong to its name and key");
	secret_free(&raw);
	if (r != 0) {
		identity_free(&id);
		return r;
	}
	*out = id;
	return 0;
}

/* The public line beside the identity.  ERR_EXIST leaves both as they are. */
static int
write_vkey(const char *path, const struct vkey *v, struct err *e)
{
	char text[VKEY_TEXT_MAX + 1];	/* and a newline */

	vkey_print(v, text);
	strcat(text, "\n");
	return io_create_file(path, text, strlen(text), 0644, e);
}

int
identity_create(const char *path, const char *origin, struct err *e)
{
	struct identity *id = NULL;
	struct secret *line = NULL;
	struct stat st;
	char *pub = NULL;
	size_t n;
	int r;

	if (asprintf(&pub, "%s.vkey", path) == -1)
		return err_set(e, ERR_NOMEM, "no memory for a file name");
	if (lstat(pub, &st) == 0) {
		r = err_set(e, ERR_EXIST, "%s exists already", pub);
		goto out;
	}
	if ((r = identity_new(&id, origin, e)) != 0 ||
	    (r = print_line(id, &line, &n, e)) != 0)
		goto out;
	if ((r = io_create_file(path, line->p, n, 0600, e)) != 0) {
		err_ctx(e, "identity %s", path);
		goto out;
	}
	if ((r = write_vkey(pub, &id->vkey, e)) != 0) {
		/* Nobody has seen the key: begin anew next time.  A vkey file
		 * that is ours (only the folder's sync failed) goes too. */
		unlink(path);
		if (r != ERR_EXIST)
			unlink(pub);
		err_ctx(e, "verifier key file %s", pub);
	}
out:
	secret_free(&line);
	identity_free(&id);
	free(pub);
	return r;
}

/* Whose file is it, who may look at it, and how long is it? */
static int
check_file(int fd, size_t *n, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_sys(e, "fstat");
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_ARG, "not a regular file");
	if (st.st_uid != geteuid())
		return err_set(e, ERR_PERM,
		    "it belongs to user %lu, not to "
		    "the one that runs this (%lu)",
		    (unsigned long)st.st_uid, (unsigned long)geteuid());
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return err_set(e, ERR_PERM,
		    "group or others have access to "
		    "it (mode %04o): chmod 600 it, and make a new identity "
		    "if somebody may have read it",
		    (unsigned)st.st_mode & 07777U);
	if (st.st_size < 1 || st.st_size > LINE_MAX_LEN)
		return err_set(e, ERR_FORMAT,
		    "not an identity: it has %lld "
		    "bytes, a line has at most %d",
		    (long long)st.st_size, LINE_MAX_LEN);
	*n = (size_t)st.st_size;
	return 0;
}

int
identity_load(const char *path, struct identity **out, struct err *e)
{
	struct secret *line = NULL;
	size_t n = 0;
	int fd, r;

	/* Not to hang where the name is a FIFO's. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd == -1)
		r = err_sys(e, "open");
	else if ((r = check_file(fd, &n, e)) == 0 &&
	    (r = secret_new(&line, n, e)) == 0 &&
	    (r = io_read_full(fd, line->p, n, e)) == 0)
		r = parse_line(out, (const char *)line->p, n, e);
	secret_free(&line);
	if (fd != -1)
		close(fd);
	if (r != 0)
		err_ctx(e, "identity %s", path);
	return r;
}
