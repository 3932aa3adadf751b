/*
 * fuzz_url_ref.c - a base and a reference, one to a line.  What comes out is
 * absolute, leads to itself from anywhere, and goes to the base's host
 * unless the reference names another.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tests/fuzz/fuzz_check.h"
#include "transport/url.h"
#include "transport/url_ref.h"

int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool
resolve(struct bytes *out, const char *base, const char *ref)
{
	struct err e = ERR_INIT;

	if (url_ref_resolve(out, base, ref, &e) != 0) {
		fuzz_check(e.code == ERR_FORMAT && e.msg[0] != '\0' &&
		    out->len == 0);
		return false;
	}
	fuzz_check(out->len <= strlen(base) + strlen(ref) + 4);
	fuzz_check(bytes_terminate(out, NULL) == 0);
	return true;
}

static void
same(const char *base, const char *ref, const char *want)
{
	struct bytes out = BYTES_INIT(1 << 20);

	fuzz_check(resolve(&out, base, ref) &&
	    strcmp((const char *)out.p, want) == 0);
	bytes_free(&out);
}

/* It has no path: the base's stays, dots and all. */
static bool
is_about_base(const char *ref)
{
	return ref[0] == '\0' || ref[0] == '?' || ref[0] == '#';
}

/* A path with a root and no dot segments. */
static void
check_path(const struct url *u)
{
	const char *at = u->target, *end = at + u->target_len, *slash;

	for (; at < end && *at == '/'; at = slash) {
		for (slash = ++at; slash < end && *slash != '/' &&
		    *slash != '?'; slash++)
			;
		fuzz_check(slash - at != 1 || at[0] != '.');
		fuzz_check(slash - at != 2 || at[0] != '.' || at[1] != '.');
	}
}

/* What url_parse() takes of it has no path and host but those it should. */
static void
check_url(const char *base, const char *ref, const struct bytes *got)
{
	const char *text = (const char *)got->p;
	const size_t colon = strcspn(ref, ":/?#");
	struct url from, to;

	if (url_parse(&to, text, strcspn(text, "#"), NULL) != 0)
		return;
	if (!is_about_base(ref))
		check_path(&to);
	if (ref[colon] == ':' || strncmp(ref, "//", 2) == 0)
		return;
	fuzz_check(strlen(base) > 8 &&
	    url_parse(&from, base, 8 + strcspn(base + 8, "/?#"), NULL) == 0);
	fuzz_check(strcmp(from.authority, to.authority) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bytes got = BYTES_INIT(1 << 20);
	char *base = NULL, *ref;

	if (n > 1 << 18 || (base = malloc(n + 2)) == NULL)
		return 0;
	memcpy(base, data, n);
	base[n] = base[n + 1] = '\0';
	ref = base + strcspn(base, "\n");
	if (*ref != '\0')
		*ref++ = '\0';
	if (resolve(&got, base, ref)) {
		if (!is_about_base(ref))
			same("other://where/else", (const char *)got.p,
			    (const char *)got.p);
		same((const char *)got.p, "", (const char *)got.p);
		check_url(base, ref, &got);
	}
	bytes_free(&got);
	free(base);
	return 0;
}
