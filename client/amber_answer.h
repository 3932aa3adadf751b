/*
 * amber_answer.h - reading an answer's head (WIRE, "Inner HTTP").
 */
#ifndef AMBER_CLIENT_AMBER_ANSWER_H
#define AMBER_CLIENT_AMBER_ANSWER_H

struct amber_answer;
struct err;
struct http_message;

/* Status, head, the relay's own verdict, its timings.  ERR_NOMEM. */
int	amber_answer_read(struct amber_answer *r,
	const struct http_message *m, struct err *e);

#endif
