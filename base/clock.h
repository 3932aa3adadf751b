/*
 * clock.h - monotonic and wall time behind one interface that tests drive.
 *
 * Deadlines and rates use monotonic time; records and manifests wall time.
 */
#ifndef AMBER_BASE_CLOCK_H
#define AMBER_BASE_CLOCK_H

#include <stdint.h>
#include <sys/time.h>

struct clock {
	uint64_t (*mono_ns)(void *arg);		/* nanoseconds, never back */
	int64_t	 (*wall_ms)(void *arg);		/* unix milliseconds */
	void	 *arg;
};

/* The machine's clocks; static, never freed. */
const struct clock *clock_system(void);

uint64_t clock_mono_ns(const struct clock *c);
uint64_t clock_mono_ms(const struct clock *c);
int64_t	clock_wall_ms(const struct clock *c);
int64_t	clock_wall_s(const struct clock *c);

/* A span, as an event loop's timers take it. */
struct timeval clock_timeval_ms(uint64_t ms);
struct timeval clock_timeval_us(uint64_t us);

/* A clock that stands still until it is moved. */
struct clock_fake {
	struct clock	clock;		/* hand &f.clock to the code tested */
	uint64_t	mono_ns;
	int64_t		wall_ms;
};
void	clock_fake_init(struct clock_fake *f, uint64_t mono_ns,
	int64_t wall_ms);
/* Moves both clocks. */
void	clock_fake_advance_ms(struct clock_fake *f, uint64_t ms);

/* "2026-11-30T12:00:00.123Z"; out holds CLOCK_TEXT_MAX bytes. */
enum { CLOCK_TEXT_MAX = 40 };
void	clock_format_ms(int64_t wall_ms, char *out);
/* Without the milliseconds. */
void	clock_format_s(int64_t wall_s, char *out);

#endif
