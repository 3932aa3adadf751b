/*
 * library.h - which RandomX library this process hashes with, for records.
 */
#ifndef AMBER_TIMELOCK_LIBRARY_H
#define AMBER_TIMELOCK_LIBRARY_H

enum { LIBRARY_TEXT_MAX = 320 };

/*
 * "RandomX 1.x, /usr/lib/.../librandomx.so.0" or "RandomX 2.x, static": the
 * generation by its known answers (0.x: not asked yet), the file by the
 * loader.  The library tells no version of its own.
 */
void	library_text(char out[LIBRARY_TEXT_MAX]);

#endif
