/*
 * test_log.c - log lines: their two forms, escapes, cuts, ids, the rate
 * limit of a call site, threads, and descriptors that do not take them.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

enum { THREADS = 4, LINES = 200 };

/* The log's write(2): counted, and failing by plan. */
static struct {
	int		fd;		/* the one counted */
	unsigned	calls;
	int		err;		/* of the next `fails` calls */
	unsigned	fails;
	bool		is_short;
} plan = { .fd = -1 };

ssize_t	__real_write(int fd, const void *p, size_t n);
ssize_t	__wrap_write(int fd, const void *p, size_t n);

ssize_t
__wrap_write(int fd, const void *p, size_t n)
{
	if (fd != plan.fd)
		return __real_write(fd, p, n);
	/* Under the log's own lock, so no lock here. */
	plan.calls++;
	if (plan.fails > 0) {
		plan.fails--;
		errno = plan.err;
		return plan.err == 0 ? 0 : -1;
	}
	return __real_write(fd, p, plan.is_short && n > 7 ? 7 : n);
}

static struct clock_fake now;

static int
setup(void **state)
{
	(void)state;
	memset(&plan, 0, sizeof(plan));
	plan.fd = memfd_create("log", MFD_CLOEXEC);
	assert_int_not_equal(plan.fd, -1);
	/* 2026-11-30T12:00:00.123Z */
	clock_fake_init(&now, 1, 1796040000123);
	log_set_fd(plan.fd);
	log_set_clock(&now.clock);
	log_open("relay", LOG_LEVEL_INFO, false);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	log_set_fd(STDERR_FILENO);
	log_set_clock(NULL);
	close(plan.fd);
	plan.fd = -1;
	return 0;
}

/* All that was logged since the last look; the caller frees. */
static char *
taken(void)
{
	struct stat st;
	char *text;

	assert_int_equal(fstat(plan.fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(pread(plan.fd, text, (size_t)st.st_size, 0),
	    st.st_size);
	assert_int_equal(ftruncate(plan.fd, 0), 0);
	assert_int_equal(lseek(plan.fd, 0, SEEK_SET), 0);
	return text;
}

static void
logged(const char *want)
{
	char *text = taken();

	assert_string_equal(text, want);
	free(text);
}

/* The next id: NDJSON tells it. */
static uint64_t
next_id(void)
{
	static struct log_site site;
	uint64_t id = 0;
	char *text, *at;

	site.count = 0;
	log_open("relay", LOG_LEVEL_INFO, true);
	log_emit(&site, LOG_LEVEL_INFO, NULL, "x");
	log_open("relay", LOG_LEVEL_INFO, false);
	text = taken();
	at = strstr(text, "\"id\":");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "\"id\":%" SCNu64, &id), 1);
	free(text);
	return id + 1;
}

#define STAMP	"2026-11-30T12:00:00.123Z"

static void
test_human(void **state)
{
	struct err e;

	(void)state;
	(void)err_set(&e, ERR_ARG, "no such \"thing\"");
	log_error("a %d", 1);
	log_err(&e, "b");
	log_warn("c");
	log_warn_err(&e, "d %s", "e");
	log_info("f");
	log_debug("never");
	logged(STAMP " error relay: a 1\n"
	    STAMP " error relay: b: no such \"thing\"\n"
	    STAMP " warn relay: c\n"
	    STAMP " warn relay: d e: no such \"thing\"\n"
	    STAMP " info relay: f\n");
}

static void
test_ndjson(void **state)
{
	uint64_t id = next_id();
	char want[512];
	struct err e;

	(void)state;
	(void)err_set(&e, ERR_ARG, "\\ and \"");
	log_open("re\"lay", LOG_LEVEL_DEBUG, true);
	log_debug("a");
	log_err(&e, "b\n");
	snprintf(want, sizeof(want), "{\"time\":\"" STAMP "\","
	    "\"level\":\"debug\",\"id\":%" PRIu64 ",\"prog\":\"re\\\"lay\","
	    "\"pid\":%d,\"message\":\"a\"}\n"
	    "{\"time\":\"" STAMP "\","
	    "\"level\":\"error\",\"id\":%" PRIu64 ",\"prog\":\"re\\\"lay\","
	    "\"pid\":%d,\"message\":\"b\\n: \\\\ and \\\"\"}\n",
	    id, (int)getpid(), id + 1, (int)getpid());
	logged(want);
}

