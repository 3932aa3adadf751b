#!/usr/bin/python3
"""test_live.py [long]: an archive verified while it is written: what is not there yet is a tail, never an error.

With "long" also the memory that verification takes: below 64 MiB however many records there are, records
of 11 MB among them, and with sixty times as many no more than with few.
"""
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402

LONG = sys.argv[1:] == ["long"]
LIMIT_KIB, SPARE_KIB = 64 << 10, 2 << 10
BODY = 11000000


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


def peak(args):
    """The most memory that the program ever held, in KiB, by VmHWM of its own address space.  (ru_maxrss of a child
    begins with what its parent held: over an exec it stays.)  Its last bytes of output wait for a reader in a full
    pipe, so the last look comes after all the work."""
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096)
    room = fcntl.fcntl(w, fcntl.F_GETPIPE_SZ)
    os.write(w, bytes(room))
    p = subprocess.Popen([kit.PROGRAM, *args], stdout=w)
    os.close(w)
    hwm = before = idle = 0
    while idle < 50:        # looks in a row at a process that uses no processor
        time.sleep(0.01)
        with open("/proc/%d/status" % p.pid) as f:
            found = re.search(r"^VmHWM:\s+(\d+) kB$", f.read(), re.M)
        assert found, "it ended before it was asked to: exit %s" % p.poll()
        with open("/proc/%d/stat" % p.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        used = int(fields[11]) + int(fields[12])
        idle = idle + 1 if fields[0] == "S" and used == before else 0
        hwm, before = int(found.group(1)), used
    with os.fdopen(r, "rb") as f:
        said = f.read()[room:]
    assert p.wait(60) == 0 and said, (args, p.returncode)
    return hwm


def memory():
    small, large = T + "/small", T + "/large"
    for path, rounds in ((small, 1), (large, 60)):
        subprocess.run([kit.TESTS + "/make_exchanges", path, str(rounds), str(BODY)], check=True, timeout=3000)
    got = {}
    for path in (small, large):
        keys = []
        for line in open(path + ".keys"):
            n, key = line.split()
            open("%s.key%s" % (path, n), "w").write(key + "\n")
            keys += ["--key", "%s.key%s" % (path, n)]
        for extra in ([], keys):
            got[os.path.basename(path), bool(extra)] = peak(
                ["verify", "-r", path, "--pin", path + "/log.vkey", *extra])
    print("peak KiB:", got)
    assert all(v < LIMIT_KIB for v in got.values()), got
    # An opened record is held whole: so it is this program that was measured.
    assert all(got[a, True] - got[a, False] > BODY >> 10 for a in ("small", "large")), got
    assert all(got["large", k] < got["small", k] + SPARE_KIB for k in (False, True)), got


with tempfile.TemporaryDirectory() as T:
    assert any(live(n) for n in ((30, 300) if LONG else (4, 16, 64, 256))), "never seen while it grew"
    if LONG and not os.environ.get("AMBER_SANITIZE"):
        memory()
