/*
 * leaf_cert.c - the template, filled.  No general DER is written here, and
 * none is read.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "transport/leaf_cert.h"

/* Where the parts that vary stand. */
enum {
	AT_TBS = 3,			/* what is signed begins */
	AT_SERIAL = 13,
	SERIAL_LEN = 16,
	AT_BEFORE = 42,			/* UTCTime, 13 characters */
	AT_AFTER = 57,
	TIME_LEN = 13,
	AT_PUB = 84,
	AT_SIG = 181,
	TBS_LEN = 168,
};

#define ZERO16	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define ED25519	0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70	/* RFC 8410 */
#define UTCTIME	0x17, 0x0d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0

static const uint8_t template[LEAF_CERT_LEN] = {
	0x30, 0x81, 0xf2,			/* Certificate */
	0x30, 0x81, 0xa5,			/* TBSCertificate */
	0xa0, 0x03, 0x02, 0x01, 0x02,		/* version 3 */
	0x02, 0x10, ZERO16,			/* serialNumber */
	ED25519,				/* signature */
	0x30, 0x00,				/* issuer: empty */
	0x30, 0x1e, UTCTIME, UTCTIME,		/* validity */
	0x30, 0x00,				/* subject: empty */
	0x30, 0x2a, ED25519, 0x03, 0x21, 0x00, ZERO16, ZERO16,
	0xa3, 0x35, 0x30, 0x33,			/* extensions */
	/* basicConstraints, critical: not a CA */
	0x30, 0x0c, 0x06, 0x03, 0x55, 0x1d, 0x13, 0x01, 0x01, 0xff,
	0x04, 0x02, 0x30, 0x00,
	/* keyUsage, critical: digitalSignature */
	0x30, 0x0e, 0x06, 0x03, 0x55, 0x1d, 0x0f, 0x01, 0x01, 0xff,
	0x04, 0x04, 0x03, 0x02, 0x07, 0x80,
	/* extKeyUsage: serverAuth */
	0x30, 0x13, 0x06, 0x03, 0x55, 0x1d, 0x25, 0x04, 0x0c, 0x30, 0x0a,
	0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01,
	ED25519,				/* signatureAlgorithm */
	0x03, 0x41, 0x00, ZERO16, ZERO16, ZERO16, ZERO16
};

_Static_assert(AT_SIG + IDENTITY_SIG_LEN == LEAF_CERT_LEN,
    "the signature ends the certificate");

/* RFC 5280 section 4.1.2.5.1: UTCTime has two digits for 1950..2049. */
static int
put_time(uint8_t *out, int64_t t, struct err *e)
{
	const time_t at = (time_t)t;
	char text[32];
	struct tm tm;

	if (gmtime_r(&at, &tm) == NULL || tm.tm_year < 50 || tm.tm_year > 149)
		return err_set(e, ERR_ARG,
		    "certificate: date is not in 1950..2049");
	(void)snprintf(text, sizeof(text), "%02d%02d%02d%02d%02d%02dZ",
	    tm.tm_year % 100, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
	    tm.tm_min, tm.tm_sec);
	assert(strlen(text) == TIME_LEN);
	memcpy(out, text, TIME_LEN);
	return 0;
}

int
leaf_cert_make(const struct identity *id,
    const uint8_t pub[LEAF_CERT_PUB_LEN], int64_t now,
    uint8_t out[LEAF_CERT_LEN], struct err *e)
{
	const int64_t before = now - LEAF_CERT_BACK_S;
	uint8_t cert[LEAF_CERT_LEN];
	int r;

	memcpy(cert, template, sizeof(cert));
	if ((r = secret_fill_random(cert + AT_SERIAL, SERIAL_LEN, e)) != 0 ||
	    (r = put_time(cert + AT_BEFORE, before, e)) != 0 ||
	    (r = put_time(cert + AT_AFTER, before + LEAF_CERT_SPAN_S, e)) !=
	    0)
		return r;
	/* positive, and of 16 bytes in its shortest form */
	cert[AT_SERIAL] = (uint8_t)((cert[AT_SERIAL] & 0x3f) | 0x40);
	memcpy(cert + AT_PUB, pub, LEAF_CERT_PUB_LEN);
	if ((r = identity_sign(id, cert + AT_TBS, TBS_LEN, cert + AT_SIG,
	    e)) != 0)
		return r;
	memcpy(out, cert, sizeof(cert));
	return 0;
}
