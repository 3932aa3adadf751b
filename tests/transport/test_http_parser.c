/*
 * test_http_parser.c - each row at once, byte by byte, and cut in two at
 * every byte: the outcome is the same text.
 */
#include <string.h>

#include "tests/test_util.h"
#include "tests/transport/http_row.h"
#include "transport/http_parser.h"

static const struct http_row responses[] = {
	{ "length, bytes left over", 0,
	    R11 "Content-Length: 5 \r\nA:\t b \t\r\nE:\r\n\r\nhelloXX",
	    "200 'OK' 1.1 length(5)[Content-Length=5;A=b;E=]raw=52 "
	    "keep 'hello' left=2" },
	{ "length 0", 0, R11 "Content-Length: 0\r\n\r\n",
	    "200 'OK' 1.1 length(0)[Content-Length=0]raw=38 keep '' left=0" },
	{ "chunked, extension, trailer", 0,
	    R11 CHUNKED "\r\n5;a=\"b;\"\r\nhello\r\n1\r\n!\r\n"
	    "0;z\r\nT: v\r\n\r\nX",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 "
	    "keep 'hello!' trailers[T=v]raw=8 left=1" },
	{ "chunked in capitals", 0,
	    R11 "TRANSFER-encoding:  ChunKed \r\n\r\n0\r\n\r\n",
	    "200 'OK' 1.1 chunked[TRANSFER-encoding=ChunKed]raw=49 "
	    "keep '' trailers[]raw=2 left=0" },
	{ "until close", 0, R11 "\r\nhello",
	    "200 'OK' 1.1 close[]raw=19 end 'hello' left=0" },
	{ "until close, not yet closed", NOEOF, R11 "\r\nhello",
	    "200 'OK' 1.1 close[]raw=19 more 'hello'" },
	{ "no reason", 0, "HTTP/1.0 200\r\nContent-Length: 1\r\n\r\nx",
	    "200 '' 1.0 length(1)[Content-Length=1]raw=35 end 'x' left=0" },
	{ "empty reason", 0, R11 "\r\n", "200 'OK' 1.1 close[]raw=19 "
	    "end '' left=0" },
	{ "blank reason", 0, "HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n",
	    "999 '' 1.1 length(0)[Content-Length=0]raw=36 keep '' left=0" },
	{ "1.0 with keep-alive", 0, "HTTP/1.0 200 OK\r\n"
	    "Connection: a, Keep-Alive\r\nContent-Length: 0\r\n\r\n",
	    "200 'OK' 1.0 length(0)[Connection=a, Keep-Alive;"
	    "Content-Length=0]raw=65 keep '' left=0" },
	{ "connection: close", 0, R11 "connection: x ,\tCLOSE\r\n"
	    "Content-Length: 1\r\n\r\nabc",
	    "200 'OK' 1.1 length(1)[connection=x ,\tCLOSE;"
	    "Content-Length=1]raw=61 end 'a' left=2" },
	/* bodies that are not there */
	{ "HEAD with a length", HEAD, R11 "Content-Length: 99\r\n\r\nX",
	    "200 'OK' 1.1 none(99)[Content-Length=99]raw=39 keep '' left=1" },
	{ "HEAD, chunked", HEAD, R11 CHUNKED "\r\n5\r\n",
	    "200 'OK' 1.1 none[Transfer-Encoding=chunked]raw=47 keep '' "
	    "left=3" },
	{ "204 with a length", 0,
	    "HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\nhello",
	    "204 'N' 1.1 none(5)[Content-Length=5]raw=37 keep '' left=5" },
	{ "304 with a length", 0,
	    "HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n",
	    "304 'N' 1.1 none(5)[Content-Length=5]raw=37 keep '' left=0" },
	{ "304, chunked", 0, "HTTP/1.1 304 N\r\n" CHUNKED "\r\n",
	    "304 'N' 1.1 none[Transfer-Encoding=chunked]raw=46 keep '' "
	    "left=0" },
	/* interim */
	{ "103 before 200", 0, "HTTP/1.1 103 E\r\nLink: a\r\n\r\n"
	    R11 "Content-Length: 2\r\n\r\nab",
	    "103 'E' 1.1 none[Link=a]raw=27 "
	    "200 'OK' 1.1 length(2)[Content-Length=2]raw=38 keep 'ab' left=0" },
	{ "five interims", 0, "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n"
	    "HTTP/1.1 102 C\r\n\r\nHTTP/1.1 199 C\r\n\r\n"
	    "HTTP/1.1 103 C\r\nContent-Length: 3\r\n\r\n"
	    "HTTP/1.1 204 N\r\n\r\n",
	    "100 'C' 1.1 none[]raw=18 100 'C' 1.1 none[]raw=18 "
	    "102 'C' 1.1 none[]raw=18 199 'C' 1.1 none[]raw=18 "
	    "103 'C' 1.1 none(3)[Content-Length=3]raw=37 "
	    "204 'N' 1.1 none[]raw=18 keep '' left=0" },
	{ "six interims", 0, "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n"
	    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n"
	    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n",
	    "100 'C' 1.1 none[]raw=18 100 'C' 1.1 none[]raw=18 "
	    "100 'C' 1.1 none[]raw=18 100 'C' 1.1 none[]raw=18 "
	    "100 'C' 1.1 none[]raw=18 '' too many interim responses" },
	{ "101", 0, "HTTP/1.1 101 S\r\nConnection: upgrade\r\n"
	    "Upgrade: x\r\n\r\nzz", "'' switched protocols" },
	{ "ends after an interim", 0, "HTTP/1.1 100 C\r\n\r\n",
	    "100 'C' 1.1 none[]raw=18 '' ended too early" },
	{ "upgrade offered with 200", 0, R11 "Connection: upgrade\r\n"
	    "Upgrade: h2c\r\nContent-Length: 1\r\n\r\na",
	    "200 'OK' 1.1 length(1)[Connection=upgrade;Upgrade=h2c;"
	    "Content-Length=1]raw=73 keep 'a' left=0" },
	/* smuggling */
	{ "two lengths, differing", 0,
	    R11 "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
	    "'' malformed or repeated Content-Length" },
	{ "two lengths, equal", 0,
	    R11 "Content-Length: 5\r\nX: y\r\nContent-Length: 5\r\n\r\nhello",
	    "'' malformed or repeated Content-Length" },
	{ "list of lengths", 0, R11 "Content-Length: 5, 5\r\n\r\nhello",
	    "'' malformed or repeated Content-Length" },
	{ "signed length", 0, R11 "Content-Length: +5\r\n\r\nhello",
	    "'' malformed or repeated Content-Length" },
	{ "negative length", 0, R11 "Content-Length: -5\r\n\r\nhello",
	    "'' malformed or repeated Content-Length" },
	{ "hexadecimal length", 0, R11 "Content-Length: 0x5\r\n\r\nhello",
	    "'' malformed or repeated Content-Length" },
	{ "blank inside a length", 0, R11 "Content-Length: 5 5\r\n\r\nhello",
	    "'' malformed or repeated Content-Length" },
	{ "empty length", 0, R11 "Content-Length:\r\n\r\n",
	    "'' malformed or repeated Content-Length" },
	{ "length over 2^64", 0,
	    R11 "Content-Length: 18446744073709551616\r\n\r\n",
	    "'' malformed or repeated Content-Length" },
	{ "two lengths in answer to HEAD", HEAD,
	    R11 "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
	    "'' malformed or repeated Content-Length" },
	{ "length, then coding", 0, R11 "Content-Length: 5\r\n" CHUNKED "\r\n",
	    "'' length that contradicts itself" },
	{ "coding, then length", 0, R11 CHUNKED "Content-Length: 5\r\n\r\n",
	    "'' length that contradicts itself" },
	{ "gzip, chunked", 0,
	    R11 "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "chunked, chunked", 0,
	    R11 "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "chunked twice", 0, R11 CHUNKED CHUNKED "\r\n0\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "chunked, identity", 0,
	    R11 "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "gzip", 0, R11 "Transfer-Encoding: gzip\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "identity", 0, R11 "Transfer-Encoding: identity\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "xchunked", 0, R11 "Transfer-Encoding: xchunked\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "chunked with a parameter", 0,
	    R11 "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "empty coding", 0, R11 "Transfer-Encoding:\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "chunked in 1.0", 0, "HTTP/1.0 200 OK\r\n" CHUNKED "\r\n0\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	/* cut short */
	{ "nothing at all", 0, "", "more ''" },
	{ "cut in the start line", 0, "HTTP/1.1 200", "'' ended too early" },
	{ "cut in the head", 0, R11 "A: b\r\n", "'' ended too early" },
	{ "cut in the body", 0, R11 "Content-Length: 5\r\n\r\nhell",
	    "200 'OK' 1.1 length(5)[Content-Length=5]raw=38 'hell' "
	    "ended too early" },
	{ "cut after a chunk", 0, R11 CHUNKED "\r\n5\r\nhello\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 'hello' "
	    "ended too early" },
	{ "cut in a chunk", 0, R11 CHUNKED "\r\n5\r\nhel",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 'hel' "
	    "ended too early" },
	{ "cut before the last empty line", 0, R11 CHUNKED "\r\n0\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "ended too early" },
	{ "cut in the trailers", 0, R11 CHUNKED "\r\n0\r\nA: b\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "ended too early" },
	/* chunks */
	{ "chunk of 2^64 - 15", 0, R11 CHUNKED "\r\nfffffffffffffff1\r\nx",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "body too large" },
	{ "chunk over 2^64", 0, R11 CHUNKED "\r\n1fffffffffffffff1\r\nx",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed chunk" },
	{ "blank before a size", 0, R11 CHUNKED "\r\n 5\r\nhello",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed chunk" },
	{ "blank behind a size", 0, R11 CHUNKED "\r\n5 \r\nhello",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed chunk" },
	{ "size 0x5", 0, R11 CHUNKED "\r\n0x5\r\nhello",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed chunk" },
	{ "size with a sign", 0, R11 CHUNKED "\r\n-5\r\nhello",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed chunk" },
	{ "bare LF behind a size", 0, R11 CHUNKED "\r\n5\nhello",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed chunk" },
	{ "chunk longer than said", 0, R11 CHUNKED "\r\n5\r\nhelloX\r\n0\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 'hello' "
	    "malformed chunk" },
	{ "bare LF behind a chunk", 0, R11 CHUNKED "\r\n5\r\nhello\n0\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 'hello' "
	    "malformed chunk" },
	{ "length in a trailer", 0,
	    R11 CHUNKED "\r\n0\r\nContent-Length: 5\r\n\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed field" },
	{ "coding in a trailer", 0,
	    R11 CHUNKED "\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed field" },
	{ "bad trailer", 0, R11 CHUNKED "\r\n0\r\nA b: c\r\n\r\n",
	    "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	    "malformed field" },
	/* not HTTP */
	{ "HTTP/0.9", 0, "<html>hello", "'' malformed start line" },
	{ "a letter's difference", 0, "HTTQ/1.1 200 OK\r\n\r\n",
	    "'' malformed start line" },
	{ "HTTP/2.0", 0, "HTTP/2.0 200 OK\r\n\r\n",
	    "'' version other than 1.0 or 1.1" },
	{ "HTTP/1.2", 0, "HTTP/1.2 200 OK\r\n\r\n",
	    "'' version other than 1.0 or 1.1" },
	{ "RTSP", 0, "RTSP/1.0 200 OK\r\n\r\n", "'' malformed start line" },
	{ "SSH speaks first", 0, "SSH-2.0-OpenSSH_9.2\r\n",
	    "'' malformed start line" },
	{ "SMTP speaks first", 0, "220 mail ESMTP\r\n",
	    "'' malformed start line" },
	{ "a TLS alert", 0, "\x15\x03\x01", "'' malformed start line" },
	{ "empty line first", 0, "\r\n" R11 "\r\n",
	    "'' malformed start line" },
	{ "status 99", 0, "HTTP/1.1 099 X\r\n\r\n", "'' malformed start line" },
	{ "status 1000", 0, "HTTP/1.1 1000 X\r\n\r\n",
	    "'' malformed start line" },
	{ "bare LF in the start line", 0, "HTTP/1.1 200 OK\n\n",
	    "'' malformed start line" },
	{ "control in the reason", 0, "HTTP/1.1 200 O\x01K\r\n\r\n",
	    "'' malformed start line" },
	/* fields */
	{ "blank before the colon", 0, R11 "A : b\r\n\r\n",
	    "'' malformed field" },
	{ "empty name", 0, R11 ": b\r\n\r\n", "'' malformed field" },
	{ "no colon", 0, R11 "hello\r\n\r\n", "'' malformed field" },
	{ "folded", 0, R11 "A: b\r\n c\r\n\r\n", "'' malformed field" },
	{ "folded by a tab", 0, R11 "A: b\r\n\tc\r\n\r\n",
	    "'' malformed field" },
	{ "blank first", 0, R11 " A: b\r\n\r\n", "'' malformed field" },
	{ "bare LF", 0, R11 "A: b\nB: c\r\n\r\n", "'' malformed field" },
	{ "bare CR", 0, R11 "A: b\rB: c\r\n\r\n", "'' malformed field" },
	{ "bare LF ends the head", 0, R11 "A: b\r\n\nxx",
	    "'' malformed field" },
	{ "control in a value", 0, R11 "A: b\x01\r\n\r\n",
	    "'' malformed field" },
	{ "control in Connection", 0, R11 "Connection: clo\x01se\r\n\r\n",
	    "'' malformed field" },
	{ "control in Upgrade", 0, R11 "Upgrade: \x02\r\n\r\n",
	    "'' malformed field" },
	{ "control in a coding", 0,
	    R11 "Transfer-Encoding: chunked\x03\r\n\r\n",
	    "'' malformed field" },
	{ "delete in a value", 0, R11 "A: b\x7f\r\n\r\n",
	    "'' malformed field" },
	{ "Latin-1 in a value", 0, R11 "A: \xe9\r\nContent-Length: 0\r\n\r\n",
	    "200 'OK' 1.1 length(0)[A=\xe9;Content-Length=0]raw=44 keep '' "
	    "left=0" },
	{ "Latin-1 in a name", 0, R11 "\xe9: a\r\n\r\n", "'' malformed field" },
};

static const struct http_row requests[] = {
	{ "absolute form", REQ, "GET https://e.x/p?q HTTP/1.1\r\nHost: e.x\r\n"
	    "\r\nGET",
	    "GET 'https://e.x/p?q' 1.1 none[Host=e.x]raw=43 keep '' left=3" },
	{ "empty lines before", REQ, "\r\n\r\nGET / HTTP/1.0\r\n\r\n",
	    "GET '/' 1.0 none[]raw=18 end '' left=0" },
	{ "asterisk", REQ, "OPTIONS * HTTP/1.1\r\n\r\n",
	    "OPTIONS '*' 1.1 none[]raw=22 keep '' left=0" },
	{ "length", REQ, "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcd",
	    "POST '/' 1.1 length(3)[Content-Length=3]raw=38 keep 'abc' "
	    "left=1" },
	{ "chunked", REQ,
	    "PUT / HTTP/1.1\r\n" CHUNKED "\r\n1\r\na\r\n0\r\n\r\n",
	    "PUT '/' 1.1 chunked[Transfer-Encoding=chunked]raw=46 keep 'a' "
	    "trailers[]raw=2 left=0" },
	{ "GET with a body", REQ,
	    "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\na",
	    "GET '/' 1.1 length(1)[Content-Length=1]raw=37 keep 'a' left=0" },
	{ "expectation", REQ, "PATCH / HTTP/1.1\r\nExpect: 100-continue\r\n"
	    "Content-Length: 0\r\n\r\n",
	    "PATCH '/' 1.1 length(0)[Expect=100-continue;Content-Length=0]"
	    "raw=61 keep '' left=0" },
	{ "upgrade is not followed", REQ, "GET / HTTP/1.1\r\n"
	    "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\nabc",
	    "GET '/' 1.1 none[Connection=Upgrade;Upgrade=h2c]raw=53 keep '' "
	    "left=3" },
	{ "upgrade with a body", REQ, "POST / HTTP/1.1\r\n"
	    "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n"
	    "abc",
	    "POST '/' 1.1 length(2)[Connection=Upgrade;Upgrade=h2c;"
	    "Content-Length=2]raw=73 keep 'ab' left=1" },
	{ "upgrade, chunked", REQ, "POST / HTTP/1.1\r\n"
	    "Connection: Upgrade\r\nUpgrade: h2c\r\n" CHUNKED "\r\n"
	    "1\r\na\r\n0\r\n\r\nabc",
	    "POST '/' 1.1 chunked[Connection=Upgrade;Upgrade=h2c;"
	    "Transfer-Encoding=chunked]raw=82 keep 'a' trailers[]raw=2 "
	    "left=3" },
	{ "CONNECT", REQ, "CONNECT e.x:443 HTTP/1.1\r\nHost: e.x:443\r\n\r\n"
	    "\x16\x03\x01",
	    "CONNECT 'e.x:443' 1.1 none[Host=e.x:443]raw=43 keep '' left=3" },
	{ "CONNECT with a body", REQ, "CONNECT e.x:443 HTTP/1.1\r\n"
	    "Content-Length: 3\r\n\r\nabc",
	    "'' length that contradicts itself" },
	{ "CONNECT, chunked", REQ, "CONNECT e.x:443 HTTP/1.1\r\n" CHUNKED
	    "\r\n", "'' length that contradicts itself" },
	{ "ends before anything", REQ, "", "more ''" },
	{ "ends in an empty line", REQ, "\r\n", "'' ended too early" },
	{ "half a line", REQ, "GET / HT", "'' ended too early" },
	{ "gzip, chunked", REQ,
	    "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
	    "'' Transfer-Encoding other than one chunked" },
	{ "coding and length", REQ,
	    "POST / HTTP/1.1\r\n" CHUNKED "Content-Length: 1\r\n\r\n",
	    "'' length that contradicts itself" },
	{ "HTTP/2 preface", REQ, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	    "'' version other than 1.0 or 1.1" },
	{ "unknown method", REQ, "FOO / HTTP/1.1\r\n\r\n",
	    "'' unknown method" },
	{ "method in small letters", REQ, "get / HTTP/1.1\r\n\r\n",
	    "'' unknown method" },
	{ "RTSP method", REQ, "SETUP / HTTP/1.1\r\n\r\n",
	    "'' unknown method" },
	{ "RTSP version", REQ, "OPTIONS * RTSP/1.0\r\n\r\n",
	    "'' malformed start line" },
	{ "ICE version", REQ, "SOURCE / ICE/1.0\r\n\r\n",
	    "'' malformed start line" },
	{ "no version", REQ, "GET /\r\n\r\n",
	    "'' version other than 1.0 or 1.1" },
	{ "HTTP/2.0", REQ, "GET / HTTP/2.0\r\n\r\n",
	    "'' version other than 1.0 or 1.1" },
	{ "HTTP/1.10", REQ, "GET / HTTP/1.10\r\n\r\n",
	    "'' version other than 1.0 or 1.1" },
	{ "foreign version", REQ, "POST / FOO/1.1\r\n\r\n",
	    "'' malformed start line" },
	{ "two blanks", REQ, "GET  / HTTP/1.1\r\n\r\n",
	    "'' malformed start line" },
	{ "two blanks behind", REQ, "GET /  HTTP/1.1\r\n\r\n",
	    "'' malformed start line" },
	{ "tab", REQ, "GET\t/ HTTP/1.1\r\n\r\n", "'' unknown method" },
	{ "bare LF before", REQ, "\nGET / HTTP/1.1\r\n\r\n",
	    "'' malformed start line" },
	{ "bare CR before", REQ, "\rGET / HTTP/1.1\r\n\r\n",
	    "'' malformed start line" },
	{ "TLS ClientHello", REQ, "\x16\x03\x01\x02",
	    "'' malformed start line" },
	{ "control in the target", REQ, "GET /\x01 HTTP/1.1\r\n\r\n",
	    "'' malformed start line" },
};

static void
test_responses(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(responses); i++)
		http_row_check(&responses[i], NULL);
}

static void
test_requests(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(requests); i++)
		http_row_check(&requests[i], NULL);
}

/* Messages behind one another on a connection, one buffer. */
static void
test_pipeline(void **state)
{
	const char in[] =
	    "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nxy"
	    "\r\nGET /b HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: z\r\n\r\n"
	    "CONNECT c.d:1 HTTP/1.1\r\n\r\nGET /e HTTP/1.1\r\n\r\n";
	static const char *const targets[] = { "/a", "/b", "c.d:1", "/e" };
	struct http_limits limits;
	const struct http_message *m;
	struct http_parser *p;
	enum http_event ev;
	size_t at = 0, used, done = 0;

	(void)state;
	http_limits_init(&limits);
	assert_int_equal(http_parser_new(&p, HTTP_REQUESTS, &limits, NULL,
			     NULL),
	    0);
	assert_false(http_parser_is_begun(p));
	m = http_parser_message(p);
	while (done < TEST_COUNT(targets)) {
		assert_int_equal(http_parser_feed(p, in + at,
				     sizeof(in) - 1 - at, &used, &ev, NULL),
		    0);
		at += used;
		assert_int_not_equal(ev, HTTP_EV_MORE);
		if (ev != HTTP_EV_DONE)
			continue;
		assert_true(http_parser_is_begun(p));
		assert_int_equal(m->target_len, strlen(targets[done]));
		assert_memory_equal(m->target, targets[done], m->target_len);
		http_parser_next(p, false);
		done++;
	}
	assert_int_equal(at, sizeof(in) - 1);
	assert_false(http_parser_is_begun(p));
	assert_int_equal(http_parser_eof(p, &ev, NULL), 0);
	assert_int_equal(ev, HTTP_EV_MORE);
	http_parser_free(&p);
}

static void
test_raw(void **state)
{
	const char in[] = "\r\n\r\nPOST / HTTP/1.1\r\n" CHUNKED "\r\n"
			  "0\r\nA:  b \r\n\r\n";
	struct http_limits limits;
	const struct http_message *m;
	struct http_parser *p;
	enum http_event ev;
	size_t used;

	(void)state;
	http_limits_init(&limits);
	assert_int_equal(http_parser_new(&p, HTTP_REQUESTS, &limits, NULL,
			     NULL),
	    0);
	assert_int_equal(http_parser_feed(p, in, sizeof(in) - 1, &used, &ev,
			     NULL),
	    0);
	assert_int_equal(ev, HTTP_EV_HEAD);
	assert_int_equal(http_parser_feed(p, in + used, sizeof(in) - 1 - used,
			     &used, &ev, NULL),
	    0);
	assert_int_equal(ev, HTTP_EV_DONE);
	m = http_parser_message(p);
	assert_int_equal(m->raw_len, 47);
	assert_memory_equal(m->raw, in + 4, 47);
	assert_int_equal(m->raw_trailers_len, 10);
	assert_memory_equal(m->raw_trailers, "A:  b \r\n\r\n", 10);
	http_parser_free(&p);
}

/* Every fault has its words, a token of RFC 9209 and a status. */
static void
test_faults(void **state)
{
	int f, g;

	(void)state;
	for (f = 0; f < HTTP_FAULTS; f++) {
		assert_non_null(http_fault_name((enum http_fault)f));
		assert_non_null(http_fault_token((enum http_fault)f));
		if (f == HTTP_OK)
			continue;
		assert_true(http_fault_token((enum http_fault)f)[0] != '\0');
		assert_in_range(http_fault_status((enum http_fault)f), 400,
		    599);
		for (g = 0; g < f; g++)
			assert_string_not_equal(http_fault_name(
						    (enum http_fault)f),
			    http_fault_name((enum http_fault)g));
	}
	assert_string_equal(http_fault_token(HTTP_BAD_LENGTH),
	    "http_protocol_error");
	assert_string_equal(http_fault_token(HTTP_BIG_BODY),
	    "http_response_body_size");
	assert_string_equal(http_fault_token(HTTP_INCOMPLETE),
	    "http_response_incomplete");
	assert_int_equal(http_fault_status(HTTP_BIG_HEAD), 431);
	assert_int_equal(http_fault_status(HTTP_BIG_BODY), 413);
	assert_int_equal(http_fault_status(HTTP_BAD_METHOD), 501);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_responses),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
