/*
 * test_policy.c - every registry row at its first and last address and one
 * beyond each end, embedded addresses, lists, ports.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/err.h"
#include "relay/policy.h"
#include "relay/registry.h"

static const struct {
	const char		*addr;
	enum policy_verdict	 want;
	const char		*why;	/* part of it, or NULL */
} rows[] = {
	{ "0.0.0.0", POLICY_DENY, "This host" },
	{ "0.1.2.3", POLICY_DENY, "This network" },
	{ "1.1.1.1", POLICY_ALLOW, NULL },
	{ "9.255.255.255", POLICY_ALLOW, NULL },
	{ "10.0.0.0", POLICY_DENY, "10.0.0.0/8 Private-Use" },
	{ "11.0.0.0", POLICY_ALLOW, NULL },
	{ "100.63.255.255", POLICY_ALLOW, NULL },
	{ "100.64.0.0", POLICY_DENY, "Shared" },
	{ "100.127.255.255", POLICY_DENY, "Shared" },
	{ "100.128.0.0", POLICY_ALLOW, NULL },
	{ "127.0.0.1", POLICY_DENY, "Loopback" },
	{ "168.63.129.16", POLICY_DENY, "by the operator" },
	{ "168.63.129.17", POLICY_ALLOW, NULL },
	{ "169.254.169.254", POLICY_DENY, "Link Local" },
	{ "172.15.255.255", POLICY_ALLOW, NULL },
	{ "172.31.255.255", POLICY_DENY, "Private-Use" },
	{ "172.32.0.0", POLICY_ALLOW, NULL },
	{ "192.0.0.9", POLICY_DENY, "Port Control" },
	{ "192.0.0.255", POLICY_DENY, "IETF Protocol" },
	{ "192.0.1.0", POLICY_ALLOW, NULL },
	{ "223.255.255.255", POLICY_ALLOW, NULL },
	{ "224.0.0.1", POLICY_DENY, "Multicast" },
	{ "240.0.0.1", POLICY_DENY, "Reserved" },
	{ "255.255.255.255", POLICY_DENY, "Broadcast" },
	{ "::", POLICY_DENY, "Unspecified" },
	{ "::1", POLICY_DENY, "Loopback" },
	{ "::ffff:127.0.0.1", POLICY_DENY, "IPv4-mapped" },
	{ "::ffff:8.8.8.8", POLICY_DENY, "IPv4-mapped" },
	{ "::127.0.0.1", POLICY_DENY, "outside 2000::/3" },
	{ "64:ff9b::7f00:1", POLICY_DENY, "Translation" },
	{ "2002:7f00:1::", POLICY_DENY, "6to4" },
	{ "2001:0:1::", POLICY_DENY, "TEREDO" },
	{ "2001:1ff:ffff::", POLICY_DENY, "IETF Protocol" },
	{ "2001:200::1", POLICY_ALLOW, NULL },
	{ "2001:db8::1", POLICY_DENY, "Documentation" },
	{ "2606:4700::1111", POLICY_ALLOW, NULL },
	{ "1fff::1", POLICY_DENY, "outside 2000::/3" },
	{ "3ffe::1", POLICY_ALLOW, NULL },
	{ "3fff:fff::1", POLICY_DENY, "Documentation" },
	{ "3fff:1000::1", POLICY_ALLOW, NULL },
	{ "4000::1", POLICY_DENY, "outside 2000::/3" },
	{ "fd00::1", POLICY_DENY, "Unique-Local" },
	{ "fe80::1", POLICY_DENY, "Link-Local" },
	{ "ff02::1", POLICY_DENY, "Multicast" },
};

static const struct { const char *prefix; int want; } prefixes[] = {
	{ "10.0.0.0/8", 0 },
	{ "10.0.0.1", 0 },
	{ "::1", 0 },
	{ "0.0.0.0/0", 0 },
	{ "fd00::/8", 0 },
	{ "10.0.0.1/8", ERR_ARG },
	{ "10.0.0.0/33", ERR_ARG },
	{ "fd00::/129", ERR_ARG },
	{ "10.0.0.0/", ERR_ARG },
	{ "10.0.0.0/-1", ERR_ARG },
	{ "10.0.0.0/8x", ERR_ARG },
	{ "10.0.0", ERR_ARG },
	{ "localhost", ERR_ARG },
	{ "fe80::1%lo", ERR_ARG },
	{ "", ERR_ARG },
	{ "/8", ERR_ARG },
};