static void
test_levels(void **state)
{
	static const char *const words[] = { "error", "warn", "info",
		"debug" };
	enum log_level level = LOG_LEVEL_ERROR, i;
	char *text, *line, *end;
	struct err e;
	unsigned n;

	(void)state;
	for (i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++) {
		assert_int_equal(log_level_parse(words[i], &level, &e), 0);
		assert_int_equal(level, i);
		log_set_level(i);
		assert_int_equal(log_get_level(), i);
		log_error("line");
		log_warn("line");
		log_info("line");
		log_debug("line");
		text = taken();
		for (line = text, n = 0; *line != '\0'; n++) {
			end = strchr(line, '\n');
			assert_non_null(end);
			assert_memory_equal(line + strlen(STAMP " "),
			    words[n], strlen(words[n]));
			line = end + 1;
		}
		assert_int_equal(n, i + 1);
		free(text);
	}
	level = LOG_LEVEL_WARN;
	assert_int_equal(log_level_parse("Warn", &level, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "\"Warn\" is no log level: error, warn");
	assert_int_equal(log_level_parse("", &level, NULL), ERR_ARG);
	assert_int_equal(level, LOG_LEVEL_WARN);
}

static void
test_escapes(void **state)
{
	static const struct { const char *msg, *want; } rows[] = {
		{ "a\nb\r\t\x1b[31m\x7f",
		    "a\\nb\\r\\t\\u001b[31m\\u007f" },
		{ "C:\\x \"q\"", "C:\\x \"q\"" },
		{ "\xc3\xa4 \xc2\x9b \xff", "\xc3\xa4 \\u009b \xef\xbf\xbd" },
		{ "", "" },
	};
	char want[512];
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		log_info("%s", rows[i].msg);
		snprintf(want, sizeof(want), STAMP " info relay: %s\n",
		    rows[i].want);
		logged(want);
	}
	/* What the C locale cannot write. */
	log_info("%lc", (wint_t)0x20ac);
	logged(STAMP " info relay: (unprintable message)\n");
	/* The program's name is cut at its cap, and escaped as well. */
	log_open("0123456789\n0123456789\"0123456789", LOG_LEVEL_INFO, false);
	log_info("x");
	logged(STAMP " info 0123456789\\n0123456789\"012345678: x\n");
}

/* Longer and longer messages: a line grows to its cap and no further. */
static void
check_cuts(const char *unit, size_t shown, bool json)
{
	size_t n, len, unit_len = strlen(unit), longest = 0;
	static struct log_site site;
	char msg[3 * LOG_LINE_MAX];
	bool was_cut = false, is_cut;
	char *text;

	for (n = 0; n * shown < LOG_LINE_MAX + 100; n++) {
		memcpy(msg + n * unit_len, unit, unit_len + 1);
		if (n * shown < LOG_LINE_MAX - 200)
			continue;
		site.count = 0;
		log_open("p", LOG_LEVEL_INFO, json);
		log_emit(&site, LOG_LEVEL_INFO, NULL, "%s", msg);
		text = taken();
		len = strlen(text);
		assert_in_range(len, 1, LOG_LINE_MAX);
		assert_true(utf8_is_valid(text, len));
		assert_int_equal(text[len - 1], '\n');
		assert_ptr_equal(strchr(text, '\n'), text + len - 1);
		is_cut = strcmp(text + len - (json ? 6 : 4),
		    json ? "...\"}\n" : "...\n") == 0;
		if (json)
			assert_string_equal(text + len - 3, "\"}\n");
		/* Once too long, always cut, and never before. */
		assert_true(is_cut || !was_cut);
		was_cut = is_cut;
		longest = len > longest ? len : longest;
		free(text);
	}
	assert_true(was_cut);
	assert_in_range(longest, LOG_LINE_MAX - 16, LOG_LINE_MAX);
}

static void
test_long_lines(void **state)
{
	(void)state;
	check_cuts("x", 1, false);
	check_cuts("x", 1, true);
	check_cuts("\"", 1, false);
	check_cuts("\"", 2, true);
	check_cuts("\x01", 6, true);
	check_cuts("\x01", 6, false);
	check_cuts("\xe2\x82\xac", 3, true);
	check_cuts("\xe2\x82\xac", 3, false);
	check_cuts("\xff", 3, true);
}

