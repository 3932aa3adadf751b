/*
 * fetch_status.c - tables of reasons (WIRE) and of RFC 9209's error types.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "client/commands.h"
#include "client/fetch_status.h"

/* ---- the relay itself refuses ---- */

/* Amber-Reason. */
static const struct {
	const char	*word;
	const char	*text;
} reasons[] = {
	{ "permits", "all its permits are in use" },
	{ "memory", "its memory for answers is in use" },
	{ "warming", "it is warming up: the puzzle of its first epoch is still "
	    "being made" },
	{ "expired", "its epoch is over, and the next one is not there yet" },
	{ "storage", "its disk is full; its operator has to make room" },
	{ "draining", "it is being stopped" },
};

static const char *
reason_text(const struct amber_answer *r)
{
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(reasons[i].word, r->reason) == 0)
			return reasons[i].text;
	return r->details[0] != '\0' ? r->details : "it gives no reason";
}

bool
fetch_status_is_refusal(const struct amber_answer *r)
{
	return r->is_relays && r->status == 503;
}

static int
refused(const struct amber_answer *r, struct err *e)
{
	char when[64] = "";

	if (r->retry_after_s != 0)
		snprintf(when, sizeof(when), "; try again after %u s, or let "
		    "--retry do it", r->retry_after_s);
	err_set(e, ERR_LIMIT, "the relay refuses now (503, %s): %s%s",
	    r->reason[0] != '\0' ? r->reason : r->token, reason_text(r),
	    when);
	return EXIT_REFUSED;
}

static int
not_let_in(bool has_token, struct err *e)
{
	err_set(e, ERR_PERM, "the relay lets in only who has a token (407): "
	    "%s", has_token ? "it does not know this one; ask its operator" :
	    "give --token-file FILE");
	return EXIT_REFUSED;
}

static int
not_archived(const struct amber_answer *r, struct err *e)
{
	err_set(e, ERR_PEER, "the exchange was not archived, so its answer is "
	    "withheld (%u): %s; it may have reached the server", r->status,
	    r->status == 507 ? "the relay's disk is full" : r->details);
	return EXIT_NOT_ARCHIVED;
}

/* ---- what went wrong behind it ---- */

/* What a token's text is after: "the relay ...: details". */
static const struct {
	const char	*token;
	int		 status;
	const char	*text;
} tokens[] = {
	{ "dns_error", EXIT_RESOLVE, "the relay cannot resolve the name" },
	{ "dns_timeout", EXIT_RESOLVE, "the relay got no answer from DNS" },
	{ "destination_ip_prohibited", EXIT_CONNECT,
	    "the relay's policy forbids this destination (only its operator "
	    "can allow it)" },
	{ "proxy_loop_detected", EXIT_CONNECT,
	    "this leads to the relay itself" },
	{ "connection_refused", EXIT_CONNECT,
	    "the server refuses the connection" },
	{ "connection_terminated", EXIT_PROTOCOL,
	    "the server closed the connection without an answer" },
	{ "connection_timeout", EXIT_TIMEOUT,
	    "the relay does not get through to the server" },
	{ "connection_write_timeout", EXIT_TIMEOUT,
	    "the server does not take the request" },
	{ "http_response_timeout", EXIT_TIMEOUT,
	    "the server did not answer in time" },
	{ "destination_ip_unroutable", EXIT_CONNECT,
	    "the relay has no route to the server" },
	{ "destination_unavailable", EXIT_CONNECT,
	    "the server cannot be reached" },
	{ "tls_certificate_error", EXIT_PIN,
	    "the server's certificate is not good (the relay has no way around "
	    "that)" },
	{ "tls_alert_received", EXIT_TLS, "the server refuses the TLS "
	    "handshake" },
	{ "tls_protocol_error", EXIT_TLS, "TLS with the server failed" },
	{ "http_response_incomplete", EXIT_PARTIAL,
	    "the server's answer was cut short" },
	{ "http_response_body_size", EXIT_TOO_LARGE,
	    "the server's answer is larger than the relay takes" },
	{ "http_request_error", EXIT_URL, "the relay refuses the request" },
	{ "http_request_denied", EXIT_REFUSED, "the relay refuses the "
	    "request" },
	{ "proxy_internal_error", EXIT_PROTOCOL, "the relay failed" },
};

static int
failed_behind(const struct amber_answer *r, struct err *e)
{
	const char *text = "the server's answer breaks HTTP";
	int status = EXIT_PROTOCOL;
	char record[48] = "";
	size_t i;

	for (i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
		if (strcmp(tokens[i].token, r->token) == 0) {
			status = tokens[i].status;
			text = tokens[i].text;
		}
	if (r->has_record)
		snprintf(record, sizeof(record), "; recorded as %llu",
		    (unsigned long long)r->index);
	err_set(e, ERR_PEER, "%s: %s (%u, %s%s)", text,
	    r->details[0] != '\0' ? r->details : "no more is known",
	    r->status, r->token, record);
	return status;
}

int
fetch_status(const struct amber_answer *r, const struct fetch_status_opts *o,
    struct err *e)
{
	if (fetch_status_is_refusal(r))
		return refused(r, e);
	if (r->is_relays && r->status == 407)
		return not_let_in(o->has_token, e);
	if (r->is_relays && !r->has_record &&
	    (r->status == 500 || r->status == 507))
		return not_archived(r, e);
	if (r->is_relays)
		return failed_behind(r, e);
	if (o->fail && r->status >= 400) {
		err_set(e, ERR_PEER, "the server answers %u", r->status);
		return EXIT_HTTP_STATUS;
	}
	return EXIT_OK;
}
