#!/usr/bin/python3
"""test_drain.py: amberd told to stop or to read its config again, and its generator dying.  What is admitted when it is to
stop gets its whole answer, by readers of every pace; a second signal ends it.

The real amberd and its relay, a double of the generator, amber-load's origin, and clients that speak inner TLS on sockets
(direct_listen) with small windows, so that answers wait in every buffer on the way when the signal comes.
"""
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

BIN, DOUBLES = os.environ["AMBER_BIN"], os.environ["AMBER_TESTS_BIN"]
PATIENCE = 120      # seconds: generous
READERS, STEP = 24, 90_000
LATE, LATE_MS = 4, 2500


def wait(what, test):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if x := test():
            return x
        time.sleep(0.05)
    sys.stderr.write(log())
    raise SystemExit(f"test_drain: it never came: {what}")


def log():
    return open(X.log, errors="replace").read()


class X:
    tmp = log = amberd = origin = url = None


def start(name, **files):
    """amberd with an epoch that serves; its exchanges' and its direct address."""
    folder = f"{X.tmp}/{name}"
    os.mkdir(folder)
    for f, text in files.items():
        open(f"{folder}/{f}", "w").write(text)
    X.log = f"{folder}/log"
    with open(f"{folder}/conf", "w") as f:
        f.write(f"""listen = 127.0.0.1:0
direct_listen = 127.0.0.1:0
metrics_listen =
identity = {folder}/identity
archive = {folder}/archive
timelock = {DOUBLES}/double_generator
allow = 127.0.0.1/32
allowed_ports = {X.url.rsplit(":", 1)[1]}
ca_file = {X.tmp}/ca.pem
permits = 64
""")
    X.amberd = subprocess.Popen([f"{BIN}/amberd", "--config", f"{folder}/conf"], stdout=subprocess.DEVNULL,
                                stderr=open(X.log, "w"), env={**os.environ, "AMBER_DOUBLE_FOLDER": folder})
    wait("an epoch", lambda: "epoch 1: in the archive" in log())
    found = wait("listeners", lambda: len(x := re.findall(r"listening for .* on 127.0.0.1:(\d+)", log())) == 2 and x)
    return [int(p) for p in found]


