/*
 * origin_main.h - the command `amber-load origin`.
 */
#ifndef AMBER_LOADTEST_ORIGIN_MAIN_H
#define AMBER_LOADTEST_ORIGIN_MAIN_H

/* argv[0] is the command's name.  Returns the exit code. */
int	origin_main(int argc, char **argv);

#endif
