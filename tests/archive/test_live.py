#!/usr/bin/python3
"""test_live.py [long]: an archive verified while it is written: what is not there yet is a tail, never an error.

With "long" also the memory that verification takes: below 64 MiB however many records there are, records
of 10 MiB among them.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402

LONG = sys.argv[1:] == ["long"]
LIMIT_KIB = 64 << 10


def summary(out):
    return json.loads(out.splitlines()[-1])


def live(rounds):
    """True when the archive was seen growing; a fast writer may be done before the second look."""
    root, sizes, looks, signed = T + "/live%d" % rounds, [], 0, 0
    writer = subprocess.Popen([kit.TESTS + "/make_exchanges", root, str(rounds)])
    pin = root + "/log.vkey"
    end = time.monotonic() + 300
    while not os.path.exists(root + "/FORMAT") and time.monotonic() < end:
        time.sleep(0.005)
    while writer.poll() is None and time.monotonic() < end:
        args = ["--quick"] if looks % 4 == 3 else []
        s = summary(kit.expect(0, "verify", "-r", root, "--pin", pin, "--json", *args)[0])
        kit.expect(0, "list", "-r", root, "--json")
        kit.expect(0, "stats", "-r", root, "--json")
        # Each only grows; what was seen unsigned may still be so at the next look.
        assert s["size"] >= (sizes or [0])[-1] and s["size"] >= s["checked"] >= signed, (s, sizes, signed)
        sizes.append(s["size"])
        signed = s["checked"]
        # What it holds now it holds for ever: kept, and compared next time.
        if os.path.exists(root + "/checkpoint"):
            shutil.copy(root + "/checkpoint", T + "/kept")
            kit.expect(0, "verify", "-r", root, "--pin", pin, "--against", T + "/kept")
        looks += 1
    assert writer.wait(60) == 0
    against = ["--against", T + "/kept"] if os.path.exists(T + "/kept") else []
    s = summary(kit.expect(0, "verify", "-r", root, "--pin", pin, "--json", *against)[0])
    assert s["unsigned_entries"] == 0 and s["tail_bytes"] == 0 and s["size"] >= (sizes or [0])[-1]
    if os.path.exists(T + "/kept"):
        os.remove(T + "/kept")
    if len(set(sizes)) < 2:
        return False
    print("looks while it was written: %d, sizes %d to %d" % (looks, sizes[0], s["size"]))
    return True


def memory():
    small, large = T + "/small", T + "/large"
    for path, rounds in ((small, 1), (large, 60)):
        subprocess.run([kit.TESTS + "/make_exchanges", path, str(rounds), "11000000"], check=True, timeout=3000)
    got = {}
    for path in (small, large):
        keys = []
        for line in open(path + ".keys"):
            n, key = line.split()
            open("%s.key%s" % (path, n), "w").write(key + "\n")
            keys += ["--key", "%s.key%s" % (path, n)]
        for extra in ([], keys):
            p = subprocess.Popen([kit.PROGRAM, "verify", "-r", path, "--pin", path + "/log.vkey", *extra],
                                 stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(p.pid, 0)
            assert status == 0, (path, status)
            got[path, bool(extra)] = usage.ru_maxrss
    print("peak KiB:", {(os.path.basename(k[0]), k[1]): v for k, v in got.items()})
    assert all(v < LIMIT_KIB for v in got.values()), got


with tempfile.TemporaryDirectory() as T:
    assert any(live(n) for n in ((30, 300) if LONG else (4, 16, 64, 256))), "never seen while it grew"
    if LONG and not os.environ.get("AMBER_SANITIZE"):
        memory()
