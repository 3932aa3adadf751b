/*
 * test_config.c - texts that load and texts that are refused with their
 * line, profiles, flags, a print that loads again, and SIGHUP's part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "relay/config.h"
#include "relay/config_keys.h"
#include "relay/relay_setup.h"

#define Z44	"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
#define Z172	Z44 Z44 Z44 "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
#define Z176	Z44 Z44 Z44 Z44

static const struct { const char *name, *text, *want; } rows[] = {
	{ "empty", "", NULL },
	{ "comments", "; one\n# two\n\n", NULL },
	{ "no last newline", "permits = 8", NULL },
	{ "carriage returns", "permits = 8\r\n", NULL },
	{ "180 bytes", "user=" Z176 "\n", "line 1: 181 bytes" },
	{ "unknown key", "\npermit = 8\n",
	    "line 2: unknown key \"permit\"; did you mean \"permits\"?" },
	{ "unlike any", "frobnicate = 8\n", "--print-config shows all" },
	{ "twice", "permits = 8\nfields = 9\npermits = 8\n",
	    "line 3: \"permits\" is given twice" },
	{ "no value", "permits\n", "line 1: not \"key = value\"" },
	{ "section", "[relay]\npermits = 8\n",
	    "line 1: section [relay]: keys stand without sections" },
	{ "section alone", "permits = 8\n[relay]\n", "line 2: section [relay]" },
	{ "section, no end", "permits = 8\n[", "line 2: section [: keys" },
	{ "section, mark", "\xef\xbb\xbf[relay]\n", "line 1: section [relay]" },
	{ "form feed", "\f[relay]\npermits = 8\n", "line 1: begins with a blank" },
	{ "low", "permits = 0\n", "line 1: permits: \"0\" is not a whole number from 1 to 1024" },
	{ "lowest", "permits = 1\n", NULL },
	{ "highest", "permits = 1024\n", NULL },
	{ "high", "permits = 1025\n", "\"1025\" is not a whole number from 1 to 1024" },
	{ "not a number", "permits = many\n", "line 1: permits:" },
	{ "size", "response_body = 1MiB\n", NULL },
	{ "size too large", "response_body = 1GiB\n", "bytes" },
	{ "duration", "fetch = 5m\n", NULL },
	{ "duration too long", "fetch = 301s\n", " ms" },
	{ "word", "mode = medium\n", "none of: light full" },
	{ "part of a word", "mode = ligh\n", "none of: light full" },
	{ "two words", "mode = light full\n", "none of" },
	{ "flag", "log_json = true\n", "neither yes nor no" },
	{ "profile", "profile = prod\n", "none of: demo production" },
	{ "continued", "listen = 127.0.0.1:1\n  127.0.0.1:2\n",
	    "line 2: begins with a blank" },
	{ "blank line", "permits = 8\n  \n", NULL },
	{ "first fault wins", "permits = 0\nfields = 0\n", "line 1" },
};

static struct config *
new_config(void)
{
	struct config *c;

	assert_int_equal(config_new(&c, NULL), 0);
	return c;
}

static int
load(struct config *c, const char *text, struct err *e)
{
	return config_load_text(c, text, strlen(text), e);
}

static void
test_texts(void **state)
{
	struct config *c;
	struct err e;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		c = new_config();
		err_clear(&e);
		r = load(c, rows[i].text, &e);
		if ((r == 0) != (rows[i].want == NULL))
			fail_msg("%s: %d %s", rows[i].name, r, e.msg);
		if (rows[i].want != NULL)
			test_err_is(&e, ERR_ARG, rows[i].want);
		config_free(&c);
	}
}

static void
test_line_cap(void **state)
{
	char text[CONFIG_LINE_MAX + 2] = "user=";
	struct config *c = new_config();

	(void)state;
	memset(text + 5, 'z', CONFIG_LINE_MAX - 5);
	assert_int_equal(load(c, text, NULL), 0);
	assert_int_equal(strlen(c->user), CONFIG_LINE_MAX - 5);
	text[CONFIG_LINE_MAX] = 'z';
	assert_int_equal(load(c, text, NULL), ERR_ARG);
	assert_int_equal(config_load_text(c, "permits = 8\0x", 13, NULL),
	    ERR_ARG);
	config_free(&c);
}

static void
test_list_cap(void **state)
{
	struct bytes text = BYTES_INIT(1 << 20);
	struct config *c = new_config();
	struct err e;
	int i;

	(void)state;
	for (i = 0; i < CONFIG_LIST_MAX; i++)
		assert_int_equal(bytes_append_str(&text, "allow = ::1\n", NULL),
		    0);
	assert_int_equal(config_load_text(c, (char *)text.p, text.len, NULL),
	    0);
	assert_int_equal(c->allow.n, CONFIG_LIST_MAX);
	assert_int_equal(bytes_append_str(&text, "allow = ::1\n", NULL), 0);
	assert_int_equal(config_load_text(c, (char *)text.p, text.len, &e),
	    ERR_ARG);
	test_err_is(&e, ERR_ARG, "line 257: allow: more than 256 values");
	bytes_free(&text);
	config_free(&c);
}

static void
test_profiles(void **state)
{
	struct config *c = new_config();

	(void)state;
	assert_false(config_is_production(c));
	assert_string_equal(c->mode, "light");
	assert_int_equal(c->permits, 16);
	assert_int_equal(c->redact.n, 3);
	assert_string_equal(c->redact.at[2], "Set-Cookie");
	assert_int_equal(config_check(c, NULL), 0);
	/* The profile counts wherever it stands, and what is given stays. */
	assert_int_equal(load(c, "steps = 7\nprofile = production\n", NULL), 0);
	assert_true(config_is_production(c));
	assert_int_equal(c->steps, 7);
	assert_int_equal(c->segments, 96);
	assert_int_equal(c->epoch_ms, 24 * 3600 * 1000);
	assert_string_equal(c->mode, "full");
	assert_int_equal(config_check(c, NULL), ERR_ARG); /* no origin */
	assert_int_equal(config_set(c, "origin=relay.example/1", NULL), 0);
	assert_int_equal(config_check(c, NULL), 0);
	assert_int_equal(config_set(c, "profile=demo", NULL), 0);
	assert_int_equal(c->steps, 7);
	assert_int_equal(c->segments, 8);
	assert_string_equal(c->origin, "relay.example/1");
	config_free(&c);
}