def client(port, path, window=4096):
    """A connection with this request under way."""
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    c.settimeout(PATIENCE)
    c.connect(("127.0.0.1", port))
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.check_hostname, ctx.verify_mode, ctx.minimum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_3
    ctx.set_alpn_protocols(["http/1.1"])
    c = ctx.wrap_socket(c)
    c.sendall(f"GET {X.url}{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return c


def answer(c):
    """Status, head and body, whole."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = c.recv(65536)
        assert more, "the connection ended before an answer"
        got += more
    head, body = got.split(b"\r\n\r\n", 1)
    n = int(re.search(rb"\r\nContent-Length: (\d+)", head).group(1))
    while len(body) < n:
        more = c.recv(65536)
        assert more, f"the connection ended {n - len(body)} bytes before the answer's end, of {n}"
        body += more
    return int(head[9:12]), head, body


def status(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/status", timeout=PATIENCE) as r:
        return json.load(r)["permits"]


def readiness(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as r:
            return r.status, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()


def pattern(n):
    return bytes((i % 251) ^ (i // 251 % 241) & 0xff for i in range(n))


def verify(name, records):
    folder = f"{X.tmp}/{name}"
    p = subprocess.run([f"{BIN}/amber-archive", "verify", "--root", f"{folder}/archive", "--pin", f"{folder}/identity.vkey",
                        "--json"], stdout=subprocess.PIPE, check=True)
    s = json.loads(p.stdout.splitlines()[-1])
    assert s["errors"] == 0 and s["records"] == records, s


def test_drain():
    outer, direct = start("drain")
    idle = client(direct, "/ok")
    assert answer(idle)[0] == 200
    assert readiness(outer) == (200, b"ready\n")
    readers = [client(direct, f"/size/{(i + 1) * STEP}") for i in range(READERS)]
    wait("all answers", lambda: (p := status(outer))["in_use"] == 0 and p["admitted"] == READERS + 1)
    late = [client(direct, f"/ok?delay={LATE_MS}") for _ in range(LATE)]
    wait("the late ones", lambda: status(outer)["in_use"] == LATE)
    X.amberd.send_signal(signal.SIGTERM)
    wait("the drain", lambda: "draining: " in log())
    idle.sendall(f"GET {X.url}/ok HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    code, head, _ = answer(idle)
    assert code == 503 and b"\r\nAmber-Reason: draining\r\n" in head + b"\r\n" and b"\r\nRetry-After: " in head, head
    assert readiness(outer) == (503, b"draining\n"), "who asks sends more clients here"
    time.sleep(1)
    for c in late:
        code, head, body = answer(c)
        assert code == 200 and body == b"hello\n" and b"\r\nAmber-Receipt: " in head, head
    whole = pattern(READERS * STEP)
    for i, c in enumerate(readers):
        code, head, body = answer(c)
        assert code == 200 and body == whole[:(i + 1) * STEP] and b"\r\nAmber-Receipt: " in head, (i, code, len(body))
        c.close()
    assert X.amberd.wait(PATIENCE) == 0, log()
    verify("drain", 1 + READERS + LATE)


def test_reload():
    """SIGHUP: the policy and the permits of the relay that runs are others; one that does not load changes nothing."""
    outer, direct = start("reload")
    conf = f"{X.tmp}/reload/conf"
    text = open(conf).read()
    assert answer(client(direct, "/ok"))[0] == 200 and status(outer)["limit"] == 64
    open(conf, "w").write(text.replace("permits = 64", "permits = 5").replace("allow = 127.0.0.1/32\n", ""))
    X.amberd.send_signal(signal.SIGHUP)
    wait("the new limit", lambda: status(outer)["limit"] == 5)
    code, head, _ = answer(client(direct, "/ok"))
    assert code == 403 and b"destination_ip_prohibited" in head, head
    open(conf, "w").write(text + "permitz = 3\n")
    X.amberd.send_signal(signal.SIGHUP)
    wait("the refusal", lambda: "reload: nothing is changed" in log())
    assert status(outer)["limit"] == 5
    open(conf, "w").write(text)
    X.amberd.send_signal(signal.SIGHUP)
    wait("the old limit", lambda: status(outer)["limit"] == 64)
    assert answer(client(direct, "/ok"))[0] == 200
    X.amberd.send_signal(signal.SIGTERM)
    assert X.amberd.wait(PATIENCE) == 0, log()
    verify("reload", 3)


def test_second_signal():
    outer, direct = start("second")
    c = client(direct, "/ok?delay=60000")
    wait("the request", lambda: status(outer)["in_use"] == 1)
    kids = [int(p) for p in re.findall(r"relay: process (\d+)$", log(), re.M)]
    X.amberd.send_signal(signal.SIGTERM)
    wait("the drain", lambda: "draining: requests under way: 1" in log())
    time.sleep(1.5)
    assert X.amberd.poll() is None, "it did not wait for what is admitted"
    X.amberd.send_signal(signal.SIGTERM)
    assert X.amberd.wait(20) == 1, log()
    wait("the relay's end", lambda: not any(os.path.exists(f"/proc/{p}") for p in kids))
    c.close()
    verify("second", 0)


def test_generator_dies():
    """Twice, before it has done anything: it is started again, and the epoch comes."""
    _, direct = start("generator", crash="2")
    assert log().count("generator: it left with status 3") == 2, log()
    assert answer(client(direct, "/ok"))[0] == 200
    X.amberd.send_signal(signal.SIGTERM)
    assert X.amberd.wait(PATIENCE) == 0, log()
    verify("generator", 1)


def main():
    X.tmp = tempfile.mkdtemp(prefix="amber-drain.")
    try:
        X.origin = subprocess.Popen([f"{BIN}/amber-load", "origin", "--json", "--ca-file", f"{X.tmp}/ca.pem"],
                                    stdout=subprocess.PIPE)
        X.url = json.loads(X.origin.stdout.readline())["url"].rstrip("/")
        for test in (test_drain, test_reload, test_second_signal, test_generator_dies):
            test()
            print(f"{test.__name__}: ok", flush=True)
    finally:
        for p in (X.amberd, X.origin):
            if p is not None and p.poll() is None:
                p.kill()
                p.wait()
        shutil.rmtree(X.tmp)


if __name__ == "__main__":
    main()
