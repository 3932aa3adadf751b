/*
 * load_main.h - habits that the commands of amber-load share.
 */
#ifndef AMBER_LOADTEST_LOAD_MAIN_H
#define AMBER_LOADTEST_LOAD_MAIN_H

enum {
	LOAD_EXIT_OK = 0,
	LOAD_EXIT_FAILED = 1,
	LOAD_EXIT_USAGE = 2,
};

#endif