static void
test_lists(void **state)
{
	struct config *c = new_config();

	(void)state;
	assert_int_equal(load(c, "redact = X-Key\nredact = X-Other\n", NULL),
	    0);
	assert_int_equal(c->redact.n, 2);
	assert_string_equal(c->redact.at[0], "X-Key");
	assert_int_equal(load(c, "redact =\n", NULL), 0);
	assert_int_equal(c->redact.n, 0);
	assert_int_equal(config_set(c, "redact=A", NULL), 0);
	assert_int_equal(config_set(c, "redact=B", NULL), 0);
	assert_int_equal(c->redact.n, 2);
	assert_int_equal(config_set(c, "redact=", NULL), 0);
	assert_int_equal(c->redact.n, 0);
	config_free(&c);
}

static const struct { const char *flag, *want; } flags[] = {
	{ "permits=9", NULL },
	{ "permits", "is not key=value" },
	{ "=9", "is not key=value" },
	{ "permits=", "permits:" },
	{ "permts=9", "did you mean \"permits\"" },
	{ "profile=x", "profile: \"x\"" },
	/* What a file could not say. */
	{ "user=" Z176, "user: 181 bytes; at most 180" },
	{ "archive=/a\nlisten = 0.0.0.0:1", "archive: a control character" },
	{ "archive=/a ;b", "archive: \" ;\" in the value" },
	{ "archive= /a", "archive: the value begins or ends with a blank" },
	{ "archive=/a ", "archive: the value begins or ends with a blank" },
	{ "allow=::1\t", "allow: a control character" },
};

