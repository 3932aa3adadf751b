/*
 * engine_copy.c - a second dataset with the same content, for bench: on
 * ordinary pages, on reserved huge pages, or as a solver's own.
 *
 * Must not compute anything: what is measured over a copy has to hash as the
 * original does, which the digest shows.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "timelock/dataset.h"
#include "timelock/engine_inside.h"
#include "timelock/narrow.h"

static int
copy_dataset(struct engine *en, const struct engine *from, bool large_pages,
    struct err *e)
{
	size_t len = randomx_dataset_item_count() * (size_t)DATASET_ITEM;
	int r;

	r = narrow_open(&en->dataset_record, NARROW_PUBLIC |
	    (unsigned)(en->no_huge ? NARROW_ORDINARY : NARROW_HUGE), e);
	if (r != 0)
		return r;
	narrow_enter(en->dataset_record);
	en->dataset = randomx_alloc_dataset(large_pages ?
	    RANDOMX_FLAG_LARGE_PAGES : RANDOMX_FLAG_DEFAULT);
	narrow_leave();
	if (en->dataset == NULL)
		return err_set(e, ERR_NOMEM, "no memory for another dataset "
		    "of 2,080 MiB%s",
		    large_pages ? " in the reserved huge-page pool" : "");
	en->memory = randomx_get_dataset_memory(en->dataset);
	en->memory_len = len;
	memcpy(en->memory, randomx_get_dataset_memory(from->dataset), len);
	return 0;
}

int
engine_copy(struct engine **out, const struct engine *from, bool no_huge,
    bool large_pages, struct err *e)
{
	struct engine *en;
	int r;

	assert(from->mode == ENGINE_FULL);
	if ((en = calloc(1, sizeof(*en))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the engine");
	en->mode = from->mode;
	en->algorithm = from->algorithm;
	en->flags = from->flags;
	en->no_huge = no_huge;
	en->has_narrow = from->has_narrow;
	en->threads = 1;
	r = copy_dataset(en, from, large_pages, e);
	if (r == 0) {
		*out = en;
		en = NULL;
	}
	engine_free(&en);
	return r;
}
