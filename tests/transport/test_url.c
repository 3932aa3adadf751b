/*
 * test_url.c - what is one host, and the long list of what is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/test_util.h"
#include "transport/punycode.h"
#include "transport/url.h"

static const struct {
	const char	*in;
	enum url_host	 kind;
	const char	*host;
	const char	*authority;
	unsigned	 port;
	const char	*target;	/* origin form of a GET */
} good[] = {
	{ "https://example.com/", URL_HOST_NAME, "example.com", "example.com",
	    443, "/" },
	{ "https://example.com", URL_HOST_NAME, "example.com", "example.com",
	    443, "/" },
	{ "HTTPS://EXAMPLE.Com/A?B", URL_HOST_NAME, "example.com",
	    "example.com", 443, "/A?B" },
	{ "https://example.com?q=1", URL_HOST_NAME, "example.com",
	    "example.com", 443, "/?q=1" },
	{ "https://example.com./x", URL_HOST_NAME, "example.com",
	    "example.com.", 443, "/x" },
	{ "https://example.com:443/", URL_HOST_NAME, "example.com",
	    "example.com", 443, "/" },
	{ "https://example.com:8443/", URL_HOST_NAME, "example.com",
	    "example.com:8443", 8443, "/" },
	{ "https://example.com.:1/", URL_HOST_NAME, "example.com",
	    "example.com.:1", 1, "/" },
	{ "https://a.b:65535/", URL_HOST_NAME, "a.b", "a.b:65535", 65535, "/" },
	{ "https://r3---sn-x.example.com/", URL_HOST_NAME,
	    "r3---sn-x.example.com", "r3---sn-x.example.com", 443, "/" },
	{ "https://1.2.3.4a/", URL_HOST_NAME, "1.2.3.4a", "1.2.3.4a", 443,
	    "/" },
	{ "https://4.example/", URL_HOST_NAME, "4.example", "4.example", 443,
	    "/" },
	{ "https://xn--bcher-kva.example/", URL_HOST_NAME,
	    "xn--bcher-kva.example", "xn--bcher-kva.example", 443, "/" },
	{ "https://XN--80AKHBYKNJ4F.xn--p1ai/", URL_HOST_NAME,
	    "xn--80akhbyknj4f.xn--p1ai", "xn--80akhbyknj4f.xn--p1ai", 443,
	    "/" },
	{ "https://1.2.3.4/p", URL_HOST_IPV4, "1.2.3.4", "1.2.3.4", 443, "/p" },
	{ "https://255.255.255.255:44/", URL_HOST_IPV4, "255.255.255.255",
	    "255.255.255.255:44", 44, "/" },
	/* syntax only: these are policy's to refuse */
	{ "https://127.0.0.1/", URL_HOST_IPV4, "127.0.0.1", "127.0.0.1", 443,
	    "/" },
	{ "https://[::1]/", URL_HOST_IPV6, "::1", "[::1]", 443, "/" },
	{ "https://[::]", URL_HOST_IPV6, "::", "[::]", 443, "/" },
	{ "https://[2001:DB8:0:0:1:0:0:1]:444/", URL_HOST_IPV6,
	    "2001:db8::1:0:0:1", "[2001:db8::1:0:0:1]:444", 444, "/" },
	{ "https://[2001:db8:0:1:1:1:1:1]/", URL_HOST_IPV6,
	    "2001:db8:0:1:1:1:1:1", "[2001:db8:0:1:1:1:1:1]", 443, "/" },
	{ "https://[2001:0db8::0001]/", URL_HOST_IPV6, "2001:db8::1",
	    "[2001:db8::1]", 443, "/" },
	{ "https://[::ffff:127.0.0.1]/", URL_HOST_IPV6, "::ffff:7f00:1",
	    "[::ffff:7f00:1]", 443, "/" },
	{ "https://[::127.0.0.1]/", URL_HOST_IPV6, "::7f00:1", "[::7f00:1]",
	    443, "/" },
	{ "https://[1:0:0:2:0:0:0:3]/", URL_HOST_IPV6, "1:0:0:2::3",
	    "[1:0:0:2::3]", 443, "/" },
	{ "https://[1:2:3:4:5:6:7:8]/", URL_HOST_IPV6, "1:2:3:4:5:6:7:8",
	    "[1:2:3:4:5:6:7:8]", 443, "/" },
	{ "https://[1:2:3:4:5:6:7::]/", URL_HOST_IPV6, "1:2:3:4:5:6:7:0",
	    "[1:2:3:4:5:6:7:0]", 443, "/" },
	{ "https://[1::]/", URL_HOST_IPV6, "1::", "[1::]", 443, "/" },
	{ "https://a.b/@?/:x", URL_HOST_NAME, "a.b", "a.b", 443, "/@?/:x" },
	{ "https://a.b/%20%00{}|^`\"<>", URL_HOST_NAME, "a.b", "a.b", 443,
	    "/%20%00{}|^`\"<>" },
};