static void
test_flags(void **state)
{
	struct config *c = new_config();
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(flags); i++) {
		err_clear(&e);
		if (config_set(c, flags[i].flag, &e) != 0)
			test_err_is(&e, ERR_ARG, flags[i].want);
		else
			assert_null(flags[i].want);
	}
	assert_int_equal(c->permits, 9);
	config_free(&c);
}

static const struct { const char *flag, *want; } contradictions[] = {
	{ "origin=Upper", "origin" },
	{ "listen=", "listen" },
	{ "allowed_ports=", "allowed_ports" },
	{ "response_memory=1MiB", "response_memory" },
	{ "request_memory=1KiB", "request_memory" },
	{ "dns=60s", "dns" },
	{ "milestone=33", "milestone" },
};

static void
test_check(void **state)
{
	struct config *c;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(contradictions); i++) {
		c = new_config();
		assert_int_equal(config_set(c, contradictions[i].flag, NULL),
		    0);
		assert_int_equal(config_check(c, &e), ERR_ARG);
		test_err_is(&e, ERR_ARG, contradictions[i].want);
		config_free(&c);
	}
}

/* Who is to blame: the one given last, and the place where that was. */
static const struct { const char *text, *flag, *want; } blamed[] = {
	{ "; one\nfetch = 1\n", NULL, "config @: line 2: fetch: dns may take 5000 ms" },
	{ "dns = 60s\n", NULL, "config @: line 1: dns: dns may take 60000 ms" },
	{ "dns = 3s\n\nfetch = 2s\n", NULL, "config @: line 3: fetch: " },
	{ "fetch = 2s\r\ndns = 3s\r\n", NULL, "config @: line 2: dns: " },
	{ "fetch = 2s\nprofile = production\norigin = x", "dns=3s", "command line: dns: " },
	{ "dns = 10s\n", "fetch=9s", "command line: fetch: " },
	{ "", "fetch=1s", "command line: fetch: " },
	{ "response_memory = 1MiB\n", NULL, "config @: line 1: response_memory: " },
	{ "response_memory = 11MiB\nhead = 1MiB\n", NULL, "config @: line 2: head: " },
	{ "response_memory = 11MiB\nresponse_body = 12MiB\n", NULL,
	    "config @: line 2: response_body: " },
	{ "request_body = 2MiB\nrequest_memory = 1MiB\n", NULL,
	    "config @: line 2: request_memory: " },
	{ "request_memory = 1MiB\nrequest_body = 2MiB\n", NULL,
	    "config @: line 2: request_body: " },
	{ "steps = 10\nmilestone = 11\n", NULL, "config @: line 2: milestone: " },
	{ "milestone = 11\nsteps = 10\n", NULL, "config @: line 2: steps: " },
	{ "listen =\n", NULL, "config @: line 1: listen: " },
	{ "allowed_ports =\n", NULL, "config @: line 1: allowed_ports: " },
	{ "origin = Upper\n", NULL, "config @: line 1: origin: " },
	{ "profile = production\n", NULL, "origin: \"\" is no name" },
	{ "allow = 10.0.0.0/8\ndeny = 10.0.0.1/8\n", NULL, "config @: line 2: deny: \"10." },
	{ "allow = 10.0.0.0/8\nallow = 10.0.0.1/8\n", NULL,
	    "config @: line 2: allow: \"10.0.0.1/8" },
	{ "allow = 10.0.0.0/8\n", "allow=10.0.0.1/8",
	    "command line: allow: \"10.0.0.1/8" },
	{ "", "own_address=x", "command line: own_address: " },
	{ "redact = a b\n", NULL, "config @: line 1: redact: \"a b\": " },
	{ "listen = here\n", NULL, "config @: line 1: listen: \"here\" is not ADDRESS" },
	{ "metrics_listen = 192.0.2.1:1\n", NULL, "config @: line 1: metrics_listen: " },
	{ "listen = 192.0.2.1:1\nlisten = here\n", NULL,
	    "config @: line 2: listen: \"here\" is not ADDRESS" },
	{ "listen = 192.0.2.1:1\n\ndirect_listen = 192.0.2.1:1\n", NULL,
	    "config @: line 3: direct_listen: 192.0.2.1:1 is taken already, by "
	    "listen = 192.0.2.1:1 of line 1" },
	{ "direct_listen = 0.0.0.0:1\nlisten = 192.0.2.1:1\n", NULL,
	    "config @: line 2: listen: 192.0.2.1:1 is taken already, by "
	    "direct_listen = 0.0.0.0:1 of line 1" },
	{ "listen = [::]:1\nlisten = 192.0.2.1:1\nlisten = [2001:db8::1]:1\n",
	    NULL, "config @: line 3: listen: [2001:db8::1]:1 is taken already, "
	    "by listen = [::]:1 of line 1" },
	{ "listen = 0.0.0.0:9440\n", NULL,
	    "config @: line 1: listen: 0.0.0.0:9440 is taken already, by "
	    "metrics_listen = 127.0.0.1:9440 by default" },
	{ "metrics_listen = [::1]:1\n", "direct_listen=[0::1]:1",
	    "command line: direct_listen: [0::1]:1 is taken already, by "
	    "metrics_listen = [::1]:1 of line 1" },
	{ "", "listen=127.0.0.1:9440", "command line: listen: 127.0.0.1:9440 "
	    "is taken already, by metrics_listen = 127.0.0.1:9440 by "
	    "default" },
	{ "allowed_ports = 443\n\nallowed_ports = 0\n", NULL,
	    "config @: line 3: allowed_ports: " },
	{ "redact = a\nredact = b c\n", NULL, "config @: line 2: redact: " },
	{ "dns_servers = 192.0.2.1\ndns_servers = x\n", NULL,
	    "config @: line 2: dns_servers: " },
	{ "listen = [::ffff:192.0.2.1]:1\n", NULL,
	    "config @: line 1: listen: \"[::ffff:192.0.2.1]:1\" is IPv4 in the "
	    "form of IPv6: write it as 192.0.2.1:1" },
	{ "dns_servers = ns.example\n", NULL, "config @: line 1: dns_servers: " },
	{ "algorithm = rx/9\n", NULL, "config @: line 1: algorithm: " },
};

