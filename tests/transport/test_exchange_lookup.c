/*
 * test_exchange_lookup.c - the system's resolver, asked with and without a
 * deadline, and a client whose relay's name it keeps to itself.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/test_util.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "client/amber.h"
#include "transport/exchange_lookup.h"

#define SLOW	"slow.example"	/* answered when the test says so */
#define BAD	"bad.example"	/* by an error of the system */

enum { PATIENCE_S = 30 };

static sem_t	 go, answered;
static atomic_uint asked;	/* names, not addresses */
static atomic_bool was_masked;

int	__real_getaddrinfo(const char *node, const char *service,
	    const struct addrinfo *hints, struct addrinfo **res);
int	__wrap_getaddrinfo(const char *node, const char *service,
	    const struct addrinfo *hints, struct addrinfo **res);

static bool
wait_for(sem_t *s)
{
	struct timespec until;
	int r;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	while ((r = sem_timedwait(s, &until)) == -1 && errno == EINTR)
		;
	return r == 0;
}

int
__wrap_getaddrinfo(const char *node, const char *service,
    const struct addrinfo *hints, struct addrinfo **res)
{
	sigset_t now;
	int r;

	if ((hints->ai_flags & AI_NUMERICHOST) != 0)
		return __real_getaddrinfo(node, service, hints, res);
	asked++;
	if (strcmp(node, BAD) == 0) {
		errno = ENETDOWN;
		return EAI_SYSTEM;
	}
	if (strcmp(node, SLOW) != 0)
		return __real_getaddrinfo(node, service, hints, res);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &now);
	was_masked = sigismember(&now, SIGINT) == 1;
	(void)wait_for(&go);
	r = __real_getaddrinfo("127.0.0.1", service, hints, res);
	(void)sem_post(&answered);
	return r;
}

static uint64_t
in_ms(uint64_t ms)
{
	return clock_mono_ms(clock_system()) + ms;
}

static void
is_loopback(struct addrinfo *all, uint16_t port)
{
	const struct sockaddr_in *sin = (const void *)all->ai_addr;

	assert_int_equal(all->ai_family, AF_INET);
	assert_int_equal(ntohl(sin->sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(ntohs(sin->sin_port), port);
	freeaddrinfo(all);
}

/* An address is no question for anybody: no thread. */
static void
test_address(void **state)
{
	struct addrinfo *all = NULL;

	(void)state;
	asked = 0;
	assert_int_equal(exchange_lookup("127.0.0.1", 81, in_ms(1), &all,
	    NULL), 0);
	is_loopback(all, 81);
	assert_int_equal(asked, 0);
	assert_int_equal(exchange_lookup("127.0.0.1", 82, 0, &all, NULL), 0);
	is_loopback(all, 82);
}

static void
test_in_time(void **state)
{
	struct addrinfo *all = NULL;
	struct err e = ERR_INIT;

	(void)state;
	asked = 0;
	assert_int_equal(sem_post(&go), 0);
	was_masked = false;
	if (exchange_lookup(SLOW, 83, in_ms(PATIENCE_S * 1000), &all, &e) !=
	    0)
		fail_msg("%s", e.msg);
	is_loopback(all, 83);
	assert_true(wait_for(&answered));
	assert_true(was_masked);
	assert_int_equal(exchange_lookup(BAD, 84, in_ms(PATIENCE_S * 1000),
	    &all, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, strerror(ENETDOWN));
	err_clear(&e);
	assert_int_equal(exchange_lookup(BAD, 84, 0, &all, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, strerror(ENETDOWN));
	assert_int_equal(asked, 3);
}

/* What comes too late is freed by the thread that is left with it. */
static void
test_too_late(void **state)
{
	struct addrinfo *all = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(exchange_lookup(SLOW, 85, in_ms(50), &all, &e),
	    ERR_TIMEOUT);
	test_err_is(&e, ERR_TIMEOUT, "has not answered in time");
	assert_int_equal(sem_post(&go), 0);
	assert_true(wait_for(&answered));
	/* Over before it began. */
	err_clear(&e);
	assert_int_equal(exchange_lookup(SLOW, 85, 1, &all, &e), ERR_TIMEOUT);
	assert_int_equal(sem_post(&go), 0);
	assert_true(wait_for(&answered));
}

/* max_ms is for the look-up too: without it this takes PATIENCE_S. */
static void
test_client(void **state)
{
	struct identity *id = NULL;
	struct amber_opts o;
	struct amber_pong pong;
	struct amber *a = NULL;
	struct err e = ERR_INIT;
	char pin[VKEY_TEXT_MAX];

	(void)state;
	assert_int_equal(secret_init(NULL), 0);
	assert_int_equal(identity_new(&id, "amber.test", NULL), 0);
	vkey_print(identity_vkey(id), pin);
	amber_opts_init(&o);
	o.relay = "http://" SLOW ":86";
	o.pin = pin;
	o.max_ms = 100;
	assert_int_equal(amber_new(&a, &o, NULL), 0);
	assert_int_equal(amber_ping(a, &pong, &e), ERR_TIMEOUT);
	assert_int_equal(amber_fault(a), AMBER_FAULT_TIMEOUT);
	test_err_is(&e, ERR_TIMEOUT, "relay http://" SLOW ":86: " SLOW
	    ":86 does not resolve: the resolver has not answered in time");
	assert_int_equal(sem_post(&go), 0);
	assert_true(wait_for(&answered));
	amber_free(&a);
	identity_free(&id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_in_time),
		cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_client),
	};

	(void)unsetenv("http_proxy");
	if (sem_init(&go, 0, 0) == -1 || sem_init(&answered, 0, 0) == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
