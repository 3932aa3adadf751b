/*
 * origin_ca.c - P-256 keys and X.509 certificates by OpenSSL.
 */
#include <arpa/inet.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "loadtest/origin_ca.h"

enum { DAY = 86400, NAMES_MAX = 4096 };

struct pair {
	EVP_PKEY	*key;
	X509		*cert;
};

struct origin_ca {
	struct pair	root, middle;
};

/* What a certificate is to say. */
struct order {
	const char	*subject;
	const char	*names;		/* subjectAltName in OpenSSL's text */
	bool		 is_ca;
	long		 from_s, to_s;	/* from now */
};

static void
pair_free(struct pair *p)
{
	EVP_PKEY_free(p->key);
	X509_free(p->cert);
	*p = (struct pair){ NULL, NULL };
}

static int
add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;
	int ok;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	if ((ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value)) == NULL)
		return 0;
	ok = X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
	return ok;
}

static int
fill(X509 *cert, const struct order *o, X509 *issuer, EVP_PKEY *key)
{
	static long serial = 1000;
	X509_NAME *name = X509_get_subject_name(cert);

	return X509_set_version(cert, X509_VERSION_3) == 1 &&
	    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial) == 1 &&
	    X509_gmtime_adj(X509_getm_notBefore(cert), o->from_s) != NULL &&
	    X509_gmtime_adj(X509_getm_notAfter(cert), o->to_s) != NULL &&
	    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
		(const unsigned char *)o->subject, -1, -1, 0) == 1 &&
	    X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
	    X509_set_pubkey(cert, key) == 1 &&
	    add_ext(cert, issuer, NID_basic_constraints,
		o->is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE") == 1 &&
	    add_ext(cert, issuer, NID_subject_key_identifier, "hash") == 1 &&
	    (issuer == cert ||
		add_ext(cert, issuer, NID_authority_key_identifier,
		    "keyid:always") == 1) &&
	    (!o->is_ca ||
		add_ext(cert, issuer, NID_key_usage,
		    "critical,keyCertSign,cRLSign") == 1) &&
	    (o->names == NULL ||
		add_ext(cert, issuer, NID_subject_alt_name, o->names) == 1);
}

/* issuer NULL: signed by itself. */
static int
pair_make(struct pair *p, const struct order *o, const struct pair *issuer,
    struct err *e)
{
	p->key = EVP_EC_gen("P-256");
	p->cert = X509_new();
	if (p->key != NULL && p->cert != NULL &&
	    fill(p->cert, o, issuer == NULL ? p->cert : issuer->cert,
		p->key) == 1 &&
	    X509_sign(p->cert, issuer == NULL ? p->key : issuer->key,
		EVP_sha256()) > 0)
		return 0;
	pair_free(p);
	return err_set(e, ERR_CRYPTO, "cannot make a certificate");
}

static int
ca_fill(struct origin_ca *ca, struct err *e)
{
	struct order root = { "Amber Test Root", NULL, true, -DAY, 30 * DAY };
	struct order middle = { "Amber Test Intermediate", NULL, true, -DAY,
		30 * DAY };
	int r;

	if ((r = pair_make(&ca->root, &root, NULL, e)) != 0)
		return r;
	return pair_make(&ca->middle, &middle, &ca->root, e);
}

int
origin_ca_new(struct origin_ca **out, struct err *e)
{
	struct origin_ca *ca;
	int r;

	if ((ca = calloc(1, sizeof(*ca))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a test CA");
	if ((r = ca_fill(ca, e)) != 0) {
		origin_ca_free(&ca);
		return r;
	}
	*out = ca;
	return 0;
}

void
origin_ca_free(struct origin_ca **cp)
{
	if (*cp == NULL)
		return;
	pair_free(&(*cp)->root);
	pair_free(&(*cp)->middle);
	free(*cp);
	*cp = NULL;
}

int
origin_ca_write(const struct origin_ca *ca, const char *path, struct err *e)
{
	FILE *f;
	int ok;

	if ((f = fopen(path, "we")) == NULL)
		return err_sys(e, "%s", path);
	ok = PEM_write_X509(f, ca->root.cert);
	if (fclose(f) != 0 || ok != 1)
		return err_sys(e, "write %s", path);
	return 0;
}

/* "a.b 127.0.0.1" as "DNS:a.b,IP:127.0.0.1". */
static int
alt_names(struct bytes *out, const char *names, struct err *e)
{
	uint8_t addr[16];
	char word[256];
	int used, r;

	for (; sscanf(names, " %255s%n", word, &used) == 1; names += used) {
		r = bytes_printf(out, e, "%s%s:%s", out->len == 0 ? "" : ",",
		    inet_pton(AF_INET, word, addr) == 1 ||
		    inet_pton(AF_INET6, word, addr) == 1 ? "IP" : "DNS",
		    word);
		if (r != 0)
			return r;
	}
	return bytes_terminate(out, e);
}

static int
load(SSL_CTX *ctx, const struct pair *leaf, X509 *middle, struct err *e)
{
	/* The chain's certificate is counted up by "1_". */
	if (SSL_CTX_use_certificate(ctx, leaf->cert) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, leaf->key) != 1 ||
	    (middle != NULL && SSL_CTX_add1_chain_cert(ctx, middle) != 1))
		return err_set(e, ERR_CRYPTO, "cannot load a certificate");
	return 0;
}

int
origin_ca_use(const struct origin_ca *ca, SSL_CTX *ctx,
    enum origin_cert kind, const char *names, struct err *e)
{
	struct order o = { "Amber Test Leaf", NULL, false, -DAY, 7 * DAY };
	struct bytes alt = BYTES_INIT(NAMES_MAX);
	struct pair leaf = { NULL, NULL };
	struct origin_ca *other = NULL;
	const struct pair *issuer = &ca->middle;
	int r;

	if (kind == ORIGIN_CERT_EXPIRED)
		o.to_s = -60;
	if (kind == ORIGIN_CERT_NOT_YET)
		o.from_s = DAY;
	if (kind == ORIGIN_CERT_WRONG_HOST)
		names = "another.example";
	if (kind == ORIGIN_CERT_SELF_SIGNED)
		issuer = NULL;
	if ((r = alt_names(&alt, names, e)) != 0)
		goto out;
	o.names = (const char *)alt.p;
	if (kind == ORIGIN_CERT_UNKNOWN_ROOT) {
		if ((r = origin_ca_new(&other, e)) != 0)
			goto out;
		issuer = &other->middle;
	}
	if ((r = pair_make(&leaf, &o, issuer, e)) == 0)
		r = load(ctx, &leaf,
		    issuer == NULL || kind == ORIGIN_CERT_NO_INTERMEDIATE ?
			NULL :
			issuer->cert,
		    e);
out:
	pair_free(&leaf);
	origin_ca_free(&other);
	bytes_free(&alt);
	return r;
}
