/*
 * inspect_main.h - `amber-timelock inspect`: show a manifest.
 *
 * argv[0] is the command's name; returns the exit code of timelock_cli.h.
 */
#ifndef AMBER_TIMELOCK_INSPECT_MAIN_H
#define AMBER_TIMELOCK_INSPECT_MAIN_H

int	inspect_main(int argc, char **argv);

#endif
