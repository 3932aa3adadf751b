#!/usr/bin/python3
"""amber fetch, ping and receipt against the real relay: what comes out, what
is said, and how they exit."""
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import quote

from relay_kit import BIN, DOUBLES, OWN, Kit

SECRET = "correct horse battery"


def on_terminal(kit, *args, want=None, fd=2):
    """Runs amber with stdout (1) or stderr (2) on a terminal; what that
    showed, what the other stream got, and the status."""
    master, slave = pty.openpty()
    env = dict(kit.env, TERM="vt100")
    out = {1: {"stdout": slave, "stderr": subprocess.PIPE},
           2: {"stdout": subprocess.PIPE, "stderr": slave}}[fd]
    p = subprocess.Popen([BIN + "/amber", *args], env=env, cwd=kit.top, **out)
    os.close(slave)
    shown = b""
    while True:
        if not select.select([master], [], [], 60)[0]:
            p.kill()
            raise AssertionError("nothing came for a minute")
        try:
            got = os.read(master, 65536)
        except OSError:
            break
        if not got:
            break
        shown += got
    os.close(master)
    other = (p.stderr if fd == 1 else p.stdout).read()
    code = p.wait(60)
    assert want is None or code == want, (code, shown, other)
    return shown, other, code


def test_output(k):
    p = k.fetch(k.url("/ok"))
    assert (p.stdout, p.stderr) == ("hello\n", ""), p
    assert k.fetch("-i", k.url()).stdout.startswith("HTTP/1.1 200 OK\r\n")
    p = k.fetch("-I", k.url("/size/12345"))
    assert "\r\nContent-Length: 12345\r\n" in p.stdout, p.stdout
    assert p.stdout.endswith("\r\n\r\n")
    p = k.fetch("-d", "a=b", "-d", "c", "-H", "X-Y: z", k.url("/echo"))
    assert p.stdout.startswith("POST /echo HTTP/1.1\r\n") and \
        p.stdout.endswith("\r\n\r\na=b&c") and "X-Y: z" in p.stdout, p.stdout
    assert k.fetch("-d", "-", k.url("/echo"),
                   stdin="fed").stdout.endswith("\r\n\r\nfed")
    k.fetch("-o", "body", "--receipt", "receipt", "--record-key", "key",
            k.url("/size/70000"))
    assert (k.top / "body").stat().st_size == 70000
    assert (k.top / "key").stat().st_mode & 0o777 == 0o600
    p = k.amber("receipt", "--record-key", "key", "receipt")
    assert "the receipt holds" in p.stdout
    for args, code, said in (
            (("--record-key", "no-file", "receipt"), 26, ": no-file: open: "),
            (("--record-key", "receipt", "receipt"), 92, ": receipt: 5"),
            (("--pin", "no-file", "receipt"), 26, "no-file: open: "),
            (("no-file",), 26, "no-file: open: ")):
        p = k.amber("receipt", *args, code=code)
        assert said in p.stderr, p
    s = json.loads(k.amber("receipt", "--json", "receipt").stdout)
    assert s["verified"] is True and s["kind"] == "record", s
    p = k.fetch("-o", "/dev/null", "-w", "%{http_code} %{size_download} "
                "%{epoch} %{num_refusals}\\n", k.url("/size/10"))
    assert p.stdout == "200 10 1 0\n", p.stdout
    assert pathlib.Path("/dev/null").is_char_device()


def test_output_place(k):
    """What is written over keeps its mode; a link stays one."""
    mask = os.umask(0)
    os.umask(mask)
    for option, said in (("-o", "hello\n"), ("--receipt", "c2sp.org/tlog-")):
        private, link = k.top / "private", k.top / "link"
        private.write_text("old")
        private.chmod(0o600)
        link.symlink_to("private")
        k.fetch(option, "link", k.url())
        assert link.is_symlink() and private.read_text().startswith(said)
        assert private.stat().st_mode & 0o777 == 0o600, private.stat()
        private.unlink()
        k.fetch(option, "link", k.url())    # to nothing: it is made there
        assert link.is_symlink() and private.read_text().startswith(said)
        assert private.stat().st_mode & 0o777 == 0o666 & ~mask, private
        for name in (private, link):
            name.unlink()
    p = k.fetch("-o", ".", k.url(), code=23)
    assert p.stderr.endswith(": .: a folder, not a file\n"), p
    for option in ("--receipt", "--record-key"):
        p = k.fetch(option, "-", k.url(), code=2)
        assert '"-" is none, but /dev/stdout is' in p.stderr, p
        assert not (k.top / "-").exists()
    p = k.fetch("-o", "body", "--receipt", "/dev/stdout", k.url())
    assert p.stdout.startswith("c2sp.org/tlog-proof@v1\n"), p


