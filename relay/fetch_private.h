/*
 * fetch_private.h - the inside of a fetch, shared by fetch.c (its life) and
 * fetch_record.c (what is captured).
 */
#ifndef AMBER_RELAY_FETCH_PRIVATE_H
#define AMBER_RELAY_FETCH_PRIVATE_H

#include "archive/capture.h"
#include "base/bytes.h"
#include "relay/admission.h"
#include "relay/fetch.h"
#include "relay/service.h"
#include "relay/upstream.h"
#include "transport/url.h"

struct archive_done;

enum { FETCH_METHOD_MAX = 16 };

struct fetch {
	struct service		*s;
	struct event		*kick;		/* a refusal's */
	struct event		*timer;		/* of publication */
	struct upstream_op	*op;		/* under way, or NULL */
	struct upstream_result	*res;
	struct admission_permit	 permit;
	uint64_t		 epoch;		/* admitted in */
	/* The request. */
	char			 method[FETCH_METHOD_MAX];
	struct bytes		 url;		/* text that to points into */
	struct url		 to;
	struct bytes		 up_head;	/* as it goes upstream */
	struct bytes		 body;
	uint64_t		 request_bytes;	/* held of that budget */
	struct redact		*redact;	/* this request's names, or
						 * NULL: the service's */
	/* The record. */
	struct capture		 cap;
	struct bytes		 cap_request, cap_response, cap_trailers;
	struct bytes		 cap_interim[HTTP_INTERIMS_MAX];
	bool			 is_borrowed;	/* by the archive */
	/* The answer. */
	struct bytes		 head, text;
	struct fetch_answer	 answer;
	size_t			 sent, released;	/* of the body */
	bool			 close;
	bool			 has_answered;
	bool			 has_owner;	/* false: freed by it */
	void			(*on_answer)(struct fetch *f,
				    const struct fetch_answer *a, void *arg);
	void			*arg;
};

/* Fills f->cap from the request and the result, redacted. */
int	fetch_record_fill(struct fetch *f, int64_t start_ms, struct err *e);
/* The names not to be captured: the service's and the request's own. */
int	fetch_record_redact(struct fetch *f, struct http_fields fields,
	struct err *e);
/* How long each stage took, as the client is told. */
struct answer_times fetch_record_times(const struct upstream_result *res,
	const struct archive_done *d);
void	fetch_record_free(struct fetch *f);

#endif
