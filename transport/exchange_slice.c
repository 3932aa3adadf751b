/*
 * exchange_slice.c - a counted block of bytes.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "transport/exchange_slice.h"

int
exchange_slice_new(struct exchange_slice **out, uint32_t size, struct err *e)
{
	struct exchange_slice *s;

	if ((s = malloc(sizeof(*s) + size)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a slice");
	s->refs = 1;
	s->len = 0;
	s->size = size;
	*out = s;
	return 0;
}

struct exchange_slice *
exchange_slice_ref(struct exchange_slice *s)
{
	assert(s->refs > 0 && s->refs < UINT32_MAX);
	s->refs++;
	return s;
}

void
exchange_slice_free(struct exchange_slice **sp)
{
	struct exchange_slice *s = *sp;

	if (s == NULL)
		return;
	assert(s->refs > 0);
	if (--s->refs == 0)
		free(s);
	*sp = NULL;
}