def piped(k, *args, fed):
    """What is fed is a pipe to read, as a shell's <(...) is, and is no
    process's standard input."""
    r, w = os.pipe()
    os.write(w, fed)
    os.close(w)
    try:
        return subprocess.run([BIN + "/amber"] + [
            a.replace("PIPE", f"/dev/fd/{r}") for a in args], pass_fds=[r],
            env=k.env, cwd=k.top, capture_output=True, text=True, timeout=60)
    finally:
        os.close(r)


def test_pipes(k):
    k.fetch("--receipt", "receipt", "--record-key", "key", k.url())
    receipt = (k.top / "receipt").read_bytes()
    for p in (piped(k, "receipt", "PIPE", fed=receipt),
              piped(k, "receipt", "--record-key", "PIPE", "receipt",
                    fed=(k.top / "key").read_bytes())):
        assert p.returncode == 0 and "the receipt holds" in p.stdout, p
    p = piped(k, "fetch", "-d", "@PIPE", k.url("/echo"), fed=b"piped in")
    assert p.returncode == 0 and p.stdout.endswith("\n\npiped in"), p
    p = piped(k, "fetch", "--token-file", "PIPE", k.url(), fed=b"any\n")
    assert (p.returncode, p.stdout) == (0, "hello\n"), p


def test_verbose(k):
    err = k.fetch("-v", k.url("/size/100000")).stderr
    for want in (r"^> GET https://origin\.example:\d+/size/100000$",
                 r"^\* session: opened in [\d.]+ ms", r"^\* epoch: 1 until 20",
                 r"^\* permit: at once$",
                 r"^\* upstream: dns [\d.]+ ms, connect .*, tls .*, first byte"
                 r" .*, body .*, in all [\d.]+ ms$",
                 r"^\* record: \d+, receipt verified; seal [\d.]+ ms, commit "
                 r"[\d.]+ ms$", r"^\* exchanges: \d+, \d+ of them repeated",
                 r"^< HTTP/1\.1 200 OK$"):
        assert re.search(want, err, re.M), (want, err)


def test_record_key_unseen(k):
    """It opens the record at once: it goes where it was asked for alone."""
    for how in ("-v", "-i", "-I", "-vi"):
        p = k.fetch(how, "--record-key", "key", k.url("/ok"))
        key = (k.top / "key").read_text().strip()
        shown = p.stdout + p.stderr
        assert len(key) == 43 and key not in shown, shown
        assert "amber-record-key" not in shown.lower(), shown
        assert "Amber-Receipt: " in shown and \
            re.search(r"Amber-Timing: .*\n(< )?\r?\n", shown), shown


def test_verbose_harmless(k):
    """No byte of the server's commands the terminal: no C1 either."""
    err = k.fetch("-v", k.url("/not-modified")).stderr
    assert '< ETag: "v1"' in err, err
    assert "< X-Odd: \u00e4\\xc2\\x9b1m\\x9b\n" in err, err


