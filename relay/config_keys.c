/*
 * config_keys.c - amberd's keys, their ranges, defaults and meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "relay/config.h"
#include "relay/config_keys.h"

#define AT(field)	offsetof(struct config, field)
#define KIB		UINT64_C(1024)
#define MIB		(1024 * KIB)
#define GIB		(1024 * MIB)
#define SECOND		UINT64_C(1000)
#define HOUR		(3600 * SECOND)
#define DAY		(24 * HOUR)

static const struct config_key keys[] = {
	{ "profile", CONFIG_WORD, AT(profile), false, 0, 0,
	    "demo production", "demo", "production",
	    "Chooses the defaults of all other keys." },
	{ "origin", CONFIG_TEXT, AT(origin), false, 0, 0, NULL,
	    "amber.demo", "",
	    "The relay's name: 1..128 of [a-z0-9./-], beginning with a letter;"
	    " must be that of the identity." },
	{ "identity", CONFIG_TEXT, AT(identity), false, 0, 0, NULL,
	    "amber-data/identity", "/etc/amber/identity",
	    "File of the Ed25519 identity (mode 0600)." },
	{ "archive", CONFIG_TEXT, AT(archive), false, 0, 0, NULL,
	    "amber-data/archive", "/var/lib/amber/archive",
	    "Folder of the archive." },
	{ "sync_each", CONFIG_FLAG, AT(sync_each), false, 0, 0, NULL, "no",
	    NULL, "A sync for each record, instead of one for all that wait." },
	{ "user", CONFIG_TEXT, AT(user), false, 0, 0, NULL, "", "amber",
	    "User that the processes become when started as root; empty:"
	    " none." },
	{ "timelock", CONFIG_TEXT, AT(timelock), false, 0, 0, NULL, "", NULL,
	    "The amber-timelock program; empty: the one beside amberd." },

	{ "listen", CONFIG_LIST, AT(listen), false, 0, 0, NULL,
	    "127.0.0.1:8440", NULL,
	    "Address and port for outer exchanges." },
	{ "direct_listen", CONFIG_LIST, AT(direct_listen), false, 0, 0, NULL,
	    "", NULL,
	    "Address and port for inner TLS without outer exchanges." },
	{ "metrics_listen", CONFIG_TEXT, AT(metrics_listen), false, 0, 0, NULL,
	    "127.0.0.1:9440", NULL,
	    "Loopback address and port of the metrics; empty: none." },
	{ "connections", CONFIG_COUNT, AT(connections), false, 16, 1000000,
	    NULL, "10000", NULL, "Outer connections at once." },
	{ "sessions", CONFIG_COUNT, AT(sessions), true, 1, 65536, NULL,
	    "128", NULL, "Sessions at once." },
	{ "poll", CONFIG_MS, AT(poll_ms), true, 0, 25 * SECOND, NULL,
	    "25s", NULL, "The longest that an exchange waits for bytes." },

	{ "permits", CONFIG_COUNT, AT(permits), true, 1, 1024, NULL,
	    "16", NULL, "Operations (fetch, seal and commit) at once." },
	{ "request_body", CONFIG_SIZE, AT(request_body), true, 0, 64 * MIB,
	    NULL, "1MiB", NULL, "A request's body; beyond it 413." },
	{ "request_memory", CONFIG_SIZE, AT(request_memory), true, 0, GIB,
	    NULL, "64MiB", NULL, "All request bodies; beyond it 503." },
	{ "response_body", CONFIG_SIZE, AT(response_body), true, KIB,
	    32 * MIB, NULL, "10MiB", NULL,
	    "An answer's body; beyond it 502, captured as truncated." },
	{ "response_memory", CONFIG_SIZE, AT(response_memory), true, MIB,
	    64 * GIB, NULL, "512MiB", NULL,
	    "All answers that wait for their readers; beyond it 503." },
	{ "head", CONFIG_SIZE, AT(head), true, KIB, MIB, NULL, "64KiB", NULL,
	    "A header section, either way." },
	{ "fields", CONFIG_COUNT, AT(fields), true, 1, 1024, NULL, "128",
	    NULL, "Header fields, either way." },
	{ "slow_rate", CONFIG_SIZE, AT(slow_rate), true, 0, MIB, NULL,
	    "16KiB", NULL,
	    "Bytes a second that a reader must take on average." },
	{ "slow_after", CONFIG_MS, AT(slow_after_ms), true, SECOND, HOUR,
	    NULL, "60s", NULL, "From when on slow_rate is asked for." },

	{ "fetch", CONFIG_MS, AT(fetch_ms), true, SECOND, 300 * SECOND, NULL,
	    "30s", NULL, "The whole upstream operation; beyond it 504." },
	{ "publish", CONFIG_MS, AT(publish_ms), true, SECOND, 300 * SECOND,
	    NULL, "30s", NULL,
	    "Sealing and commit; beyond it 500, the answer withheld." },
	{ "dns", CONFIG_MS, AT(dns_ms), true, 100, 60 * SECOND, NULL, "5s",
	    NULL, "Name resolution." },
	{ "idle_connections", CONFIG_COUNT, AT(idle_connections), true, 0,
	    4096, NULL, "64", NULL,
	    "Upstream connections kept, each for its own session." },
	{ "idle", CONFIG_MS, AT(idle_ms), true, 0, HOUR, NULL, "30s", NULL,
	    "How long such a connection is kept." },
	{ "allowed_ports", CONFIG_LIST, AT(allowed_ports), true, 0, 0, NULL,
	    "443", NULL, "A port that may be dialled." },
	{ "allow", CONFIG_LIST, AT(allow), true, 0, 0, NULL, "", NULL,
	    "A prefix that may be dialled whatever the rules say." },
	{ "deny", CONFIG_LIST, AT(deny), true, 0, 0, NULL,
	    "168.63.129.16/32", NULL,
	    "A prefix that is not dialled, besides the IANA registries." },
	{ "own_address", CONFIG_LIST, AT(own_address), true, 0, 0, NULL, "",
	    NULL, "An address under which this relay is reached, besides those "
	    "of its machine." },
	{ "dns_servers", CONFIG_LIST, AT(dns_servers), false, 0, 0, NULL, "",
	    NULL, "A server, address[:port]; none: those of the system." },
	{ "ca_file", CONFIG_TEXT, AT(ca_file), false, 0, 0, NULL, "", NULL,
	    "PEM file of the roots for upstream; empty: the system's." },
	{ "redact", CONFIG_LIST, AT(redact), true, 0, 0, NULL,
	    "Authorization Cookie Set-Cookie", NULL,
	    "A field whose values are not captured." },
	{ "token_file", CONFIG_TEXT, AT(token_file), true, 0, 0, NULL, "",
	    NULL, "Names and token hashes of who may fetch; empty: all." },

	{ "mode", CONFIG_WORD, AT(mode), false, 0, 0, "light full", "light",
	    "full", "Memory of puzzle generation: 256 MiB or 2.3 GiB." },
	{ "algorithm", CONFIG_TEXT, AT(algorithm), false, 0, 0, NULL, "",
	    NULL, "rx/0 or rx/2; empty: the newest that the library has." },
	{ "epoch", CONFIG_MS, AT(epoch_ms), false, SECOND, 366 * DAY,
	    NULL, "1h", "24h", "Length of an epoch." },
	{ "min_sealed", CONFIG_MS, AT(min_sealed_ms), false, 0, 3660 * DAY,
	    NULL, "24h", NULL,
	    "How long the last record of an epoch must stay closed." },
	{ "segments", CONFIG_COUNT, AT(segments), false, 1, 1024, NULL, "8",
	    "96", "Segments of a puzzle." },
	{ "steps", CONFIG_COUNT, AT(steps), false, 1, UINT64_C(1) << 40, NULL,
	    "32", "4843750", "Hashes of a segment." },
	{ "milestone", CONFIG_COUNT, AT(milestone), false, 0,
	    UINT64_C(1) << 40, NULL, "0", NULL,
	    "Hashes between public tags; 0: chosen from steps." },
	{ "workers", CONFIG_COUNT, AT(workers), false, 0, 1024, NULL, "0",
	    NULL, "Worker processes; 0: one a CPU." },
	{ "first_cpu", CONFIG_COUNT, AT(first_cpu), false, 0, 1023, NULL, "0",
	    NULL, "The first CPU that workers are pinned to." },

	{ "log_level", CONFIG_WORD, AT(log_level), true, 0, 0,
	    "error warn info debug", "info", NULL, "What is logged." },
	{ "log_json", CONFIG_FLAG, AT(log_json), false, 0, 0, NULL, "no",
	    "yes", "Log lines as JSON objects." },
	{ "confine", CONFIG_WORD, AT(confine), false, 0, 0, "kill log",
	    "kill", NULL,
	    "A system call outside a process's list: end it, or only log." },
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]), NAME_MAX_LEN = 32 };

const struct config_key *
config_keys(size_t *n)
{
	*n = KEYS;
	return keys;
}

const struct config_key *
config_keys_find(const char *name)
{
	size_t i;

	for (i = 0; i < KEYS; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

/* Levenshtein's distance; NAME_MAX_LEN for names too long to be a slip. */
static size_t
edits(const char *a, const char *b)
{
	size_t row[NAME_MAX_LEN + 1], i, j, la = strlen(a), lb = strlen(b);
	size_t diagonal, above;

	if (la > NAME_MAX_LEN || lb > NAME_MAX_LEN)
		return NAME_MAX_LEN;
	for (j = 0; j <= lb; j++)
		row[j] = j;
	for (i = 1; i <= la; i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= lb; j++) {
			above = row[j];
			row[j] = diagonal + (a[i - 1] != b[j - 1]);
			if (above + 1 < row[j])
				row[j] = above + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			diagonal = above;
		}
	}
	return row[lb];
}

const char *
config_keys_nearest(const char *name)
{
	const char *best = NULL;
	size_t i, d, least = strlen(name) / 2 + 1;

	for (i = 0; i < KEYS; i++)
		if ((d = edits(name, keys[i].name)) < least) {
			least = d;
			best = keys[i].name;
		}
	return best;
}
