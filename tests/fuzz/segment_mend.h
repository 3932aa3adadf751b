/*
 * segment_mend.h - sets the header's and the frames' checks of a segment
 * right, so that a mutation gets past them to what they protect.  It stops at
 * the first frame that has no sound head.
 */
#ifndef AMBER_TESTS_FUZZ_SEGMENT_MEND_H
#define AMBER_TESTS_FUZZ_SEGMENT_MEND_H

#include <stddef.h>
#include <stdint.h>

void	segment_mend(uint8_t *p, size_t len);

#endif
