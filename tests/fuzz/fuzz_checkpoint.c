/*
 * fuzz_checkpoint.c - signed notes and checkpoints, with the pinned key of the
 * corpus and without any.  What holds under the key holds without it, and
 * says the same.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/checkpoint.h"
#include "archive/note.h"
#include "base/err.h"
#include "base/secret.h"

/* Of the key that signed the corpus; nobody has it any more. */
static const char vkey_text[] = "fuzz.example/log+74f2c378+"
	"AX5yu8hkssyhXakWsqL5Zcas2Jl2CHB2xxn1c1enYaEX";

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct vkey pin;
	struct checkpoint signed_cp, cp;
	struct err e = ERR_INIT;
	const char *text;
	size_t n;
	int r;

	if (pin.name[0] == '\0' &&
	    (secret_init(NULL) != 0 ||
		vkey_parse(&pin, vkey_text, strlen(vkey_text), NULL) != 0))
		abort();
	if (note_open(&text, &n, (const char *)p, len, NULL, NULL) == 0 &&
	    (text != (const char *)p || n == 0 || n >= len ||
		text[n - 1] != '\n'))
		abort();
	r = checkpoint_open(&signed_cp, (const char *)p, len, &pin, &e);
	if (r != 0 && r != ERR_FORMAT && r != ERR_AUTH)
		abort();
	if (r != 0 && e.msg[0] == '\0')
		abort();
	if (r == 0 &&
	    (checkpoint_open(&cp, (const char *)p, len, NULL, NULL) != 0 ||
		memcmp(&cp, &signed_cp, sizeof(cp)) != 0 ||
		cp.size > MERKLE_SIZE_MAX ||
		strcmp(cp.origin, pin.name) != 0))
		abort();
	return 0;
}