static enum policy_verdict
judge_bytes(const struct policy *p, const uint8_t *addr, bool is_v6, char *why)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (is_v6) {
		memcpy(&sin6.sin6_addr, addr, 16);
		return policy_judge(p, (const struct sockaddr *)&sin6, why);
	}
	memcpy(&sin.sin_addr, addr, 4);
	return policy_judge(p, (const struct sockaddr *)&sin, why);
}

static enum policy_verdict
judge(const struct policy *p, const char *text, char *why)
{
	bool is_v6 = strchr(text, ':') != NULL;
	uint8_t addr[16];

	assert_int_equal(inet_pton(is_v6 ? AF_INET6 : AF_INET, text, addr), 1);
	return judge_bytes(p, addr, is_v6, why);
}

static void
test_rows(void **state)
{
	char why[POLICY_WHY_MAX];
	struct policy *p;
	size_t i;

	(void)state;
	assert_int_equal(policy_new(&p, NULL), 0);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (judge(p, rows[i].addr, why) != rows[i].want)
			fail_msg("%s: %s", rows[i].addr, why);
		if (rows[i].why == NULL)
			assert_string_equal(why, "");
		else if (strstr(why, rows[i].why) == NULL)
			fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].addr, why,
			    rows[i].why);
	}
	policy_free(&p);
	assert_null(p);
}

/* The last address of a prefix. */
static void
last_of(const struct registry_row *row, uint8_t out[16])
{
	unsigned i, size = row->is_v6 ? 128 : 32;

	memcpy(out, row->net, 16);
	for (i = row->bits; i < size; i++)
		out[i / 8] |= (uint8_t)(0x80U >> (i % 8));
}

/* Without any list, both ends of every registry row are denied by a row
 * that contains them. */
static void
test_registry_ends(void **state)
{
	const struct registry_row *row;
	char why[POLICY_WHY_MAX];
	uint8_t last[16];
	struct policy *p;
	size_t i, n;

	(void)state;
	assert_int_equal(policy_new(&p, NULL), 0);
	policy_clear_deny(p);
	row = registry_rows(&n);
	assert_true(n >= 50);
	for (i = 0; i < n; i++) {
		last_of(&row[i], last);
		assert_true(registry_has_prefix(last, row[i].net, row[i].bits));
		assert_int_equal(judge_bytes(p, row[i].net, row[i].is_v6, why),
		    POLICY_DENY);
		assert_int_equal(judge_bytes(p, last, row[i].is_v6, why),
		    POLICY_DENY);
		assert_string_not_equal(why, "");
	}
	policy_free(&p);
}

/* A row must be found by its own name: no wider row stands before it. */
static void
test_registry_order(void **state)
{
	const struct registry_row *row;
	size_t i, j, n;

	(void)state;
	row = registry_rows(&n);
	for (i = 0; i < n; i++)
		for (j = 0; j < i; j++)
			if (row[j].is_v6 == row[i].is_v6 &&
			    row[j].bits <= row[i].bits &&
			    registry_has_prefix(row[i].net, row[j].net,
				row[j].bits))
				fail_msg("\"%s\" hides \"%s\"", row[j].text,
				    row[i].text);
}

static void
test_lists(void **state)
{
	char why[POLICY_WHY_MAX];
	struct policy *p;

	(void)state;
	assert_int_equal(policy_new(&p, NULL), 0);
	assert_int_equal(policy_allow(p, "127.0.0.0/8", NULL), 0);
	assert_int_equal(policy_deny(p, "127.0.0.2", NULL), 0);
	assert_int_equal(policy_deny(p, "8.8.0.0/16", NULL), 0);
	assert_int_equal(policy_own(p, "127.0.0.3", NULL), 0);
	assert_int_equal(policy_own(p, "127.0.0.0/8", NULL), ERR_ARG);
	/* allow overrides rows and deny, but never an own address. */
	assert_int_equal(judge(p, "127.0.0.1", why), POLICY_ALLOW);
	assert_int_equal(judge(p, "127.0.0.2", why), POLICY_ALLOW);
	assert_int_equal(judge(p, "127.0.0.3", why), POLICY_LOOP);
	assert_string_equal(why, "127.0.0.3/32 is the relay's own");
	assert_int_equal(judge(p, "8.8.8.8", why), POLICY_DENY);
	assert_int_equal(judge(p, "8.9.0.0", why), POLICY_ALLOW);
	policy_clear_deny(p);
	assert_int_equal(judge(p, "8.8.8.8", why), POLICY_ALLOW);
	assert_int_equal(judge(p, "168.63.129.16", why), POLICY_ALLOW);
	assert_int_equal(policy_read_interfaces(p, NULL), 0);
	assert_int_equal(judge(p, "127.0.0.1", why), POLICY_ALLOW);
	policy_free(&p);
}

