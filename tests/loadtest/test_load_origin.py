#!/usr/bin/python3
"""amber-load origin: what it serves, what it says, how it ends."""
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

LOAD = os.path.join(os.environ["AMBER_BIN"], "amber-load")


def pattern(n):
    return bytes((i % 251) ^ (i // 251 % 241) for i in range(n))


class Origin:
    """A running origin; leaving the block ends it and reads its summary."""

    def __init__(self, *args):
        self.folder = tempfile.TemporaryDirectory()
        self.ca = os.path.join(self.folder.name, "ca.pem")
        self.process = subprocess.Popen(
            [LOAD, "origin", "--json", "--ca-file", self.ca, *args],
            stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.ready = json.loads(self.process.stdout.readline())
        assert self.ready["message_type"] == "ready", self.ready
        self.port = self.ready["port"]
        return self

    def __exit__(self, *why):
        self.process.send_signal(signal.SIGTERM)
        self.summary = json.loads(self.process.stdout.read())
        code = self.process.wait(timeout=60)
        self.folder.cleanup()
        assert code == 0, code
        assert self.summary["message_type"] == "summary", self.summary

    def connect(self, name="127.0.0.1"):
        context = ssl.create_default_context(cafile=self.ca)
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # default since 3.13
        s = socket.create_connection((self.ready["address"], self.port), 60)
        return context.wrap_socket(s, server_hostname=name)

    def get(self, path, conn=None, method="GET"):
        """Everything up to the end, or up to Content-Length."""
        mine = conn or self.connect()
        mine.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        got = b""
        while True:
            head, end, body = got.partition(b"\r\n\r\n")
            if end and (method == "HEAD" or b" 204 " in head):
                break
            if end and b"Content-Length: " in head:
                n = int(head.split(b"Content-Length: ")[1].split(b"\r")[0])
                if len(body) >= n:
                    break
            if end and b"chunked" in head and body.endswith(b"0\r\n\r\n"):
                break
            more = mine.recv(65536)
            if not more:
                break
            got += more
        if conn is None:
            mine.close()
        return head, body


def test_paths():
    with Origin() as o:
        assert o.ready["address"] == "127.0.0.1" and o.port > 0, o.ready
        assert o.ready["url"] == f"https://127.0.0.1:{o.port}", o.ready
        conn = o.connect("localhost")
        head, body = o.get("/ok", conn)
        assert head.startswith(b"HTTP/1.1 200 ") and body == b"hello\n"
        for n in (0, 1, 60490, 60491, 60492, 200000):
            assert o.get(f"/size/{n}", conn)[1] == pattern(n), n
        head, body = o.get("/size/1000", conn, "HEAD")
        assert b"Content-Length: 1000" in head and body == b""
        for n in (0, 5, 65536, 70000):
            body = o.get(f"/chunked/{n}", conn)[1]
            plain = b""
            while body:
                line, _, body = body.partition(b"\r\n")
                plain += body[:int(line, 16)]
                assert body[int(line, 16):][:2] == b"\r\n"
                body = body[int(line, 16) + 2:]
            assert plain == pattern(n), n
        assert b"GET /echo HTTP/1.1" in o.get("/echo", conn)[1]
        assert o.get("/nothing", conn)[0].startswith(b"HTTP/1.1 404 ")
        start = time.monotonic()
        o.get("/ok?delay=300", conn)
        assert time.monotonic() - start >= 0.3
    assert o.summary["requests"] == 15, o.summary
    assert o.summary["connections"] == 1, o.summary
    assert o.summary["handshakes"] == 1, o.summary


def test_behave():
    with Origin("--behave", "no-content") as o:
        assert o.ready["behave"] == "no-content"
        assert o.get("/ok")[0].startswith(b"HTTP/1.1 204 ")
    with Origin("--size", "100KiB", "--delay", "200ms", "--name",
                "origin.example") as o:
        assert o.ready["behave"] == "size" and o.ready["delay_ms"] == 200
        start = time.monotonic()
        assert o.get("/", o.connect("origin.example"))[1] == pattern(102400)
        assert time.monotonic() - start >= 0.2
    with Origin("--behave", "chunked", "--size", "3") as o:
        assert o.get("/")[1].startswith(b"3\r\n" + pattern(3))


def test_below_http():
    for name, reason in (("cert-expired", "expired"),
                         ("cert-wrong-host", "IP address mismatch"),
                         ("cert-alone", "local issuer"),
                         ("cert-unknown", "local issuer")):
        with Origin("-b", name) as o:
            try:
                o.connect()
            except ssl.SSLCertVerificationError as e:
                assert reason in str(e), (name, e)
            else:
                raise AssertionError(name)
    with Origin("-b", "tls-plain") as o:
        try:
            o.connect()
        except ssl.SSLError:
            pass
        else:
            raise AssertionError("TLS with a plain server")
    with Origin("-b", "tls-speaks") as o:
        assert b"early" in o.connect().recv(1000)


def test_ends_in_the_middle():
    """A held answer does not hold the end up, and no thread is lost."""
    with Origin("--delay", "1m") as o:
        conn = o.connect()
        conn.sendall(b"GET /ok HTTP/1.1\r\n\r\n")
        start = time.monotonic()
        time.sleep(0.2)
    assert time.monotonic() - start < 30
    assert o.summary["requests"] == 1, o.summary


def test_ipv6():
    try:
        socket.socket(socket.AF_INET6).bind(("::1", 0))
    except OSError:
        print("no IPv6 here: not tried")
        return
    with Origin("--listen", "[::1]:0") as o:
        assert o.ready["url"] == f"https://[::1]:{o.port}", o.ready
        assert o.get("/ok", o.connect("::1"))[1] == b"hello\n"


def run(*args, code=0):
    p = subprocess.run([LOAD, "origin", *args], capture_output=True,
                       text=True, timeout=100)
    assert p.returncode == code, (args, p.returncode, p.stdout, p.stderr)
    return p


def test_text():
    p = subprocess.Popen([LOAD, "origin"], stdout=subprocess.PIPE, text=True)
    line = p.stdout.readline()
    assert line.startswith("listening on https://127.0.0.1:"), line
    p.send_signal(signal.SIGINT)
    assert p.stdout.read() == "0 requests, 0 connections, 0 TLS handshakes\n"
    assert p.wait(timeout=60) == 0


def test_options():
    listing = run("--behave", "help").stdout.splitlines()
    names = [line.split()[0] for line in listing]
    assert len(names) == len(set(names)) and len(names) > 50, names
    assert {"ok", "size", "drip", "close-race", "tls-old"} <= set(names)
    assert all(len(line.split()) > 1 for line in listing)
    for name in names:
        if name not in ("size", "chunked"):
            run("--behave", name, "--size", "1", code=2)
    assert "--behave" in run("--help").stdout
    for args in (["--behave", "well"], ["--listen", "127.0.0.1"],
                 ["--listen", "127.0.0.1:65536"], ["--listen", ":1"],
                 ["--delay", "soon"], ["--delay", "11m"],
                 ["--size", "65GiB"], ["--name", "a b"], ["--name", ""],
                 ["--no-such"], ["extra"]):
        p = run(*args, code=2)
        assert p.stdout == "" and p.stderr, args
    p = run("--listen", "localhost:0", code=1)
    assert "is no address" in p.stderr, p.stderr
    p = run("--ca-file", "/nowhere/ca.pem", code=1)
    assert "/nowhere/ca.pem" in p.stderr, p.stderr
    with Origin() as o:
        p = run("--listen", f"127.0.0.1:{o.port}", code=1)
        assert "listen on 127.0.0.1" in p.stderr, p.stderr


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)
    return 0


sys.exit(main())
