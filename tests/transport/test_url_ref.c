/*
 * test_url_ref.c - references: RFC 3986 section 5.4, what it leaves out, and
 * what a hostile server could think of.
 */
#include <stdio.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "transport/url.h"
#include "transport/url_ref.h"

#define BASE	"http://a/b/c/d;p?q"

/* Section 5.4.1 and 5.4.2, in their order; strict where they leave it open. */
static const struct {
	const char	*ref, *want;
} rfc[] = {
	{ "g:h", "g:h" },
	{ "g", "http://a/b/c/g" },
	{ "./g", "http://a/b/c/g" },
	{ "g/", "http://a/b/c/g/" },
	{ "/g", "http://a/g" },
	{ "//g", "http://g" },
	{ "?y", "http://a/b/c/d;p?y" },
	{ "g?y", "http://a/b/c/g?y" },
	{ "#s", "http://a/b/c/d;p?q#s" },
	{ "g#s", "http://a/b/c/g#s" },
	{ "g?y#s", "http://a/b/c/g?y#s" },
	{ ";x", "http://a/b/c/;x" },
	{ "g;x", "http://a/b/c/g;x" },
	{ "g;x?y#s", "http://a/b/c/g;x?y#s" },
	{ "", "http://a/b/c/d;p?q" },
	{ ".", "http://a/b/c/" },
	{ "./", "http://a/b/c/" },
	{ "..", "http://a/b/" },
	{ "../", "http://a/b/" },
	{ "../g", "http://a/b/g" },
	{ "../..", "http://a/" },
	{ "../../", "http://a/" },
	{ "../../g", "http://a/g" },
	{ "../../../g", "http://a/g" },
	{ "../../../../g", "http://a/g" },
	{ "/./g", "http://a/g" },
	{ "/../g", "http://a/g" },
	{ "g.", "http://a/b/c/g." },
	{ ".g", "http://a/b/c/.g" },
	{ "g..", "http://a/b/c/g.." },
	{ "..g", "http://a/b/c/..g" },
	{ "./../g", "http://a/b/g" },
	{ "./g/.", "http://a/b/c/g/" },
	{ "g/./h", "http://a/b/c/g/h" },
	{ "g/../h", "http://a/b/c/h" },
	{ "g;x=1/./y", "http://a/b/c/g;x=1/y" },
	{ "g;x=1/../y", "http://a/b/c/y" },
	{ "g?y/./x", "http://a/b/c/g?y/./x" },
	{ "g?y/../x", "http://a/b/c/g?y/../x" },
	{ "g#s/./x", "http://a/b/c/g#s/./x" },
	{ "g#s/../x", "http://a/b/c/g#s/../x" },
	{ "http:g", "http:g" },
};

static const struct {
	const char	*name, *base, *ref, *want;
} more[] = {
	{ "no path in the base", "https://h.x", "g", "https://h.x/g" },
	{ "only a query in it", "https://h.x?q/r", "g", "https://h.x/g" },
	{ "nor in the reference", "https://h.x?q", "?r", "https://h.x?r" },
	{ "up from there", "https://h.x", "../../g", "https://h.x/g" },
	{ "port", "https://h.x:81/p", "/g", "https://h.x:81/g" },
	{ "network path", "https://h.x:81/p?q", "//i.x:82/g/../k?r",
	    "https://i.x:82/k?r" },
	{ "query stays", "https://h.x/p?q", "", "https://h.x/p?q" },
	{ "an empty one is one", "https://h.x/p?q", "?", "https://h.x/p?" },
	{ "dots of the base stay", "https://h.x/a/../p", "?r",
	    "https://h.x/a/../p?r" },
	{ "but not under a path", "https://h.x/a/../p", "g", "https://h.x/g" },
	{ "absolute, with dots", "https://h.x/p", "HTTPS://i.x/a/./b/../c",
	    "HTTPS://i.x/a/c" },
	{ "empty segments count", "https://h.x/a//b//c", "../g",
	    "https://h.x/a//b/g" },
	{ "three dots", "https://h.x/a/b", ".../g", "https://h.x/a/.../g" },
	{ "coded dots", "https://h.x/a/b", "%2e%2E/g", "https://h.x/a/%2e%2E/g" },
	{ "colon behind a slash", "https://h.x/a/b", "./c:d", "https://h.x/a/c:d" },
	{ "digit before a colon", "https://h.x/a/b", "1:d", "https://h.x/a/1:d" },
	{ "nothing before it", "https://h.x/a/b", ":d", "https://h.x/a/:d" },
	{ "slashes in the query", "https://h.x/a/b?c/d/e", "g",
	    "https://h.x/a/g" },
	/* RFC 9110 section 10.2.2 */
	{ "fragment inherited", "https://h.x/p#f", "/g", "https://h.x/g#f" },
	{ "by a URL too", "https://h.x/p#f", "https://i.x/", "https://i.x/#f" },
	{ "by nothing too", "https://h.x/p#f", "", "https://h.x/p#f" },
	{ "not beside another", "https://h.x/p#f", "/g#h", "https://h.x/g#h" },
	{ "nor an empty one", "https://h.x/p#f", "/g#", "https://h.x/g#" },
	/* no authority */
	{ "rootless", "g:a/b", "c", "g:a/c" },
	{ "rootless, up", "g:a/b", "../../c", "g:/c" },
	{ "above the first", "g:", "../.././../c", "g:c" },
	{ "only dots", "g:", "..", "g:" },
	{ "no folder", "g:a", "c", "g:c" },
	{ "no authority out of dots", "https://h.x/", "https:/.//i.x/",
	    "https:/.//i.x/" },
	{ "nor up", "https://h.x/", "https:/a/..//i.x/", "https:/.//i.x/" },
	{ "a path all the same", "https://h.x/a", "/.//i.x/",
	    "https://h.x//i.x/" },
};