def test_statuses(k):
    """Each says what is wrong and where, and exits as curl would."""
    rows = [
        (6, "cannot resolve the name", k.url(host="nosuch.example")),
        (6, "no answer from DNS", k.url(host="silent.example")),
        (7, "10.0.0.0/8 Private-Use", k.url(host="private.example")),
        (7, "leads to the relay itself", k.url(host="own.example")),
        (7, "leads to the relay itself", k.url(host=OWN)),
        (7, "port 443 is not allowed", "https://origin.example/"),
        (18, "was cut short", k.url("/short-body")),
        (60, "certificate has expired", k.url(kind="expired")),
        (60, "self-signed", k.url(kind="selfsigned")),
        (60, "hostname mismatch", k.url(kind="wronghost")),
        (60, "certificate", k.url(kind="unknownroot")),
        (63, "larger than the relay takes", k.url("/over")),
        (56, "without an answer", k.url("/silent-close")),
    ]
    for code, text, url in rows:
        p = k.fetch(url, "--receipt", "r", code=code)
        assert p.stdout == "" and text in p.stderr and url in p.stderr, p
        assert "recorded as" in p.stderr, p.stderr
        k.amber("receipt", "r")         # failures have receipts too
    rows = [
        (2, "one URL is needed"), (2, "one URL is needed", "a", "b"),
        (2, "--window", "--window", "57", k.url()),
        (2, "--max-time", "--max-time", "0", k.url()),
        (2, "--retry", "--retry", "-1", k.url()),
        (2, "amber fetch: invalid option", "-k", k.url()),
        (26, "no-such-file", "-d", "@no-such-file", k.url()),
        (26, "no-such-file", "--token-file", "no-such-file", k.url()),
        (26, "no-such-file", "--pin", "no-such-file", k.url()),
        (2, "different files", "-o", "x", "--receipt", "x", k.url()),
        (2, "different files", "--record-key", "x", "-o", "x", k.url()),
        (2, "different files", "--record-key", "x", "--receipt", "x", k.url()),
        (3, "field host: ", "-H", "host: x", k.url()),
        (3, "field Content-Length: ", "-H", "Content-Length: 4", k.url()),
        (3, "field Transfer-Encoding: ", "-d", "x", "-H",
         "Transfer-Encoding: chunked", k.url()),
        # Whether or not it would be needed.
        *((77, "--ca-file: roots in " + said, "--ca-file", name, "--relay",
           relay, k.url())
          for relay in ("https://127.0.0.1:1", "http://127.0.0.1:1")
          for name, said in (("no-such-file", "no-such-file: No such file"),
                             ("/", "/: not a regular file"),
                             ("/dev/null", "/dev/null: not a regular file"),
                             ("amberd.conf", "amberd.conf: no certificates "
                              "in PEM"))),
        (3, "does not begin with https://", "http://origin.example/"),
        (3, "not forwarded", "-X", "TRACE", k.url()),
        (3, "field name", "-H", "A B: c", k.url()),
        (7, "Connection refused", "--relay", "http://127.0.0.1:1", k.url()),
        (6, "does not resolve", "--relay", "http://relay.invalid", k.url()),
        (3, "begins with http", "--relay", "127.0.0.1:1", k.url()),
        (22, "answers 404", "-f", k.url("/no-such-path")),
        (23, "no/such/folder", "-o", "no/such/folder/x", k.url()),
        (28, "time ran out", "--max-time", "200ms", k.url("/ok?delay=5000")),
    ]
    for code, text, *args in rows:
        p = k.fetch(*args, code=code)
        assert text in p.stderr and p.stdout == "", (args, p)
        assert k.fetch("-s", *args, code=code).stderr in ("",) or code == 2
    assert "answers 404" in k.fetch("-sSf", k.url("/no-such-path"),
                                    code=22).stderr
    for name in ("AMBER_RELAY", "AMBER_PIN"):
        held = k.env.pop(name)
        assert name in k.fetch(k.url(), code=2).stderr
        k.env[name] = ""
        assert name in k.fetch(k.url(), code=2).stderr
        k.env[name] = held
    k.fetch("-o", "/dev/null", "--receipt", "/dev/null", k.url())
    for args in ("--help",), ("-h",), ("help",), ("fetch", "-h"), \
            ("ping", "-h"), ("receipt", "-h"):
        assert k.amber(*args).stdout.startswith("Usage: amber "), args


def test_other_relay(k):
    other = k.top / "other"
    subprocess.run([BIN + "/amber-timelock", "keygen", "--origin",
                    "amber.demo", "--out", other], check=True,
                   stdout=subprocess.DEVNULL)
    p = k.fetch("--pin", str(other) + ".vkey", k.url(), code=60)
    assert "is not the relay of the pin" in p.stderr, p.stderr
    assert p.stdout == ""
    k.fetch("--no-verify", "--pin", str(other) + ".vkey", k.url(), code=60)
    k.fetch("--receipt", "r", k.url())
    p = k.amber("receipt", "--pin", str(other) + ".vkey", "r", code=92)
    assert "receipt" in p.stderr


