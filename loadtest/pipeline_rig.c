/*
 * pipeline_rig.c - see pipeline_rig.h.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <ftw.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "loadtest/load_get.h"
#include "loadtest/load_loop.h"
#include "loadtest/load_relay.h"
#include "loadtest/pipeline_rig.h"
#include "transport/exchange_route.h"
#include "transport/http_listener.h"
#include "transport/tls_context.h"

enum {
	PAGE_MAX = 4 << 20,
	FILES = 4096,
	REQUEST_MS = 100 * 1000,	/* longer than fetch and publish */
	WALK_FILES = 16,
};

/* ---- the folder ---- */

static int
make_folder(struct pipeline_rig *g, const char *parent, struct err *e)
{
	char at[PIPELINE_PATH_MAX];

	if (parent == NULL && (parent = getenv("TMPDIR")) == NULL)
		parent = "/tmp";
	if (realpath(parent, at) == NULL)
		return err_sys(e, "folder %s", parent);
	if ((size_t)snprintf(g->folder, sizeof(g->folder),
	    "%s/amber-load.XXXXXX", at) >= sizeof(g->folder))
		return err_set(e, ERR_ARG, "folder %s: too long", at);
	if (mkdtemp(g->folder) == NULL) {
		g->folder[0] = '\0';
		return err_sys(e, "a folder in %s", at);
	}
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	(void)remove(path);
	return 0;
}

static void
remove_folder(struct pipeline_rig *g)
{
	if (g->folder[0] == '\0' || g->is_kept)
		return;
	(void)nftw(g->folder, remove_one, WALK_FILES, FTW_DEPTH | FTW_PHYS);
	g->folder[0] = '\0';
}

/* ---- the origin ---- */

static int
open_origin(struct pipeline_rig *g, const struct pipeline_rig_opts *o,
    struct err *e)
{
	const char *url = o->origin_url;
	size_t n;
	int r;

	if (url == NULL) {
		(void)snprintf(g->ca_file, sizeof(g->ca_file), "%s/ca.pem",
		    g->folder);
		if ((r = origin_child_start(&g->origin, g->ca_file, e)) != 0)
			return r;
		g->has_own_origin = true;
		(void)snprintf(g->origin_url, sizeof(g->origin_url),
		    "https://127.0.0.1:%u", g->origin.port);
	} else if (snprintf(g->origin_url, sizeof(g->origin_url), "%s",
	    url) >= (int)sizeof(g->origin_url))
		return err_set(e, ERR_ARG, "the origin's URL is too long");
	for (n = strlen(g->origin_url); n > 0 &&
	    g->origin_url[n - 1] == '/'; n--)
		g->origin_url[n - 1] = '\0';
	if ((r = url_parse(&g->origin_at, g->origin_url,
	    strlen(g->origin_url), e)) != 0)
		err_ctx(e, "the origin's URL");
	else if (o->origin_ca != NULL && realpath(o->origin_ca, g->ca_file) ==
	    NULL)
		r = err_sys(e, "%s", o->origin_ca);
	return r;
}

static int
find_origin(struct pipeline_rig *g, struct err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai = NULL;
	char port[8];
	int r;

	(void)snprintf(port, sizeof(port), "%u", g->origin_at.port);
	if ((r = getaddrinfo(g->origin_at.host, port, &hints, &ai)) != 0)
		return err_set(e, ERR_NOENT, "%s: %s", g->origin_at.host,
		    gai_strerror(r));
	memcpy(&g->straight.address, ai->ai_addr, ai->ai_addrlen);
	g->straight.address_len = ai->ai_addrlen;
	freeaddrinfo(ai);
	return 0;
}

/* ---- the relay ---- */