static void
test_blamed(void **state)
{
	char *folder = test_folder_make(), *path = test_path(folder, "c.conf");
	char want[512];
	const char *at;
	struct config *c;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(blamed); i++) {
		test_file_write(path, blamed[i].text, strlen(blamed[i].text));
		c = new_config();
		assert_int_equal(config_load_file(c, path, NULL), 0);
		if (blamed[i].flag != NULL)
			assert_int_equal(config_set(c, blamed[i].flag, NULL),
			    0);
		err_clear(&e);
		if (config_check(c, &e) == 0)
			assert_int_equal(relay_setup_check(c, &e), ERR_ARG);
		assert_int_equal(e.code, ERR_ARG);
		at = strchr(blamed[i].want, '@');
		(void)snprintf(want, sizeof(want), "%.*s%s%s",
		    at == NULL ? 0 : (int)(at - blamed[i].want),
		    blamed[i].want, at == NULL ? "" : path,
		    at == NULL ? blamed[i].want : at + 1);
		if (strncmp(e.msg, want, strlen(want)) != 0)
			fail_msg("\"%s\", not \"%s\"", e.msg, want);
		config_free(&c);
	}
	test_folder_remove(folder);
	free(path);
	free(folder);
}

/* What can be listened on together. */
static const char *const together[] = {
	"listen = 0.0.0.0:1\nlisten = [::]:1\n",
	"listen = 127.0.0.1:0\ndirect_listen = 127.0.0.1:0\nlisten = 0.0.0.0:0",
	"listen = 192.0.2.1:1\nlisten = 192.0.2.2:1\nlisten = 192.0.2.1:2\n",
	"listen = 127.0.0.1:9440\nmetrics_listen =\n",
};

