#!/usr/bin/python3
"""test_resumed.py: a relay that is killed comes back into its epoch with the key at hand when it opens the archive.

What was written behind the last checkpoint and never signed must open by that key: a record that does not goes to
quarantine/, and no checkpoint covers it.  The real amberd with a double of the generator; the record is written by
archive_kit, from docs/FORMAT.md, while the supervisor is stopped.
"""
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "archive"))
import archive_kit as kit   # noqa: E402
import cbor2                # noqa: E402

PATIENCE = 60


def wait(what, test):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        x = test()
        if x:
            return x
        time.sleep(0.02)
    sys.stderr.write(log())
    raise SystemExit("test_resumed: it never came: %s" % what)


def log():
    return open(T + "/log", errors="replace").read()


def relay():
    return int(re.findall(r"relay: process (\d+)$", log(), re.M)[-1])


def state(pid):
    text = open("/proc/%d/stat" % pid).read()
    return text[text.rindex(")") + 2]


def last():
    """The last segment and its frames, once nothing is pending: a checkpoint of all entries ends it."""
    path = kit.segments(ROOT)[-1]
    try:
        fs = kit.frames(path)
    except (AssertionError, ValueError, IndexError):
        return None     # it is being written
    return (path, fs) if len(fs) > 1 and fs[-1].kind == kit.CHECKPOINT else None


def main(amberd):
    wait("an epoch", lambda: log().count("epoch 1: in the archive") == 1)
    path, fs = wait("a checkpoint", last)
    assert fs[0].kind == kit.MANIFEST and fs[0].index == 0
    payload = cbor2.loads(fs[0].payload)[2]
    size = fs[-1].index
    os.kill(amberd.pid, signal.SIGSTOP)
    try:
        pid = relay()
        os.kill(pid, signal.SIGKILL)
        wait("the relay's end", lambda: state(pid) == "Z")
        record = kit.seal(b"\xa0", b"k" * 32, hashlib.sha256(payload).digest(), "amber.demo", b"s" * 32)
        torn = kit.frame(kit.first_of(path), kit.RECORD, size, record)
        with open(path, "ab") as f:
            f.write(torn)
    finally:
        os.kill(amberd.pid, signal.SIGCONT)
    wait("the epoch again", lambda: log().count("epoch 1: in the archive") == 2)
    assert "%d bytes that were never acknowledged went to quarantine/" % len(torn) in log(), log()
    kept = [open(os.path.join(ROOT, "quarantine", n), "rb").read() for n in os.listdir(ROOT + "/quarantine")]
    assert kept == [torn], kept
    os.kill(amberd.pid, signal.SIGTERM)
    assert amberd.wait(PATIENCE) == 0, log()
    out, _ = kit.expect(0, "verify", "-r", ROOT, "--pin", T + "/amber-data/identity.vkey", "--json")
    assert b'"records":0,' in out and b'"unsigned_entries":0' in out, out
    for word in ("Sanitizer", "SIGSYS", "signal 31"):
        assert word not in log(), log()


with tempfile.TemporaryDirectory() as T:
    ROOT = T + "/amber-data/archive"
    with open(T + "/conf", "w") as conf:
        conf.write("listen = 127.0.0.1:0\nmetrics_listen =\ntimelock = %s/double_generator\n" % kit.TESTS)
    with open(T + "/log", "w") as said:
        process = subprocess.Popen([kit.BIN + "/amberd", "-c", T + "/conf", "-p", "demo"], cwd=T, stdout=said,
                                   stderr=subprocess.STDOUT, env={**os.environ, "AMBER_DOUBLE_FOLDER": T})
    try:
        main(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
print("test_resumed: ok")
