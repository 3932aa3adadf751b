/*
 * test_progress.c - the progress line on a pseudo terminal, and its silence
 * everywhere else.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/progress.h"
#include "tests/test_util.h"

/* A terminal in place of stderr. */
struct tty {
	int	master, saved;
};

static void
tty_begin(struct tty *t, unsigned short columns)
{
	struct winsize ws = { .ws_row = 24, .ws_col = columns };
	struct termios raw;
	int slave;

	if (openpty(&t->master, &slave, NULL, NULL, &ws) == -1 ||
	    tcgetattr(slave, &raw) == -1)
		fail_msg("openpty: %s", strerror(errno));
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
	assert_int_equal(fcntl(t->master, F_SETFL, O_NONBLOCK), 0);
	t->saved = dup(STDERR_FILENO);
	assert_int_not_equal(t->saved, -1);
	assert_int_equal(dup2(slave, STDERR_FILENO), STDERR_FILENO);
	close(slave);
}

/* What came since the last look; out holds 2048 bytes. */
static void
tty_read(struct tty *t, char *out)
{
	ssize_t n;

	if ((n = read(t->master, out, 2047)) == -1)
		n = 0;
	out[n] = '\0';
}

static void
tty_end(struct tty *t)
{
	dup2(t->saved, STDERR_FILENO);
	close(t->saved);
	close(t->master);
}

static void
test_draw_and_clear(void **state)
{
	uint64_t before, after;
	struct progress p;
	int i, draws = 0;
	char out[2048];
	struct tty t;

	(void)state;
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	tty_begin(&t, 80);
	progress_begin(&p, true);
	progress_clear(&p);
	tty_read(&t, out);
	assert_string_equal(out, "");
	errno = EDOM;
	assert_true(progress_draw(&p, "%d of %d", 1, 9));
	assert_int_equal(errno, EDOM);
	tty_read(&t, out);
	assert_string_equal(out, "\r1 of 9\x1b[K");
	/* However often it is asked, it draws once in its time. */
	before = clock_mono_ms(clock_system());
	for (i = 0; i < 1000; i++)
		draws += progress_draw(&p, "busy");
	after = clock_mono_ms(clock_system());
	assert_in_range(draws, 0, (after - before) / PROGRESS_MS + 1);
	assert_true(draws < 1000);
	tty_read(&t, out);
	p.last_ns -= PROGRESS_MS * UINT64_C(1000000);
	assert_true(progress_draw(&p, "2 of 9"));
	tty_read(&t, out);
	assert_string_equal(out, "\r2 of 9\x1b[K");
	progress_clear(&p);
	tty_read(&t, out);
	assert_string_equal(out, "\r\x1b[K");
	progress_clear(&p);
	tty_read(&t, out);
	assert_string_equal(out, "");
	/* What the C locale cannot write is not drawn. */
	assert_false(progress_draw(&p, "%lc", (wint_t)0x20ac));
	/* After a clear the next one is drawn at once. */
	assert_true(progress_draw(&p, "3"));
	tty_end(&t);
}

/* One column stays free; characters count, not bytes. */
static void
test_width_and_harm(void **state)
{
	static const struct {
		unsigned short columns;
		const char *text, *want;
	} rows[] = {
		{ 6, "12345", "\r12345\x1b[K" },
		{ 6, "123456", "\r12345\x1b[K" },
		{ 4, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac",
		    "\r\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\x1b[K" },
		{ 1, "abc", "\r\x1b[K" },
		{ 80, "a\x1b[31m\n\x7f\xc2\x9b\xff",
		    "\ra?[31m????\x1b[K" },
	};
	struct progress p;
	char out[2048], text[600];
	struct tty t;
	size_t i;

	(void)state;
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	for (i = 0; i < TEST_COUNT(rows); i++) {
		tty_begin(&t, rows[i].columns);
		progress_begin(&p, true);
		assert_true(progress_draw(&p, "%s", rows[i].text));
		tty_read(&t, out);
		tty_end(&t);
		assert_string_equal(out, rows[i].want);
	}
	/* A terminal that does not tell its width, and very long text. */
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (i = 0; i < 2; i++) {
		tty_begin(&t, i == 0 ? 0 : 9999);
		progress_begin(&p, true);
		assert_true(progress_draw(&p, "%s", text));
		tty_read(&t, out);
		tty_end(&t);
		assert_int_equal(strlen(out), i == 0 ? 1 + 79 + 3 :
		    1 + 511 + 3);
	}
}

static void
test_silence(void **state)
{
	static const struct { const char *term; bool wanted; } rows[] = {
		{ "xterm", false },
		{ "dumb", true },
		{ "", true },
		{ NULL, true },
	};
	struct test_capture c;
	struct progress p;
	char out[2048], *text;
	struct tty t;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		if (rows[i].term != NULL)
			assert_int_equal(setenv("TERM", rows[i].term, 1), 0);
		else
			assert_int_equal(unsetenv("TERM"), 0);
		tty_begin(&t, 80);
		progress_begin(&p, rows[i].wanted);
		assert_false(progress_draw(&p, "x"));
		progress_clear(&p);
		tty_read(&t, out);
		tty_end(&t);
		assert_string_equal(out, "");
	}
	/* Not a terminal. */
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	test_capture_begin(&c, STDERR_FILENO);
	progress_begin(&p, true);
	assert_false(progress_draw(&p, "x"));
	progress_clear(&p);
	text = test_capture_end(&c, NULL);
	assert_string_equal(text, "");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draw_and_clear),
		cmocka_unit_test(test_width_and_harm),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
