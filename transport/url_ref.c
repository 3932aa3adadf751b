/*
 * url_ref.c - a reference and its base, part by part.  It decodes and
 * repairs nothing.
 *
 * libevent's evhttp_uri_parse() would split as well, but it refuses bytes
 * that servers send and browsers take ("|", "{"), and joins nothing.
 */
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/url_ref.h"

/* A run of the text; p is NULL if it is not there, which is not empty. */
struct part {
	const char	*p;
	size_t		 n;
};

/* Without what marks them (":", "//", "?", "#"). */
struct parts {
	struct part	scheme, authority, path, query, fragment;
};

static bool
is_scheme(const char *p, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return n > 0 && memchr(letters, p[0], sizeof(letters) - 1) != NULL &&
	    strspn(p, "0123456789+-.abcdefghijklmnopqrstuvwxyz"
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZ") >= n;
}

/* RFC 3986 appendix B. */
static void
split(struct parts *u, const char *at)
{
	size_t n = strcspn(at, ":/?#");

	memset(u, 0, sizeof(*u));
	if (at[n] == ':' && is_scheme(at, n)) {
		u->scheme = (struct part){ at, n };
		at += n + 1;
	}
	if (at[0] == '/' && at[1] == '/') {
		n = strcspn(at + 2, "/?#");
		u->authority = (struct part){ at + 2, n };
		at += 2 + n;
	}
	u->path = (struct part){ at, strcspn(at, "?#") };
	at += u->path.n;
	if (*at == '?') {
		u->query = (struct part){ at + 1, strcspn(at + 1, "#") };
		at += 1 + u->query.n;
	}
	if (*at == '#')
		u->fragment = (struct part){ at + 1, strlen(at + 1) };
}

/* Section 5.2.4, in place.  The length that is left. */
static size_t
take_out_dots(char *p, size_t n)
{
	size_t at = 0, kept = 0, name, end, dots;

	while (at < n) {
		name = at + (p[at] == '/');
		for (end = name; end < n && p[end] != '/'; end++)
			;
		dots = end - name;
		if (dots == 0 || dots > 2 ||
		    memcmp(p + name, "..", dots) != 0) {
			memmove(p + kept, p + at, end - at);
			kept += end - at;
			at = end;
			continue;
		}
		if (name == at) {	/* nothing is above the first */
			at = end + (end < n);
			continue;
		}
		if (dots == 2)
			while (kept > 0 && p[--kept] != '/')
				;
		at = end;
		if (end == n)
			p[kept++] = '/';
	}
	return kept;
}

/* What a reference stands for, before its path is put together. */
struct target {
	struct parts	u;
	struct part	folder;		/* in front of u.path, section 5.2.3 */
	bool		keeps_dots;	/* the base's path, as it is */
};

static void
take_base_path(struct target *t, const struct parts *base)
{
	const char *slash = memrchr(base->path.p, '/', base->path.n);

	if (t->u.path.n == 0) {
		t->u.path = base->path;
		t->keeps_dots = true;
		if (t->u.query.p == NULL)
			t->u.query = base->query;
	} else if (base->authority.p != NULL && base->path.n == 0)
		t->folder = (struct part){ "/", 1 };
	else if (slash != NULL)
		t->folder = (struct part){ base->path.p,
			(size_t)(slash + 1 - base->path.p) };
}

/* Section 5.2.2. */
static void
choose(struct target *t, const struct parts *base, const struct parts *ref)
{
	memset(t, 0, sizeof(*t));
	t->u = *ref;
	if (ref->fragment.p == NULL)
		t->u.fragment = base->fragment;
	if (ref->scheme.p != NULL)
		return;
	t->u.scheme = base->scheme;
	if (ref->authority.p != NULL)
		return;
	t->u.authority = base->authority;
	if (ref->path.n == 0 || ref->path.p[0] != '/')
		take_base_path(t, base);
}

/* mark and part, if the part is there. */
static int
append(struct bytes *out, const char *mark, const struct part *x,
    struct err *e)
{
	int r;

	if (x->p == NULL)
		return 0;
	if ((r = bytes_append_str(out, mark, e)) != 0)
		return r;
	return bytes_append(out, x->p, x->n, e);
}

static int
append_path(struct bytes *out, const struct target *t, struct err *e)
{
	const size_t at = out->len;
	uint8_t *end;
	int r;

	if ((r = append(out, "", &t->folder, e)) != 0 ||
	    (r = append(out, "", &t->u.path, e)) != 0)
		return r;
	if (!t->keeps_dots)
		bytes_truncate(out, at + take_out_dots((char *)out->p + at,
		    out->len - at));
	if (t->u.authority.p != NULL || out->len < at + 2 ||
	    memcmp(out->p + at, "//", 2) != 0)
		return 0;
	if ((r = bytes_reserve(out, 2, &end, e)) != 0)
		return r;
	memmove(out->p + at + 2, out->p + at, (size_t)(end - out->p) - at);
	memcpy(out->p + at, "/.", 2);
	bytes_added(out, 2);
	return 0;
}

int
url_ref_resolve(struct bytes *out, const char *base, const char *ref,
    struct err *e)
{
	const size_t was = out->len;
	struct parts b, x;
	struct target t;
	int r;

	split(&b, base);
	split(&x, ref);
	if (b.scheme.p == NULL)
		return err_set(e, ERR_FORMAT, "URL: it has no scheme, so "
		    "nothing can be relative to it");
	choose(&t, &b, &x);
	if ((r = append(out, "", &t.u.scheme, e)) != 0 ||
	    (r = bytes_append_byte(out, ':', e)) != 0 ||
	    (r = append(out, "//", &t.u.authority, e)) != 0 ||
	    (r = append_path(out, &t, e)) != 0 ||
	    (r = append(out, "?", &t.u.query, e)) != 0 ||
	    (r = append(out, "#", &t.u.fragment, e)) != 0)
		bytes_truncate(out, was);
	return r;
}
