/*
 * generate_main.h - `amber-timelock generate`: make a puzzle.
 *
 * argv[0] is the command's name; returns the exit code of timelock_cli.h.
 */
#ifndef AMBER_TIMELOCK_GENERATE_MAIN_H
#define AMBER_TIMELOCK_GENERATE_MAIN_H

int	generate_main(int argc, char **argv);

#endif