class Stranger:
    """Something that listens, and is no relay."""
    def __init__(self, answer=None, hold=False):
        self.answer, self.hold = answer, hold
        self.held = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.name = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                conn = self.socket.accept()[0]
            except OSError:
                return
            try:
                if not self.hold and conn.recv(65536) and self.answer:
                    conn.sendall(self.answer)
            except OSError:
                pass
            self.held.append(conn)
            if not self.hold and not self.answer:
                conn.close()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
        for conn in self.held:
            conn.close()


def test_no_relay(k):
    """What is there instead of a relay is told when time runs out."""
    page = b"<html>no such page</html>"
    head = "HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n"
    http = lambda status, more="", n=len(page): (
        head % (status, more, n)).encode() + page
    html = "Content-Type: text/html; charset=utf-8\r\n"
    answers = "answers, but not as a relay: "
    rows = [
        (56, answers + "HTTP 404, text/html", http("404 Not Found", html)),
        (56, answers + "HTTP 200, text/html", http("200 OK", html)),
        (56, answers + "HTTP 503", http("503 Service Unavailable")),
        # a head that is followed by nothing is told as well
        (56, answers + "HTTP 502, text/html",
         http("502 Bad Gateway", html, 99)),
        # nothing of a stranger's goes to the terminal but plain words
        (56, answers + "HTTP 404\n",
         http("404 x", "Content-Type: \"a/b\"\r\n")),
        (56, answers + "HTTP response: malformed",
         http("404 x", "Content-Type: a\x1b[31m/b\r\n")),
        (56, answers + "HTTP response: ", b"SSH-2.0-x\r\n"),
        (56, "closed the connection before an answer", None),
    ]
    for code, said, answer in rows:
        with Stranger(answer) as s:
            for word in "fetch", "ping":
                p = k.amber(word, "--relay", "http://" + s.name, "--max-time",
                            "1500ms", *([k.url()] if word == "fetch" else []),
                            code=code)
                assert p.stdout == "" and s.name + " " in p.stderr and \
                    said in p.stderr and "\x1b" not in p.stderr, p
    with Stranger(hold=True) as s:
        for scheme in "http", "https":
            p = k.fetch("--relay", f"{scheme}://{s.name}", "--max-time",
                        "1s", k.url(), code=28)
            assert f"connected to {s.name}, but no answer has come" in \
                p.stderr, p
    # Sooner than the attempts that are made otherwise.
    p = k.fetch("--relay", "http://127.0.0.1:1", "--max-time", "150ms",
                k.url(), code=7)
    assert "Connection refused" in p.stderr, p


def test_terminal(k):
    # Progress: for what takes over a second, on a terminal alone.
    slow = k.url("/ok?delay=2500")
    shown, out, _ = on_terminal(k, "fetch", slow, want=0)
    assert b"waiting for the answer" in shown and out == b"hello\n", shown
    assert shown.endswith(b"\r\x1b[K"), shown           # and wiped
    for args in (["-q", slow], ["-s", slow]):
        shown, out, _ = on_terminal(k, "fetch", *args, want=0)
        assert shown == b"" and out == b"hello\n", (args, shown)
    shown, out, _ = on_terminal(k, "fetch", "-w", "%{time_total}", k.url(),
                                want=0)
    # The machine may be busy: then there is something to show.
    assert shown == b"" or float(out.split()[1]) >= 1, (shown, out)
    assert k.fetch(slow).stderr == ""
    # Binary bytes are not for a terminal, unless they are asked for.
    binary = k.url("/size/3000")
    shown, err, _ = on_terminal(k, "fetch", binary, want=23, fd=1)
    assert shown == b"" and b"-o FILE" in err, (shown, err)
    shown, err, _ = on_terminal(k, "fetch", "-o", "-", binary, want=0, fd=1)
    assert len(shown) >= 3000 and err == b"", err
    shown, err, _ = on_terminal(k, "fetch", k.url(), want=0, fd=1)
    assert shown == b"hello\r\n" and err == b"", (shown, err)