/* Every address of the relay's own interfaces, whatever is allowed. */
static void
test_interfaces(void **state)
{
	char why[POLICY_WHY_MAX];
	struct ifaddrs *list, *at;
	struct policy *p;
	unsigned n = 0;

	(void)state;
	assert_int_equal(policy_new(&p, NULL), 0);
	assert_int_equal(policy_allow(p, "0.0.0.0/0", NULL), 0);
	assert_int_equal(policy_allow(p, "::/0", NULL), 0);
	assert_int_equal(policy_read_interfaces(p, NULL), 0);
	assert_int_equal(getifaddrs(&list), 0);
	for (at = list; at != NULL; at = at->ifa_next) {
		if (at->ifa_addr == NULL || (at->ifa_flags & IFF_LOOPBACK) ||
		    (at->ifa_addr->sa_family != AF_INET &&
			at->ifa_addr->sa_family != AF_INET6))
			continue;
		assert_int_equal(policy_judge(p, at->ifa_addr, why),
		    POLICY_LOOP);
		assert_non_null(strstr(why, "own"));
		n++;
	}
	freeifaddrs(list);
	policy_free(&p);
	if (n == 0) {
		print_message("no interface but loopback\n");
		skip();
	}
}

/* ---- interfaces that change ---- */

enum { LOCAL_MAX = 3 };

union address {
	struct sockaddr		sa;
	struct sockaddr_in	v4;
	struct sockaddr_in6	v6;
};

/* What getifaddrs(3) gives while is_up, up to a NULL. */
static struct {
	const char	*at[LOCAL_MAX];
	bool		 is_up;
	int		 fails;		/* errno */
	unsigned	 reads;
} local;

int	__real_getifaddrs(struct ifaddrs **out);
int	__wrap_getifaddrs(struct ifaddrs **out);
void	__real_freeifaddrs(struct ifaddrs *list);
void	__wrap_freeifaddrs(struct ifaddrs *list);

int
__wrap_getifaddrs(struct ifaddrs **out)
{
	static union address a[LOCAL_MAX];
	static struct ifaddrs list[LOCAL_MAX];
	size_t i;

	if (!local.is_up)
		return __real_getifaddrs(out);
	local.reads++;
	if (local.fails != 0) {
		errno = local.fails;
		return -1;
	}
	*out = NULL;
	for (i = 0; i < LOCAL_MAX && local.at[i] != NULL; i++) {
		/* on the loopback interface, as a shared address may be */
		list[i] = (struct ifaddrs){ .ifa_flags = IFF_LOOPBACK,
			.ifa_next = *out };
		*out = &list[i];
		list[i].ifa_addr = &a[i].sa;
		a[i] = (union address){ 0 };
		a[i].sa.sa_family = AF_INET6;
		if (inet_pton(AF_INET6, local.at[i], &a[i].v6.sin6_addr) == 1)
			continue;
		a[i].sa.sa_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, local.at[i],
		    &a[i].v4.sin_addr), 1);
	}
	return 0;
}

void
__wrap_freeifaddrs(struct ifaddrs *list)
{
	if (!local.is_up)
		__real_freeifaddrs(list);
}

/* An address that comes is refused and one that goes is not, a second later
 * at most; and what was known stays known when it cannot be read. */
