/*
 * relay_reload.c - the configuration: taken at the start, and taken anew at
 * SIGHUP, whole or not at all.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/log.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "relay/messages.h"
#include "relay/policy.h"
#include "relay/redact.h"
#include "relay/relay_carrier.h"
#include "relay/relay_epochs.h"
#include "relay/relay_life.h"
#include "relay/relay_setup.h"
#include "relay/token_file.h"
#include "relay/upstream.h"
#include "transport/exchange_server.h"

static int
load(struct config **out, const struct message_start *m, struct err *e)
{
	struct config *c;
	int r;

	if ((r = config_new(&c, e)) != 0)
		return r;
	if ((r = config_load_text(c, m->config.p, m->config.n, e)) != 0 ||
	    (r = config_check(c, e)) != 0) {
		config_free(&c);
		return r;
	}
	*out = c;
	return 0;
}

static int
load_tokens(struct token_file **out, const struct message_start *m,
    struct err *e)
{
	*out = NULL;
	if (m->tokens.n == 0)
		return 0;
	return token_file_parse(out, m->tokens.p, m->tokens.n, e);
}

int
relay_life_configure(struct relay_life *l, const struct message_start *m,
    struct err *e)
{
	enum log_level level = LOG_LEVEL_INFO;
	int r;

	if ((r = load(&l->config, m, e)) != 0 ||
	    (r = vkey_parse(&l->vkey, m->vkey.p, m->vkey.n, e)) != 0 ||
	    (r = load_tokens(&l->s.tokens, m, e)) != 0 ||
	    (r = relay_setup_policy(&l->policy, l->config, e)) != 0 ||
	    (r = relay_setup_redact(&l->redact, l->config, e)) != 0 ||
	    (r = log_level_parse(l->config->log_level, &level, e)) != 0)
		return r;
	log_open("relay", level, l->config->log_json);
	l->s.config = l->config;
	l->s.redact = l->redact;
	l->s.vkey = &l->vkey;
	return 0;
}

static void
name_refused(struct bytes *names)
{
	char *line, *rest = NULL;

	if (bytes_terminate(names, NULL) != 0)
		return;
	for (line = strtok_r((char *)names->p, "\n", &rest); line != NULL;
	    line = strtok_r(NULL, "\n", &rest))
		log_warn("reload: %s cannot change while amberd runs", line);
}

/* Everything is made anew before anything is replaced. */
static int
reload(struct relay_life *l, struct config *fresh, struct token_file **tokens,
    struct err *e)
{
	struct bytes refused = BYTES_INIT(4096);
	struct admission_limits al;
	struct relay_direct_limits dl;
	struct exchange_limits xl;
	struct upstream_limits ul;
	struct policy *policy = NULL;
	struct redact *redact = NULL;
	enum log_level level;
	int r;

	if ((r = relay_setup_policy(&policy, fresh, e)) != 0 ||
	    (r = relay_setup_redact(&redact, fresh, e)) != 0 ||
	    (r = log_level_parse(fresh->log_level, &level, e)) != 0)
		goto out;
	relay_setup_admission(&al, fresh);
	if ((r = admission_set_limits(l->s.admission, &al, e)) != 0 ||
	    (r = config_reload(l->config, fresh, &refused, e)) != 0)
		goto out;
	relay_setup_upstream(&ul, l->config);
	upstream_set_policy(l->s.upstream, policy);
	upstream_set_limits(l->s.upstream, &ul);
	relay_epochs_set_lease(l->epochs,
	    l->config->fetch_ms + l->config->publish_ms);
	relay_setup_exchange(&xl, l->config);
	exchange_server_set_limits(l->outer, &xl);
	relay_setup_direct(&dl, l->config);
	relay_direct_set_limits(l->direct, &dl);
	log_set_level(level);
	policy_free(&l->policy);
	redact_free(&l->redact);
	l->policy = policy;
	l->s.redact = l->redact = redact;
	policy = NULL;
	redact = NULL;
	if (*tokens != NULL && l->s.tokens != NULL)
		token_file_keep_uses(*tokens, l->s.tokens);
	token_file_free(&l->s.tokens);
	l->s.tokens = *tokens;
	*tokens = NULL;
	name_refused(&refused);
out:
	policy_free(&policy);
	redact_free(&redact);
	bytes_free(&refused);
	return r;
}

void
relay_life_reload(struct relay_life *l, const struct message_start *m)
{
	struct token_file *tokens = NULL;
	struct config *fresh = NULL;
	struct err e = ERR_INIT;

	if (load(&fresh, m, &e) != 0 || load_tokens(&tokens, m, &e) != 0 ||
	    reload(l, fresh, &tokens, &e) != 0)
		log_err(&e, "reload: nothing is changed");
	else
		log_info("reload: done");
	token_file_free(&tokens);
	config_free(&fresh);
}
