/*
 * resolv_conf.c - see resolv_conf.h.  Asks nobody anything.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/io.h"
#include "relay/resolv_conf.h"

enum { CONF_MAX = 1 << 20 };	/* bytes of a resolv.conf */

/* One line of resolv.conf; an IPv6 address may have a scope behind it. */
static bool
names_server(const char *line)
{
	static const char word[] = "nameserver";
	unsigned char addr[16];
	char text[INET6_ADDRSTRLEN];
	size_t n;

	if (strncmp(line, word, sizeof(word) - 1) != 0)
		return false;
	line += sizeof(word) - 1;
	if (*line != ' ' && *line != '\t')
		return false;
	line += strspn(line, " \t");
	n = strcspn(line, " \t\r\n;#%");
	if (n >= sizeof(text))
		return false;
	memcpy(text, line, n);
	text[n] = '\0';
	return inet_pton(AF_INET6, text, addr) == 1 ||
	    (line[n] != '%' && inet_pton(AF_INET, text, addr) == 1);
}

size_t
resolv_conf_servers(const char *path)
{
	struct bytes text = BYTES_INIT(CONF_MAX);
	const char *at;
	size_t n = 0;

	if (io_read_file(path, &text, NULL) != 0 ||
	    bytes_terminate(&text, NULL) != 0)
		goto out;
	for (at = (const char *)text.p; *at != '\0'; at += *at == '\n') {
		n += names_server(at);
		at += strcspn(at, "\n");
	}
out:
	bytes_free(&text);
	return n;
}
