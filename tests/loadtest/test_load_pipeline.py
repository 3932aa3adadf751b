#!/usr/bin/python3
"""amber-load pipeline: clients, amberd and an origin, with a double of the
generator, so that an epoch is there at once."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.environ["AMBER_BIN"]
LOAD = os.path.join(BIN, "amber-load")
DOUBLE = os.path.join(os.environ["AMBER_TESTS_BIN"], "double_generator")
CELL = {"message_type", "concurrency", "size", "delay_ms", "retry",
        "requests", "ok", "refused", "failed", "retries", "bytes", "seconds",
        "requests_per_s", "ceiling_per_s", "share_of_ceiling", "ms",
        "refused_ms", "cpu_ms_per_request", "supervisor_cpu_ms_per_request",
        "client_cpu_ms_per_request", "origin_cpu_ms_per_request",
        "peak_rss_kib", "peak_is_of_this_cell", "records",
        "commit_batch_mean", "relay_sync_ms_mean", "sync_ms"}
SUMMARY = {"message_type", "verified", "requests", "ok", "refused", "failed",
           "retries", "bytes", "seconds", "requests_per_s", "ms",
           "cpu_ms_per_request", "supervisor_cpu_ms_per_request",
           "client_cpu_ms_per_request", "origin_cpu_ms_per_request",
           "peak_rss_kib", "records", "commit_batch_mean",
           "relay_sync_ms_mean", "sync_ms", "error"}

folder = tempfile.TemporaryDirectory()
os.environ["AMBER_DOUBLE_FOLDER"] = folder.name


def run(*args, code=0, own=True):
    """own: with a relay that is started for it."""
    for name in os.listdir(folder.name):
        if os.path.isfile(os.path.join(folder.name, name)):
            os.unlink(os.path.join(folder.name, name))
    start = ["--set", f"timelock={DOUBLE}", "--folder", folder.name]
    p = subprocess.run([LOAD, "pipeline", *(start if own else []), *args],
                       capture_output=True, text=True, timeout=280)
    assert p.returncode == code, (args, p.returncode, p.stdout, p.stderr)
    left = [n for n in os.listdir(folder.name) if n.startswith("amber-load")]
    assert "--keep" in args or not left, left
    return p


def lines(*args, code=0, own=True):
    out = run("--json", *args, code=code, own=own).stdout.splitlines()
    return [json.loads(line) for line in out]


def test_cells():
    got = lines("-c", "2,4", "-s", "1KiB,100KiB", "-d", "0,50ms", "-n", "12")
    assert [x["message_type"] for x in got] == \
        ["machine"] + ["cell"] * 8 + ["summary"], got
    for x in got[1:-1]:
        want = CELL | ({"straight_ms", "over_straight_and_sync_ms"}
                       if x["delay_ms"] == 0 else set())
        assert set(x) == want, set(x) ^ want
        assert x["ok"] == x["requests"] == 12 and x["failed"] == 0, x
        assert x["bytes"] == 12 * x["size"] and x["records"] == 12, x
        assert 0 < x["ms"]["p50"] <= x["ms"]["p99"] <= x["ms"]["max"], x
        assert x["ms"]["p50"] >= x["delay_ms"], x
        assert x["peak_rss_kib"] > 1000 and x["cpu_ms_per_request"] > 0, x
        if x["delay_ms"]:
            assert x["ceiling_per_s"] == x["concurrency"] * 1000 / 50, x
            assert 0 < x["share_of_ceiling"] <= 1, x
        else:
            assert x["ceiling_per_s"] is None, x
    s = got[-1]
    assert set(s) == SUMMARY, set(s) ^ SUMMARY
    assert s["ok"] == 96 and s["verified"] is True and s["error"] is None, s
    assert s["bytes"] == 48 * (1024 + 102400), s


def test_refused():
    """Two permits for four clients: refusals at once; with --retry all come
    through in the end."""
    args = ["-c", "4", "-d", "300ms", "--set", "permits=2"]
    x = lines(*args, "-n", "40")[1]
    assert x["refused"] > 0 and x["ok"] >= 2 and x["failed"] == 0, x
    assert x["ok"] + x["refused"] == x["requests"] == 40, x
    assert x["retries"] == 0 and x["refused_ms"]["p50"] < 300, x
    x = lines(*args, "-n", "8", "--retry")[1]
    assert x["ok"] == 8 and x["failed"] == 0, x
    assert x["retries"] == x["refused"] > 0, x


def test_stall():
    s = lines("--stall", "-c", "8", "-t", "1")[-1]
    assert s["mode"] == "stall" and s["verified"] is True, s
    assert s["held"] == 8 and s["refused"] == 0, s
    # what their readers do not take, the relay holds
    assert s["peak_rss_kib"] - s["rss_before_kib"] > 8 * 8 * 1024, s
    assert s["peak_rss_kib"] < s["documented_kib"], s
    # and gives back once they are gone; a sanitizer's malloc keeps it
    if not os.environ["AMBER_SANITIZE"]:
        assert s["rss_after_kib"] - s["rss_before_kib"] < 5 * 1024, s


def test_mixed():
    # what is left in the middle holds the end up for so long, and the relay
    # ends in order before its supervisor loses patience
    # (a sanitizer's relay is slow, and answers 504 when that is over)
    lease = "15s" if os.environ["AMBER_SANITIZE"] else "5s"
    s = lines("--mixed", "-t", "6", "-c", "8", "--set", f"fetch={lease}",
              "--set", f"publish={lease}")[-1]
    assert s["mode"] == "mixed" and s["verified"] is True, s
    assert s["failed"] == 0 and s["ok"] > 0 and s["left"] > 0, s
    assert s["answered_otherwise"] > 0, s
    assert s["ok"] + s["answered_otherwise"] + s["refused"] + s["left"] + \
        s["without_session"] == s["requests"], s
    for name in ("start", "middle", "end"):
        if s["relay"][name]:            # a busy machine may miss a look
            assert s["relay"][name]["rss_kib"] > 1000, s


def test_others():
    """A relay and an origin that run already; and what is to be noticed."""
    ca = os.path.join(folder.name, "ca.pem")
    origin = subprocess.Popen(
        [LOAD, "origin", "--json", "--ca-file", ca],
        stdout=subprocess.PIPE, text=True)
    url = json.loads(origin.stdout.readline())["url"]
    port = url.rsplit(":", 1)[1]
    with open(ca) as f:
        pem = f.read()
    data = tempfile.TemporaryDirectory()
    ca = os.path.join(data.name, "ca.pem")
    with open(ca, "w") as f:
        f.write(pem)
    log_name = os.path.join(data.name, "log")
    with open(log_name, "w") as log:
        relay = subprocess.Popen(
            [os.path.join(BIN, "amberd"), "-l", "127.0.0.1:0", "-s",
             "metrics_listen=", "-s", f"timelock={DOUBLE}", "-s",
             "allow=127.0.0.1/32", "-s", f"allowed_ports={port}", "-s",
             f"ca_file={ca}"], stderr=log, cwd=data.name)
    try:
        where = None
        for _ in range(1200):
            time.sleep(0.1)
            with open(log_name) as f:
                text = f.read()
            if "listening for exchanges on " in text and \
                    "in the archive" in text:
                where = text.split("listening for exchanges on ")[1]
                break
        assert where, text
        there = ["--relay", "http://" + where.split()[0], "--pin",
                 os.path.join(data.name, "amber-data/identity.vkey"),
                 "--origin", url, "--origin-ca", ca]
        x = lines("-c", "2", "-n", "6", *there, own=False)[1]
        assert x["ok"] == 6 and x["cpu_ms_per_request"] is None, x
        assert x["records"] is None and x["peak_rss_kib"] is None, x
        # not what it should be: another body, another status, another pin
        for path, want in (("/echo", "wrong bytes"),
                           ("/no-content", "status 204")):
            args = [*there, "-n", "2", "-c", "1", "--origin", url + path,
                    "-d", "10ms"]
            if path == "/no-content":
                args[args.index(url + path)] = url + "/nothing"
                want = "status 404"
            got = lines(*args, code=1, own=False)
            assert got[-1]["verified"] is False, got
            assert want in got[-1]["error"], got
        other = os.path.join(data.name, "other.vkey")
        subprocess.run([os.path.join(BIN, "amberd"), "--init", "-p", "demo",
                        "-i", os.path.join(data.name, "o/identity"), "-a",
                        os.path.join(data.name, "o/archive")], check=True,
                       capture_output=True)
        other = os.path.join(data.name, "o/identity.vkey")
        got = lines(*[other if a.endswith(".vkey") else a for a in there],
                    "-n", "1", "-c", "1", "-d", "1ms", code=1, own=False)
        assert "TLS" in got[-1]["error"], got
    finally:
        for p in (origin, relay):
            p.send_signal(signal.SIGTERM)
        assert origin.wait(timeout=100) == 0
        assert relay.wait(timeout=100) == 0
        data.cleanup()


def test_stop():
    """SIGTERM in the middle: a summary, nothing left behind."""
    p = subprocess.Popen(
        [LOAD, "pipeline", "--json", "--set", f"timelock={DOUBLE}",
         "--folder", folder.name, "-t", "1000s", "-d", "20ms"],
        stdout=subprocess.PIPE, text=True)
    assert json.loads(p.stdout.readline())["message_type"] == "machine"
    time.sleep(1)
    p.send_signal(signal.SIGTERM)
    last = json.loads(p.stdout.read().splitlines()[-1])
    assert p.wait(timeout=100) == 1
    assert last["message_type"] == "summary", last
    assert last["verified"] is False and last["error"] == "stopped", last
    left = [n for n in os.listdir(folder.name) if n.startswith("amber-load")]
    assert not left, left


def test_options():
    for args in (["-c", "0"], ["-c", "513"], ["-c", "1,"], ["-s", "65MiB"],
                 ["-d", "31s"], ["-n", "0"], ["-t", "0"], ["-t", "1500ms"],
                 ["-w", "57"], ["--stall", "--mixed"], ["--stall", "-c",
                 "1,2"], ["--mixed", "-n", "3"], ["--rest", "1"],
                 ["--relay", "http://x"], ["--pin", "x"], ["--relay",
                 "http://x", "--pin", "y"], ["--no-such"], ["extra"],
                 ["--origin-ca", "/dev/null"], ["--relay-ca", "no-file"],
                 ["-c", ",".join(["1"] * 17)]):
        p = run(*args, code=2, own=False)
        assert p.stdout == "" and p.stderr, args
    for option in "--relay-ca", "--origin-ca":
        p = run(option, "no-file", code=2, own=False)
        assert option in p.stderr and "no-file: No such file" in p.stderr, p
        p = run(option, __file__, code=2, own=False)
        assert f"{__file__}: no certificates in PEM" in p.stderr, p
    assert "--matrix" in run("--help", own=False).stdout
    got = lines("--amberd", "/nowhere/amberd", "-n", "1", code=1)
    assert got[-1]["message_type"] == "summary", got
    assert "/nowhere/amberd" in got[-1]["error"], got
    got = lines("--set", "permits=none", "-n", "1", code=1)
    assert "amberd ended" in got[-1]["error"], got


def test_text():
    out = run("-n", "4", "-c", "2").stdout
    assert "every byte and every receipt verified" in out, out


def main():
    only = sys.argv[1:]
    for name, test in sorted(globals().items()):
        if name.startswith("test_") and (not only or name in only):
            start = time.monotonic()
            test()
            print("ok", name, f"{time.monotonic() - start:.1f} s",
                  flush=True)
    folder.cleanup()
    return 0


sys.exit(main())
