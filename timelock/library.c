/* library.c - names the RandomX library that was loaded. */
#include "timelock/library.h"

#include <dlfcn.h>
#include <randomx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timelock/engine.h"

void
library_text(char out[LIBRARY_TEXT_MAX])
{
	enum engine_algorithm newest = ENGINE_RX0;
	char own[256] = "", *real;
	const char *file = "static";
	union {
		randomx_flags	(*function)(void);
		void		*object;
	} u = { .function = randomx_get_flags };
	int generation = 0;
	ssize_t n;
	Dl_info info;

	if (engine_newest_algorithm(&newest, NULL) == 0)
		generation = newest == ENGINE_RX2 ? 2 : 1;
	n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[n > 0 ? n : 0] = '\0';
	real = dladdr(u.object, &info) != 0 && info.dli_fname != NULL ?
	    realpath(info.dli_fname, NULL) :
	    NULL;
	if (real != NULL && strcmp(real, own) != 0)
		file = real;
	snprintf(out, LIBRARY_TEXT_MAX, "RandomX %d.x, %.255s", generation,
	    file);
	free(real);
}
