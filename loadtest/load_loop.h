/*
 * load_loop.h - the event loop of what measures.
 *
 * libevent's ordinary timers are as coarse as a kernel tick, up to 4 ms; a
 * delay that is played, or a latency, wants them exact.
 */
#ifndef AMBER_LOADTEST_LOAD_LOOP_H
#define AMBER_LOADTEST_LOAD_LOOP_H

struct event_base;

/* The caller frees it with event_base_free(); NULL: no memory. */
struct event_base *load_loop_new(void);

#endif