/* amberd beside this very program. */
static int
find_amberd(char out[PIPELINE_PATH_MAX + 16], struct err *e)
{
	char self[PIPELINE_PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return err_sys(e, "/proc/self/exe");
	self[n] = '\0';
	if ((slash = strrchr(self, '/')) != NULL)
		*slash = '\0';
	(void)snprintf(out, PIPELINE_PATH_MAX + 16, "%s/amberd", self);
	return 0;
}

/* What lets it fetch from the origin, then what the user sets. */
static int
start_relay(struct pipeline_rig *g, const struct pipeline_rig_opts *o,
    struct err *e)
{
	char beside[PIPELINE_PATH_MAX + 16], allow[URL_NAME_MAX + 16];
	char port[32];
	char ca[PIPELINE_PATH_MAX + 32];
	const char *sets[PIPELINE_SETS_MAX + 3];
	struct load_relay_opts ro = { .program = o->amberd,
		.folder = g->folder, .sets = sets };
	size_t i;
	int r;

	if (o->amberd == NULL && (r = find_amberd(beside, e)) != 0)
		return r;
	if (o->amberd == NULL)
		ro.program = beside;
	(void)snprintf(port, sizeof(port), "allowed_ports=%u",
	    g->origin_at.port);
	sets[ro.nsets++] = port;
	if (g->origin_at.kind != URL_HOST_NAME) {
		(void)snprintf(allow, sizeof(allow), "allow=%s/%d",
		    g->origin_at.host,
		    g->origin_at.kind == URL_HOST_IPV4 ? 32 : 128);
		sets[ro.nsets++] = allow;
	}
	if (g->ca_file[0] != '\0') {
		(void)snprintf(ca, sizeof(ca), "ca_file=%s", g->ca_file);
		sets[ro.nsets++] = ca;
	}
	for (i = 0; i < o->nsets; i++)
		sets[ro.nsets++] = o->sets[i];
	return load_relay_start(&g->relay, &ro, e);
}

static int
check_ready(const struct pipeline_rig *g, struct err *e)
{
	struct bytes page = BYTES_INIT(PAGE_MAX);
	unsigned status = 0;
	int r;

	r = load_get(load_relay_where(g->relay), "/readyz", &status, &page,
	    e);
	if (r == 0 && status != 200)
		r = err_set(e, ERR_PEER, "the relay is not ready: %.40s",
		    (char *)page.p);
	bytes_free(&page);
	return r;
}

static int
open_relay(struct pipeline_rig *g, const struct pipeline_rig_opts *o,
    struct err *e)
{
	struct exchange_route_opts ro = { .relay = o->relay_url,
		.ca_file = o->relay_ca,
		.has_no_proxy = o->relay_url == NULL };
	const char *pin = o->pin;
	int r;

	if (o->relay_url == NULL) {
		if ((r = start_relay(g, o, e)) != 0 ||
		    (r = check_ready(g, e)) != 0)
			return r;
		ro.relay = load_relay_url(g->relay);
		pin = load_relay_pin(g->relay);
	}
	if ((r = vkey_from_arg(&g->pin, pin, e)) != 0) {
		err_ctx(e, "pin");
		return r;
	}
	return exchange_route_new(&g->route, &ro, e);
}

/* ---- all ---- */

int
pipeline_rig_open(struct pipeline_rig *g, const struct pipeline_rig_opts *o,
    struct err *e)
{
	int r;

	memset(g, 0, sizeof(*g));
	g->is_kept = o->is_kept;
	if ((r = secret_init(e)) != 0 ||
	    (r = http_listener_raise_files(FILES, e)) != 0 ||
	    (r = make_folder(g, o->folder, e)) != 0 ||
	    (r = open_origin(g, o, e)) != 0 ||
	    (r = find_origin(g, e)) != 0 ||
	    (r = open_relay(g, o, e)) != 0)
		return r;
	if ((r = tls_context_new_pinned(&g->pinned, &g->pin, clock_system(),
	    e)) != 0 ||
	    (r = tls_context_new_public(&g->public,
	    g->ca_file[0] != '\0' ? g->ca_file : NULL, e)) != 0)
		return r;
	if ((g->base = load_loop_new()) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an event loop");
	g->way = (struct load_way){ .base = g->base, .tls = g->pinned,
		.route = g->route, .pin = &g->pin, .window = o->window,
		.timeout_ms = REQUEST_MS };
	g->straight.base = g->base;
	g->straight.tls = g->public;
	g->straight.server = &g->origin_at;
	g->straight.timeout_ms = REQUEST_MS;
	return 0;
}

int
pipeline_rig_close(struct pipeline_rig *g, struct err *e)
{
	int r = 0;

	if (g->relay != NULL)
		r = load_relay_stop(g->relay, e);
	load_relay_free(&g->relay);
	origin_child_end(&g->origin);
	exchange_route_free(&g->route);
	tls_context_free(&g->pinned);
	tls_context_free(&g->public);
	if (g->base != NULL)
		event_base_free(g->base);
	g->base = NULL;
	remove_folder(g);
	return r;
}

void
pipeline_rig_usage(const struct pipeline_rig *g, struct pipeline_usage *out)
{
	struct bytes page = BYTES_INIT(PAGE_MAX);
	const char *text;
	unsigned status;

	memset(out, 0, sizeof(*out));
	(void)load_proc_read(getpid(), &out->client);
	(void)load_proc_read(g->origin.pid, &out->origin);
	if (g->relay == NULL)
		return;
	(void)load_proc_read(load_relay_supervisor(g->relay),
	    &out->supervisor);
	out->has_relay = load_proc_read(load_relay_process(g->relay),
	    &out->relay);
	if (load_get(load_relay_metrics(g->relay), "/metrics", &status, &page,
	    NULL) == 0) {
		text = (const char *)page.p;
		out->entries = load_get_number(text,
		    "amber_commit_entries_total", 0);
		out->batches = load_get_number(text,
		    "amber_commit_batches_total", 0);
		out->sync_s = load_get_number(text,
		    "amber_sync_seconds_sum", 0);
		out->syncs = load_get_number(text,
		    "amber_sync_seconds_count", 0);
		out->permits_most = load_get_number(text,
		    "amber_permits_most_in_use", 0);
	}
	bytes_free(&page);
}

double
pipeline_rig_sessions(const struct pipeline_rig *g)
{
	struct bytes page = BYTES_INIT(PAGE_MAX);
	unsigned status;
	double n = -1;

	if (g->relay != NULL && load_get(load_relay_where(g->relay),
	    "/v1/status", &status, &page, NULL) == 0)
		n = load_get_number((const char *)page.p, "sessions", -1);
	bytes_free(&page);
	return n;
}