/* An error behind a message that leaves no room for it. */
static void
test_long_with_error(void **state)
{
	char msg[2 * LOG_LINE_MAX];
	struct err e;
	char *text;

	(void)state;
	memset(msg, 'm', sizeof(msg) - 1);
	msg[sizeof(msg) - 1] = '\0';
	(void)err_set(&e, ERR_ARG, "%.*s", ERR_MSG_MAX - 1, msg);
	log_err(&e, "%s", msg);
	text = taken();
	assert_in_range(strlen(text), LOG_LINE_MAX - 16, LOG_LINE_MAX);
	free(text);
	log_err(&e, "%.*s", LOG_LINE_MAX - 2, msg);
	text = taken();
	assert_in_range(strlen(text), LOG_LINE_MAX - 16, LOG_LINE_MAX);
	free(text);
}

static void
emit(struct log_site *site, unsigned times)
{
	while (times-- > 0)
		log_emit(site, LOG_LEVEL_INFO, NULL, "m");
}

static size_t
lines_taken(void)
{
	char *text = taken(), *at;
	size_t n = 0;

	for (at = text; (at = strchr(at, '\n')) != NULL; at++)
		n++;
	free(text);
	return n;
}

static void
test_rate_limit(void **state)
{
	struct log_site a = { 0, 0, 0 }, b = { 0, 0, 0 };
	char *text;

	(void)state;
	/* At the limit, one past it, and many past it. */
	emit(&a, LOG_BURST);
	assert_int_equal(lines_taken(), LOG_BURST);
	emit(&a, 1);
	assert_int_equal(lines_taken(), 0);
	emit(&a, 5);
	assert_int_equal(lines_taken(), 0);
	/* Another site has its own. */
	emit(&b, 1);
	assert_int_equal(lines_taken(), 1);
	/* The window's last millisecond, and the next one's first. */
	clock_fake_advance_ms(&now, LOG_WINDOW_S * 1000 - 1);
	emit(&a, 1);
	assert_int_equal(lines_taken(), 0);
	clock_fake_advance_ms(&now, 1);
	emit(&a, 2);
	logged("2026-11-30T12:00:10.123Z info relay: [7 left out] m\n"
	    "2026-11-30T12:00:10.123Z info relay: m\n");
	emit(&a, LOG_BURST);
	assert_int_equal(lines_taken(), LOG_BURST - 2);
	/* Told in NDJSON as a number; and left-out lines take no id. */
	clock_fake_advance_ms(&now, LOG_WINDOW_S * 1000);
	log_open("relay", LOG_LEVEL_INFO, true);
	emit(&a, 1);
	text = taken();
	assert_non_null(strstr(text,
	    ",\"left_out\":2,\"message\":\"m\"}\n"));
	free(text);
}

static void
test_ids_have_no_gaps(void **state)
{
	struct log_site site = { 0, 0, 0 };
	uint64_t id = next_id();

	(void)state;
	emit(&site, LOG_BURST + 10);
	assert_int_equal(next_id(), id + LOG_BURST + 1);
	log_debug("below the level");
	assert_int_equal(next_id(), id + LOG_BURST + 2);
	/* But a line that could not be written leaves one. */
	plan.fails = 1;
	plan.err = EAGAIN;
	log_info("lost");
	assert_int_equal(next_id(), id + LOG_BURST + 4);
}

static void
test_writes(void **state)
{
	(void)state;
	log_info("one");
	assert_int_equal(plan.calls, 1);
	logged(STAMP " info relay: one\n");
	plan.fails = 2;
	plan.err = EINTR;
	log_info("two");
	logged(STAMP " info relay: two\n");
	plan.is_short = true;
	log_info("three");
	logged(STAMP " info relay: three\n");
	plan.is_short = false;
	/* Lost, and no endless try; errno is the caller's. */
	plan.calls = 0;
	plan.fails = 1;
	plan.err = ENOSPC;
	errno = EDOM;
	log_info("four");
	assert_int_equal(errno, EDOM);
	plan.fails = 1;
	plan.err = 0;
	log_info("five");
	assert_int_equal(plan.calls, 2);
	logged("");
}

