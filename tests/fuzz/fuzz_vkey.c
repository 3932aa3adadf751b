/*
 * fuzz_vkey.c - the text of verifier keys, as it comes and with its key id
 * put right (which chance does not find), and the line of an identity.
 *
 * What parses is printed to a text that parses to the same key.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/fuzz/fuzz_check.h"

enum { RAW_LEN = 1 + VKEY_PUB_LEN };

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* True when it parses. */
static bool
try_text(const char *text, size_t n)
{
	char again[VKEY_TEXT_MAX];
	struct err e = ERR_INIT;
	struct vkey v, back;
	size_t i, len;

	if (vkey_parse(&v, text, n, &e) != 0) {
		fuzz_check(e.code == ERR_FORMAT && e.msg[0] != '\0');
		return false;
	}
	vkey_print(&v, again);
	len = strlen(again);
	fuzz_check(vkey_parse(&back, again, len, &e) == 0);
	fuzz_check(vkey_is_equal(&v, &back));
	/* The same text, but for the key id's case and a final newline. */
	fuzz_check(n == len || (n == len + 1 && text[len] == '\n'));
	for (i = 0; i < len; i++)
		fuzz_check(text[i] == again[i] ||
		    tolower((unsigned char)text[i]) == again[i]);
	return true;
}

/* p as a public key and a name, the key id computed here. */
static void
try_parts(const uint8_t *p, size_t len)
{
	char text[VKEY_TEXT_MAX + 64], hex[9], b64[45];
	uint8_t in[VKEY_NAME_MAX + 2 + RAW_LEN], hash[32];
	uint8_t raw[RAW_LEN] = { 1 };
	const char *name = (const char *)p + VKEY_PUB_LEN;
	struct vkey v;
	size_t n;

	if (len < VKEY_PUB_LEN || len - VKEY_PUB_LEN > VKEY_NAME_MAX + 1)
		return;
	n = len - VKEY_PUB_LEN;
	if (memchr(name, '\0', n) != NULL)
		return;
	memcpy(raw + 1, p, VKEY_PUB_LEN);
	memcpy(in, name, n);
	in[n] = '\n';
	memcpy(in + n + 1, raw, sizeof(raw));
	crypto_hash_sha256(hash, in, n + 1 + sizeof(raw));
	sodium_bin2hex(hex, sizeof(hex), hash, 4);
	sodium_bin2base64(b64, sizeof(b64), raw, sizeof(raw),
	    sodium_base64_VARIANT_ORIGINAL);
	snprintf(text, sizeof(text), "%.*s+%s+%s", (int)n, name, hex, b64);
	if (identity_is_origin(name, n)) {
		fuzz_check(try_text(text, strlen(text)));
		text[n] = '\0';
		fuzz_check(vkey_make(&v, text, p, NULL) == 0);
		fuzz_check(memcmp(v.id, hash, sizeof(v.id)) == 0);
	} else
		(void)try_text(text, strlen(text));
}

/* p as an identity's file. */
static void
try_identity(const uint8_t *p, size_t len)
{
	struct identity *id = NULL;
	struct err e = ERR_INIT;
	char path[64];
	int fd, r;

	fuzz_check((fd = memfd_create("identity", MFD_CLOEXEC)) != -1);
	fuzz_check(fchmod(fd, 0600) == 0);
	fuzz_check(write(fd, p, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = identity_load(path, &id, &e);
	close(fd);
	if (r == 0)
		fuzz_check(identity_is_origin(identity_vkey(id)->name,
		    strlen(identity_vkey(id)->name)));
	else
		fuzz_check(e.code == ERR_FORMAT && e.msg[0] != '\0' &&
		    id == NULL);
	identity_free(&id);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	fuzz_check(secret_init(NULL) == 0);
	(void)try_text((const char *)p, len);
	try_parts(p, len);
	if (len > 12 && memcmp(p, "PRIVATE+KEY+", 12) == 0)
		try_identity(p, len);
	return 0;
}
