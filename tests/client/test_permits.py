#!/usr/bin/python3
"""Admission by the real relay (FAULTS): the 17th request, a crowd that comes
back, and ways that lead to the relay itself."""
import json
import re
import socket
import subprocess
import sys

from relay_kit import BIN, DOUBLES, OWN, Kit


def hold(k, what, url, *args):
    p = subprocess.run([DOUBLES + "/hold_permits", what, k.env["AMBER_RELAY"],
                        k.pin, url, *args], capture_output=True, text=True,
                       env=k.env, timeout=240)
    print(p.stdout, end="", flush=True)
    assert p.returncode == 0, (p.returncode, p.stdout, p.stderr)


def metric(k, name):
    text = k.get(k.metrics, "/metrics")
    return int(re.search(rf"^{re.escape(name)} (\d+)$", text, re.M).group(1))


def test_seventeenth(k):
    before = metric(k, 'amber_refused_total{reason="permits"}')
    hold(k, "seventeen", k.url("/ok?delay=8000"))
    refused = metric(k, 'amber_refused_total{reason="permits"}') - before
    assert refused == 21, refused
    assert metric(k, "amber_permits_most_in_use") == 16
    assert metric(k, "amber_permits_in_use") == 0
    # What was refused left no record: 16, after the manifest.
    assert metric(k, "amber_log_size") == 17


def test_crowd(k):
    refused = metric(k, 'amber_refused_total{reason="permits"}')
    hold(k, "crowd", k.url("/ok?delay=500"), "64")
    assert metric(k, 'amber_refused_total{reason="permits"}') > refused
    assert metric(k, "amber_log_size") == 17 + 64
    assert metric(k, "amber_permits_most_in_use") == 16
    assert json.loads(k.get(k.address, "/v1/status"))["permits"]["in_use"] == 0
    print("%d entries in %d batches" % committed(k))


def committed(k):
    return metric(k, "amber_commit_entries_total"), metric(k, "amber_commit_batches_total")


def test_sync_each(k):
    """Records that come to be committed at once: each has a sync of its own."""
    hold(k, "crowd", k.url("/ok?delay=500"), "64")
    entries, batches = committed(k)
    assert entries == batches == 1 + 64, (entries, batches)


def own_addresses():
    """Of this machine's interfaces, but for loopback."""
    text = subprocess.run(["hostname", "-I"], capture_output=True,
                          text=True, check=True).stdout
    return [a for a in text.split() if not a.startswith(("127.", "fe80:"))]


def test_loop(k):
    hosts = [OWN, "own.example"]
    for a in own_addresses():
        try:
            socket.inet_aton(a)
            hosts.append(a)
        except OSError:
            hosts.append(f"[{a}]")
    for host in hosts:
        p = k.fetch("-i", k.url(host=host), code=7)
        assert "proxy_loop_detected" in p.stdout and "403" in p.stdout, p
        assert "leads to the relay itself" in p.stderr, p.stderr
    # A request that went through a relay of ours already.
    p = k.fetch("-i", "-H", "Via: 1.1 amber", k.url(), code=7)
    assert "proxy_loop_detected" in p.stdout, p.stdout
    print(f"proxy_loop_detected for {', '.join(hosts)} and by Via")


def main():
    with Kit() as k:
        k.start()
        for test in (test_seventeenth, test_crowd, test_loop):
            test(k)
            print(test.__name__, "ok", flush=True)
        assert k.stop() == 0
        subprocess.run([BIN + "/amber-archive", "verify", "--pin", k.pin,
                        "--root", k.top / "amber-data/archive"], check=True,
                       stdout=subprocess.DEVNULL)
    with Kit() as k:
        k.start("sync_each = yes\n")
        test_sync_each(k)
        print("test_sync_each ok", flush=True)
        assert k.stop() == 0


if __name__ == "__main__":
    sys.exit(main())