static void
row(const char *name, const char *base, const char *ref, const char *want)
{
	struct bytes out = BYTES_INIT(4096);
	struct err e = ERR_INIT;

	if (url_ref_resolve(&out, base, ref, &e) != 0)
		fail_msg("%s: %s", name, e.msg);
	assert_int_equal(bytes_terminate(&out, &e), 0);
	if (strcmp((const char *)out.p, want) != 0)
		fail_msg("%s: <%s> is %s, not %s", name, ref,
		    (const char *)out.p, want);
	bytes_free(&out);
}

static void
test_rfc(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rfc); i++)
		row("RFC 3986 section 5.4", BASE, rfc[i].ref, rfc[i].want);
}

static void
test_more(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(more); i++)
		row(more[i].name, more[i].base, more[i].ref, more[i].want);
}

/* It joins; url_parse() judges. */
static void
test_judged(void **state)
{
	static const struct {
		const char	*ref;
		bool		 is_good;
	} rows[] = {
		{ "g", true },
		{ "//i.x/", true },
		{ "HTTPS://I.x", true },
		{ "http://i.x/", false },
		{ "https:g", false },
		{ "https:/g", false },
		{ "https:/.//i.x/", false },
		{ "///i.x/", false },
		{ "//", false },
		{ "//u@i.x/", false },
		{ "//i.x:0/", false },
		{ "//2130706433/", false },
		{ "/\\i.x/", false },
		{ "\\\\i.x/", false },
		{ "a b", false },
		{ "/\303\244", false },
		{ "javascript:alert(1)", false },
		{ "file:///etc/passwd", false },
	};
	struct bytes out = BYTES_INIT(4096);
	struct err e = ERR_INIT;
	struct url u;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		bytes_clear(&out);
		assert_int_equal(url_ref_resolve(&out, "https://h.x/a/b",
		    rows[i].ref, &e), 0);
		if ((url_parse(&u, (const char *)out.p, out.len, &e) == 0) !=
		    rows[i].is_good)
			fail_msg("%s", rows[i].ref);
	}
	bytes_free(&out);
}

/* At its cap it leaves out as it was, whichever part was one too many. */
static void
test_refused(void **state)
{
	static const char want[] = "here: https://h.x/a/c?q#f";
	struct bytes out = BYTES_INIT(4096);
	struct err e = ERR_INIT;
	size_t cap;

	(void)state;
	assert_int_equal(url_ref_resolve(&out, "//h.x/a", "b", &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "no scheme");
	assert_int_equal(out.len, 0);
	bytes_free(&out);
	for (cap = 6; cap < sizeof(want) - 1; cap++) {
		bytes_init(&out, cap);
		assert_int_equal(bytes_append_str(&out, "here: ", &e), 0);
		test_err_is(&e, url_ref_resolve(&out, "https://h.x/a/b",
		    "c?q#f", &e), NULL);
		assert_int_equal(e.code, ERR_LIMIT);
		assert_int_equal(out.len, 6);
		bytes_free(&out);
	}
	bytes_init(&out, cap);
	assert_int_equal(bytes_append_str(&out, "here: ", &e), 0);
	assert_int_equal(url_ref_resolve(&out, "https://h.x/a/b", "c?q#f", &e),
	    0);
	assert_memory_equal(out.p, want, sizeof(want) - 1);
	bytes_free(&out);
	/* the two bytes of "/." */
	bytes_init(&out, 5);
	assert_int_equal(url_ref_resolve(&out, "g:/a", "/.//b", &e), ERR_LIMIT);
	assert_int_equal(out.len, 0);
	bytes_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_judged),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
