/*
 * bench.h - `amber-timelock bench`: what makes RandomX fast on this machine.
 */
#ifndef AMBER_TIMELOCK_BENCH_H
#define AMBER_TIMELOCK_BENCH_H

/*
 * argv[0] is "bench".  Parses its options, measures, reports on stdout, says
 * what went wrong on stderr.  Returns a TIMELOCK_EXIT_*: FAILED also when
 * memory is or becomes scarce, or digests differ.  The process must have no
 * other thread.
 */
int	bench_main(int argc, char **argv);

#endif
