/*
 * fuzz_json.c - json.h writes one line of well-formed UTF-8 without control
 * characters, whatever the strings hold, and whole or not at all.
 */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/utf8.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* Quotes pair up outside of escapes, and the brackets close. */
static void
check_text(const uint8_t *p, size_t len)
{
	bool in_string = false;
	int depth = 0;
	size_t i;

	assert(utf8_is_valid(p, len));
	for (i = 0; i < len; i++) {
		assert(p[i] >= 0x20 && p[i] != 0x7f);
		if (in_string && p[i] == '\\')
			i++;
		else if (p[i] == '"')
			in_string = !in_string;
		else if (!in_string && strchr("[{", p[i]) != NULL)
			depth++;
		else if (!in_string && strchr("]}", p[i]) != NULL)
			depth--;
		assert(depth >= 0);
	}
	assert(!in_string && depth == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	const char *s = (const char *)p;
	struct bytes b = BYTES_INIT(1 << 16);
	size_t name = len < 8 ? len : 8;
	char text[9] = "";
	struct json j;
	double v = 0;

	if (name > 0)
		memcpy(text, p, name);
	memcpy(&v, text, sizeof(v));
	json_begin(&j, &b);
	json_object(&j, NULL);
	json_str(&j, text, text);
	json_strn(&j, "s", s, len);
	json_array(&j, text);
	json_double(&j, NULL, v);
	json_hex(&j, NULL, p, len);
	json_close(&j);
	json_close(&j);
	if (json_end(&j, NULL) == 0)
		check_text(b.p, b.len);
	else
		assert(len > 4096 && j.fail.code == ERR_LIMIT);
	bytes_free(&b);
	return 0;
}