static void
test_interfaces_change(void **state)
{
	char why[POLICY_WHY_MAX];
	struct err e = ERR_INIT;
	struct policy *p;

	(void)state;
	local.is_up = true;
	assert_int_equal(policy_new(&p, NULL), 0);
	assert_int_equal(policy_allow(p, "127.0.0.0/8", NULL), 0);
	assert_int_equal(policy_allow(p, "::/0", NULL), 0);
	assert_int_equal(policy_own(p, "9.9.9.9", NULL), 0);
	assert_int_equal(policy_renew_interfaces(p, 1, NULL), 0);
	assert_int_equal(local.reads, 0);	/* who never asked for them */
	local.at[0] = "127.0.0.1";
	local.at[1] = "::1";
	local.at[2] = "8.8.8.1";
	assert_int_equal(policy_read_interfaces(p, NULL), 0);
	assert_int_equal(judge(p, "127.0.0.1", why), POLICY_ALLOW);
	assert_int_equal(judge(p, "::1", why), POLICY_ALLOW);
	assert_int_equal(judge(p, "8.8.8.1", why), POLICY_LOOP);
	assert_int_equal(judge(p, "8.8.8.2", why), POLICY_ALLOW);
	local.at[1] = "8.8.8.2";
	local.at[2] = "2001:db8::2";
	assert_int_equal(policy_renew_interfaces(p, 10000, NULL), 0);
	assert_int_equal(local.reads, 2);
	assert_int_equal(judge(p, "8.8.8.1", why), POLICY_ALLOW);
	assert_int_equal(judge(p, "8.8.8.2", why), POLICY_LOOP);
	assert_string_equal(why, "8.8.8.2 is the relay's own");
	assert_int_equal(judge(p, "2001:db8::2", why), POLICY_LOOP);
	assert_int_equal(judge(p, "9.9.9.9", why), POLICY_LOOP);
	local.at[1] = NULL;
	assert_int_equal(policy_renew_interfaces(p, 10999, NULL), 0);
	assert_int_equal(local.reads, 2);
	local.fails = EMFILE;
	assert_int_equal(policy_renew_interfaces(p, 11000, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "interfaces");
	assert_int_equal(judge(p, "8.8.8.2", why), POLICY_LOOP);
	assert_int_equal(policy_renew_interfaces(p, 11999, &e), 0);
	assert_int_equal(local.reads, 3);
	local.fails = 0;
	assert_int_equal(policy_renew_interfaces(p, 12000, NULL), 0);
	assert_int_equal(judge(p, "8.8.8.2", why), POLICY_ALLOW);
	policy_free(&p);
	local.is_up = false;
}

static void
test_prefix_texts(void **state)
{
	struct policy *p;
	struct err e;
	size_t i;

	(void)state;
	assert_int_equal(policy_new(&p, NULL), 0);
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		err_clear(&e);
		if (policy_deny(p, prefixes[i].prefix, &e) != prefixes[i].want)
			fail_msg("\"%s\": %s", prefixes[i].prefix, e.msg);
		assert_int_equal(e.msg[0] != '\0', prefixes[i].want != 0);
	}
	policy_free(&p);
}

static void
test_ports(void **state)
{
	struct policy *p;

	(void)state;
	assert_int_equal(policy_new(&p, NULL), 0);
	assert_true(policy_has_port(p, 443));
	assert_false(policy_has_port(p, 80));
	assert_int_equal(policy_allow_port(p, 8443, NULL), 0);
	assert_false(policy_has_port(p, 443));
	assert_int_equal(policy_allow_port(p, 1, NULL), 0);
	assert_int_equal(policy_allow_port(p, 65535, NULL), 0);
	assert_true(policy_has_port(p, 1));
	assert_true(policy_has_port(p, 8443));
	assert_true(policy_has_port(p, 65535));
	assert_false(policy_has_port(p, 65536));
	assert_int_equal(policy_allow_port(p, 0, NULL), ERR_ARG);
	assert_int_equal(policy_allow_port(p, 65536, NULL), ERR_ARG);
	policy_free(&p);
}

static void
test_other_family(void **state)
{
	struct sockaddr sa = { .sa_family = AF_UNIX };
	char why[POLICY_WHY_MAX];
	struct policy *p;

	(void)state;
	assert_int_equal(policy_new(&p, NULL), 0);
	assert_int_equal(policy_judge(p, &sa, why), POLICY_DENY);
	assert_string_equal(why, "not an internet address");
	policy_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_registry_ends),
		cmocka_unit_test(test_registry_order),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_interfaces),
		cmocka_unit_test(test_interfaces_change),
		cmocka_unit_test(test_prefix_texts),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_other_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
