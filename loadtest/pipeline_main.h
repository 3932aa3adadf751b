/*
 * pipeline_main.h - the command `amber-load pipeline`.
 */
#ifndef AMBER_LOADTEST_PIPELINE_MAIN_H
#define AMBER_LOADTEST_PIPELINE_MAIN_H

/* argv[0] is the command's name.  Returns the exit code. */
int	pipeline_main(int argc, char **argv);

#endif
