/*
 * fuzz_url.c - what url_parse() accepts has one spelling: the URL built from
 * its parts is accepted and gives the same parts.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tests/fuzz/fuzz_check.h"
#include "transport/http_head.h"
#include "transport/url.h"

int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bytes again = BYTES_INIT(URL_TEXT_MAX + 1024);
	struct bytes head = BYTES_INIT(URL_TEXT_MAX + 1024);
	struct err e = ERR_INIT;
	struct url u, v;
	const char *host;

	(void)url_parse_authority(&u, (const char *)data, n, 0, &e);
	if (url_parse(&u, (const char *)data, n, &e) != 0) {
		fuzz_check(e.msg[0] != '\0');
		return 0;
	}
	fuzz_check(bytes_printf(&again, &e, "https://%s", u.authority) == 0);
	fuzz_check(url_append_target(&u, "GET", &again, &e) == 0);
	if (again.len <= URL_TEXT_MAX)
		fuzz_check(url_parse(&v, (const char *)again.p, again.len,
		    &e) == 0 && v.kind == u.kind && v.port == u.port &&
		    strcmp(v.host, u.host) == 0 &&
		    strcmp(v.authority, u.authority) == 0 &&
		    memcmp(v.addr, u.addr, sizeof(u.addr)) == 0);
	/* it can be put into a head as it is */
	host = strstr((const char *)u.authority, u.host);
	fuzz_check(host != NULL && u.port != 0);
	fuzz_check(http_head_request(&head, "GET", again.p + 8, again.len - 8,
	    &e) == 0);
	fuzz_check(http_head_field(&head, "Host", u.authority,
	    strlen(u.authority), &e) == 0);
	bytes_free(&again);
	bytes_free(&head);
	return 0;
}
