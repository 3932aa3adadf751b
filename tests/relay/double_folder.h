/*
 * double_folder.h - how a test speaks with the doubles that its supervisor
 * starts: by files in a folder that the environment names.
 *
 * Doubles append lines to files ("relay.log", "generator.log"); a test puts
 * files there that change what they do.  For tests only.
 */
#ifndef AMBER_TESTS_RELAY_DOUBLE_FOLDER_H
#define AMBER_TESTS_RELAY_DOUBLE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define DOUBLE_FOLDER_ENV	"AMBER_DOUBLE_FOLDER"

/* One line, by one write. */
void	double_folder_log(const char *file, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Is there a file of that name? */
bool	double_folder_has(const char *file);
/* Its number, or -1 when there is none. */
long	double_folder_number(const char *file);
void	double_folder_remove(const char *file);

#endif
