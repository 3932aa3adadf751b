/*
 * pipeline_rig.h - everything real, on this machine: an origin, an amberd,
 * and the ways that clients of this process take to them.
 *
 * Each of the two may be somebody else's instead (relay_url, origin_url);
 * then nothing is known of what they cost.
 */
#ifndef AMBER_LOADTEST_PIPELINE_RIG_H
#define AMBER_LOADTEST_PIPELINE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vkey.h"
#include "loadtest/load_client.h"
#include "loadtest/load_proc.h"
#include "loadtest/origin_child.h"
#include "transport/url.h"

struct err;
struct load_relay;

enum {
	PIPELINE_SETS_MAX = 48,
	PIPELINE_PATH_MAX = 4096,
	PIPELINE_CLIENTS_MAX = 512,
	PIPELINE_PERMITS = 16,		/* of a relay by default */
};

struct pipeline_rig_opts {
	const char	*relay_url, *pin;	/* NULL: amberd is started */
	const char	*relay_ca;		/* roots for an https relay */
	const char	*origin_url;		/* NULL: an origin is started */
	const char	*origin_ca;		/* its roots; NULL: system's */
	const char	*amberd;		/* NULL: beside this program */
	const char	*folder;		/* NULL: TMPDIR, /tmp */
	const char	*sets[PIPELINE_SETS_MAX];	/* for amberd */
	size_t		 nsets;
	unsigned	 window;
	bool		 is_kept;	/* the folder stays */
};

struct pipeline_rig {
	struct event_base	*base;
	char			 folder[PIPELINE_PATH_MAX];
	char			 ca_file[PIPELINE_PATH_MAX + 16];
	char			 origin_url[URL_AUTHORITY_MAX + 1024];
	struct url		 origin_at;	/* points into origin_url */
	struct origin_child	 origin;
	struct load_relay	*relay;		/* NULL: somebody else's */
	struct exchange_route	*route;
	struct tls_context	*pinned, *public;
	struct vkey		 pin;
	struct load_way		 way;		/* through the relay */
	struct load_way		 straight;	/* to the origin */
	bool			 is_kept, has_own_origin;
};

/* Fills g; pipeline_rig_close() also after a failure. */
int	pipeline_rig_open(struct pipeline_rig *g,
	const struct pipeline_rig_opts *o, struct err *e);
/* ERR_PEER: amberd did not end in order; everything is closed all the
 * same. */
int	pipeline_rig_close(struct pipeline_rig *g, struct err *e);

/* What everybody has used up so far; zero for what is not ours. */
struct pipeline_usage {
	struct load_proc relay, supervisor, origin, client;
	double		 entries, batches;	/* of the log's committer */
	double		 sync_s, syncs;
	double		 permits_most;
	double		 refused;
	bool		 has_relay;
};
void	pipeline_rig_usage(const struct pipeline_rig *g,
	struct pipeline_usage *out);
/* Sessions that the relay has now; -1: unknown. */
double	pipeline_rig_sessions(const struct pipeline_rig *g);

#endif
