/*
 * load_proc.h - what a process costs: processor time, memory, descriptors;
 * and where it runs.  By /proc and the clocks of other processes; Linux.
 */
#ifndef AMBER_LOADTEST_LOAD_PROC_H
#define AMBER_LOADTEST_LOAD_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct json;

struct load_proc {
	double		cpu_s;		/* user and system, all threads */
	uint64_t	rss_kib, peak_kib;
	int64_t		files;		/* open descriptors; -1: not told to
					 * this user */
};

/* False when there is no such process (any more); out is then zero. */
bool	load_proc_read(pid_t pid, struct load_proc *out);
/* The peak counts from now on; false: it is not permitted, and goes on from
 * the process's start. */
bool	load_proc_reset_peak(pid_t pid);

/* The machine, as fields of an object that is open. */
void	load_proc_machine_json(struct json *j);
void	load_proc_machine_print(void);

#endif
