/*
 * nginx_kit.c - see nginx_kit.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/test_util.h"
#include "tests/transport/nginx_kit.h"

enum { START_MS = 20 * 1000, CONF_MAX = 64 * 1024, TRIES = 5 };

static const char frame[] =
    "daemon off;\n"
    "worker_processes 1;\n"
    "pid @FOLDER@/pid;\n"
    "error_log @FOLDER@/error.log warn;\n"
    "events { worker_connections 512; }\n"
    "http {\n"
    "	access_log off;\n"
    "	client_body_temp_path @FOLDER@/body;\n"
    "	proxy_temp_path @FOLDER@/proxy;\n"
    "	fastcgi_temp_path @FOLDER@/fastcgi;\n"
    "	uwsgi_temp_path @FOLDER@/uwsgi;\n"
    "	scgi_temp_path @FOLDER@/scgi;\n"
    "@HTTP@\n"
    "}\n";

static uint16_t
free_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fd;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true((fd = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	close(fd);
	return ntohs(sin.sin_port);
}

/* Appends text with @NAME@ put in. */
static void
expand(struct bytes *out, const char *text, const struct nginx_kit *k,
    const char *http)
{
	const char *at;

	while ((at = strchr(text, '@')) != NULL) {
		assert_int_equal(bytes_append(out, text, (size_t)(at - text),
		    NULL), 0);
		text = strchr(at + 1, '@') + 1;
		if (strncmp(at, "@HTTP@", 6) == 0)
			expand(out, http, k, NULL);
		else if (strncmp(at, "@PORT@", 6) == 0)
			assert_int_equal(bytes_printf(out, NULL, "%u",
			    (unsigned)k->port), 0);
		else
			assert_int_equal(bytes_append_str(out, k->folder,
			    NULL), 0);
	}
	assert_int_equal(bytes_append_str(out, text, NULL), 0);
}

static bool
is_listening(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	bool is;
	int fd;

	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true((fd = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	is = connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0;
	close(fd);
	return is;
}

static bool
start(struct nginx_kit *k)
{
	char *conf = test_path(k->folder, "conf");
	char *log = test_path(k->folder, "error.log");
	unsigned i;

	assert_true((k->pid = fork()) != -1);
	if (k->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execl("/usr/sbin/nginx", "nginx", "-p", k->folder, "-e",
		    log, "-c", conf, (char *)NULL);
		_exit(127);
	}
	free(conf);
	free(log);
	for (i = 0; i < START_MS / 10; i++) {
		if (is_listening(k->port))
			return true;
		if (waitpid(k->pid, NULL, WNOHANG) != 0)
			break;
		(void)usleep(10000);
	}
	k->pid = 0;
	return false;
}

void
nginx_kit_start(struct nginx_kit *k, const char *http)
{
	struct bytes conf;
	char *path;
	unsigned i;

	memset(k, 0, sizeof(*k));
	k->folder = test_folder_make();
	path = test_path(k->folder, "conf");
	for (i = 0; i < TRIES; i++) {	/* somebody else may take the port */
		k->port = free_port();
		bytes_init(&conf, CONF_MAX);
		if (geteuid() == 0)	/* its workers use our folder */
			assert_int_equal(bytes_append_str(&conf,
			    "user root;\n", NULL), 0);
		expand(&conf, frame, k, http);
		test_file_write(path, conf.p, conf.len);
		bytes_free(&conf);
		if (start(k)) {
			free(path);
			return;
		}
	}
	fail_msg("nginx does not start: is the Debian package nginx there? "
	    "see %s/error.log", k->folder);
}

void
nginx_kit_stop(struct nginx_kit *k)
{
	if (k->pid == 0)
		return;
	(void)kill(k->pid, SIGTERM);
	while (waitpid(k->pid, NULL, 0) == -1 && errno == EINTR)
		;
	k->pid = 0;
}

void
nginx_kit_restart(struct nginx_kit *k)
{
	nginx_kit_stop(k);
	assert_true(start(k));
}

void
nginx_kit_free(struct nginx_kit *k)
{
	nginx_kit_stop(k);
	test_folder_remove(k->folder);
	free(k->folder);
}
