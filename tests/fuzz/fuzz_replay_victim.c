/*
 * fuzz_replay_victim.c - a harness that dies on purpose, for replay_self_test:
 * at bytes that begin with "DIE".
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	if (len >= 3 && memcmp(p, "DIE", 3) == 0)
		abort();
	return 0;
}
