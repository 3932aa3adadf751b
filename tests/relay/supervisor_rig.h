/*
 * supervisor_rig.h - a supervisor in a process of its own, in a folder of its
 * own, with doubles of relay and generator, and what these write down.
 */
#ifndef AMBER_TESTS_RELAY_SUPERVISOR_RIG_H
#define AMBER_TESTS_RELAY_SUPERVISOR_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ORIGIN		"test.example"
#define LEAF		"leaf of the right length"

/* A case of cmocka's with a rig of its own. */
#define WITH_RIG(t) \
	cmocka_unit_test_setup_teardown((t), rig_setup, rig_teardown)

struct rig {
	char		*folder;
	uint64_t	 hang_ms;	/* 0: the default */
	bool		 is_confined;
	pid_t		 pid;		/* -1: not running */
};

void	rig_put(struct rig *g, const char *name, const char *text);
void	rig_take_away(struct rig *g, const char *name);
/* "" when there is none yet; the caller frees. */
char	*rig_get(struct rig *g, const char *name);
/* In pieces, since cmocka cuts what is long. */
void	rig_show(struct rig *g, const char *name);
void	rig_pause(void);
/* The text from the nth line on that begins so; NULL: not there. */
const char *rig_nth_line(const char *text, const char *begin,
	unsigned nth);
/* Waits for the nth line of a file that begins so, and gives a copy. */
char	*rig_wait_line(struct rig *g, const char *name, const char *begin,
	unsigned nth);
void	rig_see(struct rig *g, const char *name, const char *begin,
	unsigned nth);
/* The supervisor's own log has times before its words. */
void	rig_see_log(struct rig *g, const char *part);
pid_t	rig_pid_in(const char *line);
pid_t	rig_relay_pid(struct rig *g, unsigned nth);
void	rig_start(struct rig *g);
int	rig_wait_exit(struct rig *g);
void	rig_exits(struct rig *g, int want);
void	rig_hit(struct rig *g, int sig);
/* We are the reaper of what it leaves. */
void	rig_is_dead(pid_t pid);
int	rig_setup(void **state);
void	rig_write_config(struct rig *g, const char *more);
int	rig_teardown(void **state);
void	rig_begin(struct rig *g);

#endif