static void
test_listeners(void **state)
{
	struct config *c;
	char text[40];
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(together); i++) {
		c = new_config();
		assert_int_equal(config_load_text(c, together[i],
		    strlen(together[i]), NULL), 0);
		if (relay_setup_check(c, &e) != 0)
			fail_msg("%s", e.msg);
		config_free(&c);
	}
	c = new_config();
	assert_int_equal(config_set(c, "listen=", NULL), 0);
	for (i = 1; i <= 65; i++) {
		assert_int_equal(relay_setup_check(c, &e), 0);
		(void)snprintf(text, sizeof(text), "listen=127.0.0.1:%zu", i);
		assert_int_equal(config_set(c, text, NULL), 0);
	}
	assert_int_equal(relay_setup_check(c, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "command line: listen: more than 64");
	config_free(&c);
}

static char *
printed(const struct config *c)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	config_print(c, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* What --print-config says loads to the same, for both profiles and for
 * values far from the defaults. */
static void
test_print(void **state)
{
	static const char *const texts[] = { "", "profile = production\n",
		"user=zzz" Z172 "\nallow=zz" Z172 "\n",
		"user=;x\nallow=;x\n",
		("fetch = 1500ms\nresponse_body = 1025\nallow = fd00::/8\n"
		"allow = 10.0.0.0/8\nredact =\nlog_json = yes\nuser = x\n") };
	struct config *c, *again;
	char *one, *two;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(texts); i++) {
		c = new_config();
		again = new_config();
		assert_int_equal(load(c, texts[i], NULL), 0);
		one = printed(c);
		assert_int_equal(load(again, one, NULL), 0);
		two = printed(again);
		assert_string_equal(one, two);
		free(one);
		free(two);
		config_free(&c);
		config_free(&again);
	}
}

static void
test_reload(void **state)
{
	struct config *c = new_config(), *fresh = new_config();
	struct bytes refused = BYTES_INIT(4096);

	(void)state;
	assert_int_equal(load(fresh,
			     "permits = 3\nallow = ::1\nmode = full\n"
			     "log_level = debug\nlisten = 127.0.0.1:9\n",
			     NULL),
	    0);
	assert_int_equal(config_reload(c, fresh, &refused, NULL), 0);
	assert_int_equal(c->permits, 3);
	assert_int_equal(c->allow.n, 1);
	assert_string_equal(c->log_level, "debug");
	assert_string_equal(c->mode, "light");
	assert_string_equal(c->listen.at[0], "127.0.0.1:8440");
	assert_int_equal(bytes_terminate(&refused, NULL), 0);
	assert_string_equal((char *)refused.p, "listen\nmode\n");
	bytes_free(&refused);
	config_free(&c);
	config_free(&fresh);
}

/* Each key's texts are complete and its defaults load by themselves. */
static void
test_table(void **state)
{
	const struct config_key *k;
	struct config *c = new_config();
	char flag[256];
	size_t i, n;

	(void)state;
	k = config_keys(&n);
	assert_true(n > 30 && n <= CONFIG_KEYS_MAX);
	for (i = 0; i < n; i++) {
		assert_ptr_equal(config_keys_find(k[i].name), &k[i]);
		assert_true(strlen(k[i].text) > 10);
		assert_int_equal(k[i].text[strlen(k[i].text) - 1], '.');
		snprintf(flag, sizeof(flag), "%s=%s", k[i].name, k[i].demo);
		assert_int_equal(config_set(c, flag, NULL), 0);
	}
	config_free(&c);
}

static void
test_file(void **state)
{
	char *path = test_path(*state, "amber.conf");
	struct config *c = new_config();
	struct err e;

	assert_int_equal(config_load_file(c, path, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, path);
	test_file_write(path, "permits = x\n", 12);
	assert_int_equal(config_load_file(c, path, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "amber.conf: line 1: permits");
	test_file_write(path, "", 0);
	assert_int_equal(config_load_file(c, path, &e), 0);
	free(path);
	config_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_line_cap),
		cmocka_unit_test(test_list_cap),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_blamed),
		cmocka_unit_test(test_listeners),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_table),
		cmocka_unit_test_setup_teardown(test_file, test_folder_setup,
		    test_folder_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
