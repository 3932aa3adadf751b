/*
 * transport_main.h - the command `amber-load transport`.
 */
#ifndef AMBER_LOADTEST_TRANSPORT_MAIN_H
#define AMBER_LOADTEST_TRANSPORT_MAIN_H

/* argv[0] is the command's name.  Returns the exit code. */
int	transport_main(int argc, char **argv);

#endif