static void
test_good(void **state)
{
	struct bytes out = BYTES_INIT(1024);
	struct err e = ERR_INIT;
	struct url u;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(good); i++) {
		if (url_parse(&u, good[i].in, strlen(good[i].in), &e) != 0)
			fail_msg("%s: %s", good[i].in, e.msg);
		assert_int_equal(u.kind, good[i].kind);
		assert_string_equal(u.host, good[i].host);
		assert_string_equal(u.authority, good[i].authority);
		assert_int_equal(u.port, good[i].port);
		bytes_clear(&out);
		assert_int_equal(url_append_target(&u, "GET", &out, &e), 0);
		assert_int_equal(out.len, strlen(good[i].target));
		assert_memory_equal(out.p, good[i].target, out.len);
	}
	bytes_free(&out);
}

static const struct {
	const char	*in;
	const char	*part;		/* of the message */
} bad[] = {
	{ "", "https://" },
	{ "https:/", "https://" },
	{ "https://", "empty" },
	{ "https:///", "empty" },
	{ "https://?", "empty" },
	{ "https://.", "empty" },
	{ "https://..", "empty label" },
	{ "https://:443/", "empty" },
	{ "http://example.com/", "https://" },
	{ "ftp://example.com/", "https://" },
	{ "//example.com/", "https://" },
	{ "example.com", "https://" },
	{ "https:example.com", "https://" },
	{ "https:\\\\example.com/", "https://" },
	/* other spellings of addresses */
	{ "https://2130706433/", "number" },
	{ "https://017700000001/", "number" },
	{ "https://0x7f000001/", "number" },
	{ "https://0x7f.1/", "number" },
	{ "https://127.1/", "number" },
	{ "https://127.0.1/", "number" },
	{ "https://0/", "number" },
	{ "https://0x/", "number" },
	{ "https://example.0x/", "number" },
	{ "https://example.0X1F/", "number" },
	{ "https://example.09/", "number" },
	{ "https://127.0.0.1./", "number" },
	{ "https://0177.0.0.1/", "number" },
	{ "https://127.0.0.01/", "number" },
	{ "https://256.0.0.1/", "number" },
	{ "https://1.2.3.4.5/", "number" },
	{ "https://1.2.3/", "number" },
	{ "https://1..2.3/", "empty label" },
	{ "https://0000127.0.0.1/", "number" },
	{ "https://127.0.0.1%00/", "other than letters" },
	{ "https://127%2e0.0.1/", "other than letters" },
	{ "https://127\xe3\x80\x82"
	  "0\xe3\x80\x82"
	  "0\xe3\x80\x82"
	  "1/",
	    "not ASCII" },
	{ "https://\xef\xbc\x91.2.3.4/", "not ASCII" },
	{ "https://[::1", "no ]" },
	{ "https://::1/", "empty" },
	{ "https://[::1]x/", "only a port" },
	{ "https://[::1%25eth0]/", "zone" },
	{ "https://[fe80::1%eth0]/", "zone" },
	{ "https://[]/", "no IPv6" },
	{ "https://[1:2:3:4:5:6:7]/", "no IPv6" },
	{ "https://[1:2:3:4:5:6:7:8:9]/", "no IPv6" },
	{ "https://[1::2::3]/", "no IPv6" },
	{ "https://[::12345]/", "no IPv6" },
	{ "https://[::127.0.0.01]/", "no IPv6" },
	{ "https://[::127.1]/", "no IPv6" },
	{ "https://[127.0.0.1]/", "no IPv6" },
	{ "https://[v1.x]/", "no IPv6" },
	{ "https://[example.com]/", "no IPv6" },
	/* names */
	{ "https://localhost/", "single label" },
	{ "https://localhost./", "single label" },
	{ "https://example..com/", "empty label" },
	{ "https://.example.com/", "empty label" },
	{ "https://example.com../", "empty label" },
	{ "https://-a.example/", "hyphen" },
	{ "https://a-.example/", "hyphen" },
	{ "https://a_b.example/", "other than letters" },
	{ "https://exa mple.com/", "blank" },
	{ "https://example.com\t/", "control" },
	{ "https://example.com\n/", "control" },
	{ " https://example.com/", "blank" },
	{ "https://example.com/ x", "blank" },
	{ "https://example.com/\x7f", "control" },
	{ "https://example.com/\xc3\xa9", "not ASCII" },
	{ "https://b\xc3\xbc"
	  "cher.example/",
	    "not ASCII" },
	{ "https://example%2ecom/", "other than letters" },
	{ "https://a!b.example/", "other than letters" },
	{ "https://a*.example/", "other than letters" },
	{ "https://xn--a.x/", "xn--" },
	{ "https://xn--.x/", "hyphen" },
	{ "https://xn--a-.x/", "hyphen" },
	{ "https://xn---kva.x/", "xn--" },
	{ "https://x.xn--99999999/", "xn--" },
	{ "https://XN--A.x/", "xn--" },
	/* the rest of an authority */
	{ "https://user@example.com/", "user info" },
	{ "https://user:pw@example.com/", "user info" },
	{ "https://@example.com/", "user info" },
	{ "https://example.com:x@evil.example/", "user info" },
	{ "https://example.com:/", "port" },
	{ "https://example.com:0/", "port" },
	{ "https://example.com:0443/", "port" },
	{ "https://example.com:65536/", "port" },
	{ "https://example.com:4294967739/", "port" },
	{ "https://example.com:443x/", "port" },
	{ "https://example.com:+443/", "port" },
	{ "https://example.com:443:443/", "port" },
	{ "https://[::1]:/", "port" },
	{ "https://example.com\\@evil.example/", "backslash" },
	{ "https://example.com/a\\b", "backslash" },
	{ "https://example.com#x", "fragment" },
	{ "https://example.com/#", "fragment" },
	{ "https://example.com/?a#b", "fragment" },
};

