/*
 * resolv_conf.h - whether the system's resolv.conf names a DNS server.
 *
 * c-ares reads the file itself (resolver.h); this is for telling an operator
 * beforehand that it will find none.
 */
#ifndef AMBER_RELAY_RESOLV_CONF_H
#define AMBER_RELAY_RESOLV_CONF_H

#include <stddef.h>

#define RESOLV_CONF	"/etc/resolv.conf"

/* How many servers a resolv.conf names in a way that c-ares understands; of a
 * file that cannot be read, 0.  If there are none c-ares asks 127.0.0.1. */
size_t	resolv_conf_servers(const char *path);

#endif
