/*
 * http_message.c - see http_message.h.
 */
#include <string.h>
#include <strings.h>

#include "transport/http_message.h"

/* "HTTP/1.1 200 reason\r\n"; the second blank may be absent. */
static enum http_fault
start_response(struct http_message *m, const char *s, size_t n)
{
	if (n < 14 || memcmp(s, "HTTP/1.", 7) != 0 || m->status < 100)
		return HTTP_BAD_START;
	if (n > 15) {
		m->reason = s + 13;
		m->reason_len = n - 15;
	}
	/* llhttp lets controls pass here */
	if (!http_head_is_value(m->reason, m->reason_len))
		return HTTP_BAD_START;
	return HTTP_OK;
}

/* "GET target HTTP/1.1\r\n", with one blank each. */
static enum http_fault
start_request(struct http_message *m, const char *s, size_t n)
{
	const size_t name = strlen(m->method);

	if (n < name + 13 || s[name] != ' ' ||
	    memcmp(s + n - 11, " HTTP/1.", 8) != 0)
		return HTTP_BAD_START;
	m->target = s + name + 1;
	m->target_len = n - name - 12;
	/* llhttp lets more blanks pass */
	if (memchr(m->target, ' ', m->target_len) != NULL)
		return HTTP_BAD_START;
	return HTTP_OK;
}

enum http_fault
http_message_start(struct http_message *m,
    const struct http_message_facts *facts, size_t *len)
{
	const char *s = (const char *)m->raw;
	const char *nl = memchr(s, '\n', m->raw_len);

	if (nl == NULL)
		return HTTP_BAD_START;
	*len = (size_t)(nl + 1 - s);
	if (facts->major != 1 || facts->minor > 1)
		return HTTP_BAD_VERSION;
	m->minor = facts->minor;
	if (m->kind == HTTP_RESPONSES) {
		m->status = facts->status;
		return start_response(m, s, *len);
	}
	m->method = facts->method;
	return start_request(m, s, *len);
}

/* Does an answer have no body whatever its fields say? */
static bool
is_bodiless(const struct http_message *m, bool answers_head)
{
	return answers_head || m->status < 200 || m->status == 204 ||
	    m->status == 304;
}

/* The one Transfer-Encoding there may be; *n: how many there are. */
static enum http_fault
check_coding(const struct http_message *m,
    const struct http_message_facts *facts, size_t *n)
{
	const struct http_field *te =
	    http_head_only(m->fields, "transfer-encoding");

	*n = http_head_count(m->fields, "transfer-encoding");
	if (*n == 0)
		return facts->is_chunked ? HTTP_BAD_CODING : HTTP_OK;
	if (facts->has_length)
		return HTTP_BAD_FRAMING;
	if (te == NULL || m->minor == 0 || !facts->is_chunked)
		return HTTP_BAD_CODING;
	if (te->value_len != 7 || strncasecmp(te->value, "chunked", 7) != 0)
		return HTTP_BAD_CODING;
	return HTTP_OK;
}

static bool
keeps_alive(const struct http_message *m)
{
	if (m->framing == HTTP_UNTIL_CLOSE ||
	    http_head_has_token(m->fields, "connection", "close"))
		return false;
	return m->minor == 1 ||
	    http_head_has_token(m->fields, "connection", "keep-alive");
}

enum http_fault
http_message_frame(struct http_message *m,
    const struct http_message_facts *facts)
{
	const size_t lengths = http_head_count(m->fields, "content-length");
	const bool is_connect = strcmp(m->method, "CONNECT") == 0;
	enum http_fault f;
	size_t n;

	/* llhttp must have seen the same one */
	if (lengths != (facts->has_length ? 1 : 0))
		return HTTP_BAD_LENGTH;
	m->has_length = facts->has_length;
	m->length = facts->has_length ? facts->length : 0;
	if ((f = check_coding(m, facts, &n)) != HTTP_OK)
		return f;
	if (is_connect && (n > 0 || m->length > 0))
		return HTTP_BAD_FRAMING;
	if (is_connect)
		m->framing = HTTP_NO_BODY;
	else if (m->kind == HTTP_RESPONSES &&
	    is_bodiless(m, facts->answers_head))
		m->framing = HTTP_NO_BODY;
	else if (n > 0)
		m->framing = HTTP_CHUNKED;
	else if (m->has_length)
		m->framing = HTTP_LENGTH;
	else if (m->kind == HTTP_RESPONSES)
		m->framing = HTTP_UNTIL_CLOSE;
	else
		m->framing = HTTP_NO_BODY;
	m->keep_alive = keeps_alive(m);
	return HTTP_OK;
}
