/*
 * calibrate.h - `amber-timelock calibrate`: how fast this machine hashes a
 * chain, and what follows for a puzzle.
 */
#ifndef AMBER_TIMELOCK_CALIBRATE_H
#define AMBER_TIMELOCK_CALIBRATE_H

/* argv[0] is "calibrate"; exit statuses as bench_main(). */
int	calibrate_main(int argc, char **argv);

#endif