def test_ping(k):
    p = k.amber("ping")
    for want in ("state      ready", "epoch      1, 20", "handshake", "request"):
        assert want in p.stdout, p.stdout
    s = json.loads(k.amber("ping", "--json").stdout)
    status = json.loads(k.get(k.address, "/v1/status"))
    assert s["state"] == "ready" and s["epoch"] == 1, s
    assert s["puzzle_id"] == status["puzzle_id"], (s, status)
    assert s["request_ms"] > 0 and s["handshake_ms"] > 0
    assert "Connection refused" in k.amber(
        "ping", "--relay", "http://127.0.0.1:1", code=7).stderr


def test_example(k):
    p = subprocess.run([DOUBLES + "/fetch_one", k.env["AMBER_RELAY"], k.pin,
                        k.url()], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0 and p.stdout == "hello\n", p
    assert re.fullmatch(r"200, record \d+ of epoch 1, receipt verified\n",
                        p.stderr), p.stderr
    p = subprocess.run([DOUBLES + "/fetch_one", k.env["AMBER_RELAY"], k.pin,
                        k.url(host="nosuch.example")], capture_output=True,
                       text=True, timeout=60)
    assert p.returncode == 1 and "dns_error" in p.stderr, p


def test_lost_output(k):
    """Output that goes nowhere is no success, and goes nowhere else."""
    amber = BIN + "/amber "
    for args, said in ((f"fetch {k.url()}", "No space left"),
                       (f"fetch -o /dev/null -w x {k.url()}", "could not"),
                       ("ping", "could not"), ("ping --json", "No space left"),
                       ("--help", "could not"), ("fetch --help", "could not"),
                       ("--version", "could not")):
        p = subprocess.run(amber + args + " >/dev/full", shell=True,
                           env=k.env, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode == 23 and said.encode() in p.stderr, (args, p)
        assert p.stderr.count(b"\n") == 1, (args, p)
    p = subprocess.run(amber + f"fetch {k.url()} >&-", shell=True, env=k.env,
                       stderr=subprocess.PIPE, timeout=60)
    assert p.returncode == 23 and b"Bad file descriptor" in p.stderr, p
    p = subprocess.run(amber + f"fetch -v {k.url()} 2>&- <&-", shell=True,
                       env=k.env, stdout=subprocess.PIPE, timeout=60)
    assert (p.returncode, p.stdout) == (0, b"hello\n"), p


def test_wrong_options(k):
    """What getopt says, and where to read more; no third line."""
    for command in ("fetch", "ping", "receipt"):
        p = k.amber(command, "--frob", code=2)
        assert (p.stdout, p.stderr) == (
            "", f"amber {command}: unrecognized option '--frob'\n"
                f"Try 'amber {command} --help'.\n"), p


def test_redirect(k):
    """Each hop is a request, and a record, of its own."""
    records = [int(k.fetch(k.url("/redirect"), "-w", "%{record}").stdout)]
    p = k.fetch("-L", k.url("/redirect"), "-w", "%{record}", code=7)
    assert "https://other.example/: " in p.stderr, p.stderr
    assert "port 443 is not allowed" in p.stderr, p.stderr
    records.append(int(p.stdout))
    assert records[1] == records[0] + 2, records


def test_redirect_relative(k):
    """Location is a reference (RFC 3986 section 5.2), and what it leads to is
    judged as a URL that is given."""
    def lands(to, **kw):
        return k.fetch("-L", k.url("/redirect-to?" + quote(to)), **kw)
    port = k.ports["good"]
    for to, want in (("echo", "/echo"), ("../.././echo#part", "/echo"),
                     ("/x/../echo?a/../b", "/echo?a/../b"),
                     (f"//127.0.0.1:{port}/echo", "/echo"),
                     ("?echo", "/echo")):
        got = lands(to).stdout
        assert got.startswith(f"GET {want} HTTP/1.1\r\n"), (to, got)
        host = "127.0.0.1" if to[:2] == "//" else "origin.example"
        assert f"\r\nHost: {host}:{port}\r\n" in got, (to, got)
    for to, why in (("http://origin.example/", "https://"),
                    ("https:echo", "https://"), ("//", "host is empty"),
                    ("//origin", "single label"),
                    ("//me@origin.example/", "user info"),
                    ("/a\\b", "backslash"), ("/a b", "blank"),
                    ("mailto:me@origin.example", "https://")):
        p = lands(to, code=3)
        assert f'redirect to "{to}": URL' in p.stderr and \
            why in p.stderr, p.stderr
    # To itself: a redirect like others.
    for to in ("", "#top"):
        p = lands(to, code=47)
        assert "more than 20 redirects" in p.stderr, p.stderr


def test_redirected_credentials(k):
    """What was for one host is not told to another (port or name)."""
    lines = ("-H", "authorization: Basic c2VjcmV0", "-H", "X-One: 1",
             "-H", "Cookie: a=secret", "-H", "X-Cookie: 2")
    for to, is_same in ((k.url("/echo"), True), ("/echo", True),
                        (k.url("/echo", host="127.0.0.1"), False),
                        (k.url("/redirect-to?" + k.url("/echo"),
                               host="127.0.0.1"), False)):
        got = k.fetch("-L", *lines, k.url("/redirect-to?" + to)).stdout
        assert "X-One: 1\r\nX-Cookie: 2" in got.replace(
            "Cookie: a=secret\r\nX-C", "X-C"), got
        assert ("authorization: Basic c2VjcmV0" in got) == is_same, got
        assert ("\r\nCookie: a=secret\r\n" in got) == is_same, got


def test_metrics(k):
    """One histogram for each stage, and all that were fetched in them."""
    text = k.get(k.metrics, "/metrics")
    counts = dict(re.findall(
        r'^amber_stage_seconds_count\{stage="(\w+)"\} (\d+)$', text, re.M))
    assert set(counts) == {"dns", "connect", "tls", "first_byte", "body",
                           "fetch", "seal", "commit"}, counts
    assert all(int(n) > 0 for n in counts.values()), counts
    assert counts["seal"] == counts["commit"] == counts["fetch"], counts
    assert int(counts["dns"]) > int(counts["tls"])      # some never got there
    sums = dict(re.findall(
        r'^amber_stage_seconds_sum\{stage="(\w+)"\} (\S+)$', text, re.M))
    assert all(float(sums[s]) > 0 for s in ("seal", "commit", "fetch")), sums


def test_retry(k):
    """With one permit, a fetch that comes second waits for it."""
    held = threading.Thread(
        target=lambda: k.fetch(k.url("/ok?delay=6000")))
    held.start()
    while json.loads(k.get(k.address, "/v1/status"))["permits"]["in_use"] == 0:
        time.sleep(0.02)
    p = k.fetch(k.url(), code=90)
    assert "503, permits" in p.stderr and "--retry" in p.stderr, p.stderr
    p = k.fetch("-v", "--retry", "20", k.url(), "-w", "%{num_refusals} "
                "%{time_permit}\n")
    held.join()
    body, stats = p.stdout.splitlines()
    refusals, seconds = stats.split()
    assert body == "hello" and int(refusals) >= 1, p
    assert float(seconds) >= 1                          # Retry-After's least
    assert re.search(r"^\* permit: after [\d.]+ s and \d+ refusals?$",
                     p.stderr, re.M), p.stderr
    # No time for another try: it says what the relay said.
    held = threading.Thread(
        target=lambda: k.fetch(k.url("/ok?delay=6000")))
    held.start()
    while json.loads(k.get(k.address, "/v1/status"))["permits"]["in_use"] == 0:
        time.sleep(0.02)
    p = k.fetch("--retry", "20", "--max-time", "1900ms", k.url(), code=None)
    assert p.returncode in (90, 28), p      # 28: on a busy machine
    held.join()


def hup(k, more, says):
    n = len(re.findall(says, (k.top / "log").read_text()))
    k.write_config(more)
    k.relay.send_signal(signal.SIGHUP)
    k.see(says, n + 1)


def test_reload(k):
    """What SIGHUP changes holds from then on."""
    status = lambda: json.loads(k.get(k.address, "/v1/status"))
    assert status()["permits"]["limit"] == 16
    hup(k, "permits = 3\nsessions = 1\npoll = 100ms\n", "relay: reload: done")
    assert status()["permits"]["limit"] == 3
    held = threading.Thread(
        target=lambda: k.fetch(k.url("/ok?delay=6000")))
    held.start()
    while status()["permits"]["in_use"] == 0:
        time.sleep(0.02)
    # The one session is taken; and polls are answered sooner than asked.
    p = k.fetch(k.url(), code=90)
    assert "all its sessions are in use" in p.stderr, p.stderr
    p = k.fetch("-v", "--retry", "30", k.url())
    assert re.search(r"^\* permit: refused \(sessions\)", p.stderr, re.M), p
    held.join()
    slow = k.fetch("-w", "%{num_exchanges}", "-o", "x",
                   k.url("/ok?delay=2000"))
    assert int(slow.stdout) > 10, slow.stdout
    # A config that does not load changes nothing and says why.
    hup(k, "permit = 5\n", "reload: nothing is changed")
    text = (k.top / "log").read_text()
    assert 'unknown key "permit"; did you mean "permits"?' in text
    assert re.search(r"config amberd.conf: line \d+: unknown key", text)
    assert status()["permits"]["limit"] == 3
    hup(k, "workers = 1\n", "reload: workers stays as it is")
    hup(k, "", "relay: reload: done")
    assert status()["permits"]["limit"] == 16


def test_tokens(k):
    (k.top / "token").write_text(SECRET + "\n")
    (k.top / "wrong").write_text("guess\n")
    assert k.fetch("--token-file", "token", k.url()).stdout == "hello\n"
    p = k.fetch(k.url(), code=90)
    assert "--token-file" in p.stderr and "407" in p.stderr, p.stderr
    p = k.fetch("--token-file", "wrong", k.url(), code=90)
    assert "does not know this one" in p.stderr, p.stderr
    assert "guess" not in p.stderr
    assert "ready" in k.amber("ping", "--token-file", "token").stdout
    assert "--token-file" in k.amber("ping", code=90).stderr
    text = k.get(k.metrics, "/metrics")
    assert 'amber_token_uses_total{token="ada"}' in text
    assert SECRET not in text


def test_no_dns(k):
    """Nobody listens where the relay asks for names: the log says so, once
    it is sure, and names nothing."""
    for _ in range(3):
        p = k.fetch(k.url(), code=6)
        assert "no answer from DNS: timeout (504, dns_timeout" in p.stderr, p
    said = "DNS: no server has answered 3 queries in a row; see dns_servers"
    k.see(said)
    text = (k.top / "log").read_text()
    assert text.count(said) == 1 and "origin.example" not in text, text


def test_warming(k):
    p = k.fetch(k.url(), code=90)
    assert "503, warming" in p.stderr and "warming up" in p.stderr, p.stderr
    assert "state      warming" in k.amber("ping").stdout


def run(config, tests, ready=True, prepare=None):
    with Kit(config) as k:
        if prepare is not None:
            prepare(k)
        k.start(ready=ready)
        for test in tests:
            test(k)
            print(test.__name__, "ok")
        assert k.stop() == 0
        assert not re.search("Sanitizer|SIGSYS|signal 31",
                             (k.top / "log").read_text())


def token_line(k):
    digest = subprocess.run(["sha256sum"], input=SECRET, text=True,
                            capture_output=True, check=True).stdout.split()[0]
    (k.top / "tokens").write_text(f"ada {digest}\n")


def main():
    run("", [test_output, test_output_place, test_pipes, test_verbose,
             test_verbose_harmless, test_record_key_unseen, test_statuses,
             test_no_relay, test_other_relay, test_terminal, test_ping, test_example, test_redirect,
             test_redirect_relative, test_wrong_options, test_lost_output,
             test_redirected_credentials, test_metrics])
    run("permits = 1\n", [test_retry])
    run("", [test_reload])
    run("token_file = tokens\n", [test_tokens], prepare=token_line)
    run("", [test_no_dns],
        prepare=lambda k: k.ports.update(dns=1))
    run("", [test_warming], ready=False,
        prepare=lambda k: (k.top / "hang").touch())


if __name__ == "__main__":
    sys.exit(main())
