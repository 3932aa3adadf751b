/*
 * load_loop.c - the event loop of what measures.
 */
#include <event2/event.h>

#include "loadtest/load_loop.h"

struct event_base *
load_loop_new(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (cfg == NULL)
		return NULL;
	if (event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
		base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return base;
}