static void
test_bad(void **state)
{
	struct err e = ERR_INIT;
	struct url u;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(bad); i++) {
		err_clear(&e);
		if (url_parse(&u, bad[i].in, strlen(bad[i].in), &e) !=
		    ERR_FORMAT)
			fail_msg("%s: accepted as %s", bad[i].in, u.authority);
		if (strstr(e.msg, bad[i].part) == NULL)
			fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].in,
			    e.msg, bad[i].part);
	}
	/* a NUL inside is a byte like any other control character */
	assert_int_equal(url_parse(&u, "https://a.b\0.c/", 15, &e), ERR_FORMAT);
}

/* A name of n bytes, in labels of at most 63. */
static char *
name_url(size_t n, const char *tail)
{
	char *s = malloc(n + strlen(tail) + 9);
	size_t i;

	assert_non_null(s);
	memcpy(s, "https://", 8);
	for (i = 0; i < n; i++)
		s[8 + i] = i % 64 == 63 ? '.' : 'a';
	memcpy(s + 8 + n, tail, strlen(tail) + 1);
	return s;
}

static void
test_lengths(void **state)
{
	static const struct {
		size_t		 n;
		const char	*tail;
		int		 want;
	} rows[] = {
		{ 251, ".b/", 0 },		/* 253 */
		{ 251, ".b./", 0 },		/* 253 and a dot */
		{ 251, ".bc/", ERR_FORMAT },	/* 254 */
		{ 251, ".bc./", ERR_FORMAT },
		{ 63, ".b/", 0 },
		{ 63, "a.b/", ERR_FORMAT },	/* a label of 64 */
		{ 400, ".b/", ERR_FORMAT },
	};
	struct url u;
	char *s;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		s = name_url(rows[i].n, rows[i].tail);
		assert_int_equal(url_parse(&u, s, strlen(s), NULL),
		    rows[i].want);
		free(s);
	}
	/* the whole text */
	s = malloc(URL_TEXT_MAX + 1);
	assert_non_null(s);
	memset(s, 'a', URL_TEXT_MAX + 1);
	memcpy(s, "https://a.b/", 12);
	assert_int_equal(url_parse(&u, s, URL_TEXT_MAX, NULL), 0);
	assert_int_equal(u.target_len, URL_TEXT_MAX - 11);
	assert_int_equal(url_parse(&u, s, URL_TEXT_MAX + 1, NULL), ERR_LIMIT);
	free(s);
}

