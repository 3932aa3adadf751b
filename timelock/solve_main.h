/*
 * solve_main.h - `amber-timelock solve`: solve a puzzle.
 *
 * argv[0] is the command's name; returns the exit code of timelock_cli.h.
 */
#ifndef AMBER_TIMELOCK_SOLVE_MAIN_H
#define AMBER_TIMELOCK_SOLVE_MAIN_H

int	solve_main(int argc, char **argv);

#endif
