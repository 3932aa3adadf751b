/*
 * memory_search.h - is it in another process's memory?
 *
 * Reads all that is mapped and readable there, page by page; a child's that
 * is dumpable, or anybody's for root.
 */
#ifndef AMBER_TESTS_RELAY_MEMORY_SEARCH_H
#define AMBER_TESTS_RELAY_MEMORY_SEARCH_H

#include <stddef.h>
#include <sys/types.h>

/* How often these bytes occur.  Fails the test when it could read nothing. */
size_t	memory_search_count(pid_t pid, const void *p, size_t n);

#endif