static void
test_target(void **state)
{
	struct bytes out = BYTES_INIT(8);
	struct url u;

	(void)state;
	assert_int_equal(url_parse(&u, "https://a.b", 11, NULL), 0);
	assert_int_equal(url_append_target(&u, "OPTIONS", &out, NULL), 0);
	assert_int_equal(url_parse(&u, "https://a.b/", 12, NULL), 0);
	assert_int_equal(url_append_target(&u, "OPTIONS", &out, NULL), 0);
	assert_int_equal(url_parse(&u, "https://a.b?c", 13, NULL), 0);
	assert_int_equal(url_append_target(&u, "OPTIONS", &out, NULL), 0);
	assert_int_equal(out.len, 5);
	assert_memory_equal(out.p, "*//?c", 5);
	/* no room: as it was */
	assert_int_equal(url_parse(&u, "https://a.b/1234567", 19, NULL), 0);
	assert_int_equal(url_append_target(&u, "GET", &out, NULL), ERR_LIMIT);
	assert_int_equal(out.len, 5);
	bytes_free(&out);
}

static void
test_authority(void **state)
{
	static const struct {
		const char	*in;
		unsigned	 port_default;
		int		 want;
		unsigned	 port;
	} rows[] = {
		{ "example.com:443", 0, 0, 443 },
		{ "example.com", 443, 0, 443 },
		{ "example.com", 0, ERR_FORMAT, 0 },
		{ "[::1]:80", 0, 0, 80 },
		{ "[::1]", 0, ERR_FORMAT, 0 },
		{ "1.2.3.4:5", 0, 0, 5 },
		{ "example.com:443/", 0, ERR_FORMAT, 0 },
		{ "a@example.com:443", 0, ERR_FORMAT, 0 },
		{ "", 443, ERR_FORMAT, 0 },
		{ ":443", 0, ERR_FORMAT, 0 },
	};
	struct url u;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		assert_int_equal(url_parse_authority(&u, rows[i].in,
				     strlen(rows[i].in),
				     (uint16_t)rows[i].port_default, NULL),
		    rows[i].want);
		if (rows[i].want == 0)
			assert_int_equal(u.port, rows[i].port);
	}
}

/* RFC 3492 section 7.1's samples, lower case, and what decodes badly. */
static void
test_punycode(void **state)
{
	static const struct {
		const char	*in;
		bool		 want;
	} rows[] = {
		{ "egbpdaj6bu4bxfgehfvwxn", true },
		{ "ihqwcrb4cv8a8dqg056pqjye", true },
		{ "proprostnemluvesky-uyb24dma41a", true },
		{ "i1baa7eci9glrd9b2ae1bj0hfcgg6iyaf8o0a1dig0cd", true },
		{ "n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa", true },
		{ "989aomsvi5e83db1d2a355cv1e0vak1dwrv93d5xbh15a0dt30a5j"
		  "psd879ccm6fea98c",
		    false }, /* longer than a label */
		{ "mnchen-3ya", true },
		{ "ls8h", true },		/* one emoji */
		{ "a", false },			/* U+0080 */
		{ "0", false },			/* cut short */
		{ "6a", false },		/* U+00A0 */
		{ "7a", true },			/* U+00A1 */
		{ "abc-", false },
		{ "-abc", false },
		{ "abc", false },
		{ "99999999", false },
		{ "a-!", false },
		{ "", false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		if (punycode_is_valid(rows[i].in, strlen(rows[i].in)) !=
		    rows[i].want)
			fail_msg("xn--%s is %svalid", rows[i].in,
			    rows[i].want ? "in" : "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_authority),
		cmocka_unit_test(test_punycode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