static void
test_no_allocation(void **state)
{
	struct test_alloc t;
	struct err e;

	(void)state;
	(void)err_set(&e, ERR_NOMEM, "no memory");
	log_err(&e, "first");
	test_alloc_start();
	log_err(&e, "out of memory at %zu", (size_t)7);
	log_open("relay", LOG_LEVEL_INFO, true);
	log_err(&e, "again");
	t = test_alloc_read();
	assert_int_equal(t.calls, 0);
}

/* The machine's clock, when no other is given. */
static void
test_machine_clock(void **state)
{
	char *text;
	int year = 0;

	(void)state;
	log_set_clock(NULL);
	log_info("now");
	text = taken();
	assert_int_equal(sscanf(text, "%4d-", &year), 1);
	assert_in_range(year, 2024, 9999);
	assert_non_null(strstr(text, "Z info relay: now\n"));
	free(text);
}

static void *
thread_logs(void *arg)
{
	struct log_site site = { 0, 0, 0 };
	int i;

	for (i = 0; i < LINES; i++) {
		/* A site of its own and of all others, in turns. */
		site.count = 0;
		log_emit(&site, LOG_LEVEL_INFO, NULL, "thread %d line %d",
		    *(const int *)arg, i);
		log_debug("below %d", i);
		(void)log_get_level();
	}
	return NULL;
}

/* Lines are whole, ids ascend one by one, each thread's in its order. */
static void
test_threads(void **state)
{
	int who[THREADS], next[THREADS] = { 0 }, t, line, n = 0;
	uint64_t first = next_id(), id;
	pthread_t threads[THREADS];
	char *text, *at, *end, *save;

	(void)state;
	log_open("relay", LOG_LEVEL_INFO, true);
	plan.calls = 0;
	for (t = 0; t < THREADS; t++) {
		who[t] = t;
		assert_int_equal(pthread_create(&threads[t], NULL,
		    thread_logs, &who[t]), 0);
	}
	for (t = 0; t < THREADS; t++)
		assert_int_equal(pthread_join(threads[t], NULL), 0);
	assert_int_equal(plan.calls, THREADS * LINES);
	text = taken();
	for (at = strtok_r(text, "\n", &save); at != NULL;
	    at = strtok_r(NULL, "\n", &save), n++) {
		assert_memory_equal(at, "{\"time\":\"", 9);
		at = strstr(at, "\"id\":");
		assert_non_null(at);
		assert_int_equal(sscanf(at, "\"id\":%" SCNu64, &id), 1);
		assert_int_equal(id, first + (uint64_t)n);
		at = strstr(at, "\"message\":\"thread ");
		assert_non_null(at);
		assert_int_equal(sscanf(at, "\"message\":\"thread %d line %d",
		    &t, &line), 2);
		assert_in_range(t, 0, THREADS - 1);
		assert_int_equal(line, next[t]++);
		end = at + strlen(at) - 2;
		assert_string_equal(end, "\"}");
	}
	assert_int_equal(n, THREADS * LINES);
	free(text);
}

static struct log_site shared;

static void *
thread_shares(void *arg)
{
	(void)arg;
	emit(&shared, LINES);
	return NULL;
}

/* One site for all: the limit is exact, nothing is counted twice. */
static void
test_threads_share_a_site(void **state)
{
	pthread_t threads[THREADS];
	int t;

	(void)state;
	shared = (struct log_site){ 0, 0, 0 };
	for (t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL,
		    thread_shares, NULL), 0);
	for (t = 0; t < THREADS; t++)
		assert_int_equal(pthread_join(threads[t], NULL), 0);
	assert_int_equal(lines_taken(), LOG_BURST);
	assert_int_equal(shared.left_out, THREADS * LINES - LOG_BURST);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_human),
		T(test_ndjson),
		T(test_levels),
		T(test_escapes),
		T(test_long_lines),
		T(test_long_with_error),
		T(test_rate_limit),
		T(test_ids_have_no_gaps),
		T(test_writes),
		T(test_no_allocation),
		T(test_machine_clock),
		T(test_threads),
		T(test_threads_share_a_site),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
