/*
 * confine_rows.h - system calls that are tried under a filter, and what each
 * set of calls must make of them.
 */
#ifndef AMBER_TESTS_CONFINE_ROWS_H
#define AMBER_TESTS_CONFINE_ROWS_H

#include <stddef.h>

#include "base/confine.h"

enum { CONFINE_ROWS_ODD = 255 };	/* failed, but not by an errno */

enum confine_outcome { CONFINE_PASSES, CONFINE_REFUSED };

struct confine_row {
	const char		*name;
	unsigned		 sets;
	int			(*attempt)(void);	/* 0 or errno */
	enum confine_outcome	 want;
};

extern const struct confine_row confine_rows[];
extern const size_t confine_rows_count;

/* The attempt of the row of that name: 0 or errno. */
int	confine_rows_try(const char *name);

#endif
