/*
 * nginx_kit.h - a real nginx with a configuration of the test's, its own
 * folder and an ephemeral port.  Fails the running test when it cannot.
 */
#ifndef AMBER_TESTS_NGINX_KIT_H
#define AMBER_TESTS_NGINX_KIT_H

#include <stdint.h>
#include <sys/types.h>

struct nginx_kit {
	char		*folder;
	pid_t		 pid;		/* 0: not running */
	uint16_t	 port;
};

/* http: what stands in the http block, with a server that says
 * "listen 127.0.0.1:PORT ..." for @PORT@ and may name @FOLDER@. */
void	nginx_kit_start(struct nginx_kit *k, const char *http);
/* Ends it at once, connections and all; and starts it again. */
void	nginx_kit_stop(struct nginx_kit *k);
void	nginx_kit_restart(struct nginx_kit *k);
void	nginx_kit_free(struct nginx_kit *k);

#endif
