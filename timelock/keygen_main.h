/*
 * keygen_main.h - `amber-timelock keygen`: make an identity, print its vkey.
 *
 * argv[0] is the command's name; returns the exit code of timelock_cli.h.
 */
#ifndef AMBER_TIMELOCK_KEYGEN_MAIN_H
#define AMBER_TIMELOCK_KEYGEN_MAIN_H

int	keygen_main(int argc, char **argv);

#endif
