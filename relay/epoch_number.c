/*
 * epoch_number.c - see epoch_number.h.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/layout.h"
#include "archive/segment_read.h"
#include "base/err.h"
#include "relay/epoch_number.h"

static int
last_of(const struct layout *l, int (*list)(const struct layout *l,
    uint64_t **v, size_t *n, struct err *e), uint64_t *out, bool *found,
    struct err *e)
{
	uint64_t *v = NULL;
	size_t n = 0;
	int r;

	if ((r = list(l, &v, &n, e)) != 0)
		return r;
	*found = n > 0;
	if (n > 0)
		*out = v[n - 1];
	free(v);
	return 0;
}

/* A header that does not read is left to the writer's recovery. */
static int
epoch_of_segment(const struct layout *l, uint64_t first, uint64_t *out,
    struct err *e)
{
	struct segment_read *s = NULL;
	int fd = -1, r;

	if ((r = layout_open_segment(l, first, &fd, e)) != 0)
		return r;
	if ((r = segment_read_new(&s, fd, e)) == 0)
		*out = segment_read_header(s)->epoch;
	segment_read_free(&s);
	close(fd);
	return r == ERR_FORMAT ? 0 : r;
}

static int
find(const struct layout *l, uint64_t *out, struct err *e)
{
	uint64_t file = 0, first = 0, segment = 0;
	bool has_file, has_segment;
	int r;

	if ((r = last_of(l, layout_list_epochs, &file, &has_file, e)) != 0 ||
	    (r = last_of(l, layout_list, &first, &has_segment, e)) != 0)
		return r;
	if (has_segment &&
	    (r = epoch_of_segment(l, first, &segment, e)) != 0)
		return r;
	if (segment > file)
		file = segment;
	if (file == UINT64_MAX)
		return err_set(e, ERR_LIMIT, "epoch numbers are used up");
	*out = file + 1;
	return 0;
}

int
epoch_number_next(const char *archive, uint64_t *out, struct err *e)
{
	struct layout *l = NULL;
	struct err why = ERR_INIT;
	int r;

	if ((r = layout_open(&l, archive, &why)) == 0) {
		if ((r = find(l, out, &why)) != 0)
			err_ctx(&why, "archive %s", archive);
	} else if (r == ERR_NOENT) {
		*out = 1;
		return 0;
	}
	layout_free(&l);
	if (r != 0 && e != NULL)
		*e = why;
	return r;
}
