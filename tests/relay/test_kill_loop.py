#!/usr/bin/python3
"""test_kill_loop.py [KILLS [RATE [SEED]]]: kill -9 of relay, generator and supervisor, in a loop, under load.

The real amberd (profile demo, a small puzzle, short epochs) and clients of the client library (soak_load) that keep the
receipt, the record's key and the body of every answer as it comes.  Afterwards every epoch's puzzle is solved, and every
answered request's receipt must be true of the archive, its record open and equal what was fetched.
"""
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN, DOUBLES = os.environ["AMBER_BIN"], os.environ["AMBER_TESTS_BIN"]
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
RATE = sys.argv[2] if len(sys.argv) > 2 else "20"
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
PATIENCE = 180          # seconds: generous, for busy machines and sanitizers
MORE = 4                # answers that show that it is back
rng = random.Random(SEED)


def wait(what, test):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        x = test()
        if x:
            return x
        time.sleep(0.02)
    sys.stderr.write("".join(open(X.log, errors="replace").readlines()[-30:]))
    raise SystemExit(f"test_kill_loop: it never came: {what}")


def stat_of(pid):
    """(parent, command, state) of a process, or None."""
    try:
        text = open(f"/proc/{pid}/stat").read()
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
    return int(rest[1]), name, rest[0]


def children(parent):
    return {int(p): s[1] for p in os.listdir("/proc") if p.isdigit() and (s := stat_of(p)) and s[0] == parent and s[2] != "Z"}


def is_gone(pid):
    s = stat_of(pid)
    return s is None or s[2] == "Z"


class X:
    """What runs."""
    tmp = log = amberd = load = None
    returned = collections.defaultdict(list)

    @classmethod
    def answers(cls):
        try:
            return open(f"{cls.tmp}/load/answers").read().count("\n")
        except OSError:
            return 0

    @classmethod
    def start(cls):
        cls.amberd = subprocess.Popen([f"{BIN}/amberd", "--config", f"{cls.tmp}/amberd.conf"],
                                      stdout=open(cls.log, "a"), stderr=subprocess.STDOUT)

    @classmethod
    def relay(cls):
        """The relay's process, as the log names it last."""
        found = re.findall(r"relay: process (\d+)$", open(cls.log, errors="replace").read(), re.M)
        pid = int(found[-1]) if found else 0
        return pid if pid and not is_gone(pid) and stat_of(pid)[0] == cls.amberd.pid else None

    @classmethod
    def generator(cls):
        kids = [p for p, name in children(cls.amberd.pid).items() if name == "amber-timelock"]
        return kids[0] if kids else None

    @classmethod
    def is_answering(cls, before):
        assert cls.amberd.poll() is None, f"amberd left with {cls.amberd.returncode}"
        assert cls.load.poll() is None, "the load has ended"
        return cls.answers() >= before + MORE


def begin():
    port = 20000 + rng.randrange(12000)
    os.mkdir(f"{X.tmp}/load")
    X.log = f"{X.tmp}/log"
    open(X.log, "w").close()
    X.load = subprocess.Popen(
        [f"{DOUBLES}/soak_load", "--folder", f"{X.tmp}/load", "--relay", f"http://127.0.0.1:{port}", "--pin",
         f"{X.tmp}/data/identity.vkey", "--clients", "8", "--rate", RATE, "--seed", str(SEED), "--save", "--may-lose"],
        stdout=subprocess.PIPE, stderr=open(f"{X.tmp}/load.log", "w"))
    at = wait("the origin", lambda: os.path.exists(f"{X.tmp}/load/dns.port") and
              [open(f"{X.tmp}/load/{n}.port").read().strip() for n in ("origin", "dns")])
    with open(f"{X.tmp}/amberd.conf", "w") as f:
        f.write(f"""listen = 127.0.0.1:{port}
metrics_listen =
identity = {X.tmp}/data/identity
archive = {X.tmp}/data/archive
allow = 127.0.0.1/32
allowed_ports = {at[0]}
dns_servers = 127.0.0.1:{at[1]}
ca_file = {X.tmp}/load/ca.pem
sessions = 1024
epoch = 30s
fetch = 5s
segments = 2
steps = 8
workers = 1
""")
    X.start()
    wait("the first answers", lambda: X.is_answering(0))


def kill(victim):
    """Kills it at a random moment; returns when answers come again."""
    time.sleep(rng.random() * 1.5)
    before, since = X.answers(), time.monotonic()
    if victim == "supervisor":
        kids = children(X.amberd.pid)
        X.amberd.kill()
        X.amberd.wait()
        wait("the children's end", lambda: all(is_gone(p) for p in kids))
        X.start()
    else:
        pid = wait(f"a {victim}", X.relay if victim == "relay" else X.generator)
        before, since = X.answers(), time.monotonic()
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False        # it was done: another one is waited for
        if victim == "relay":
            wait("the relay's return", lambda: X.relay() not in (None, pid))
        else:
            wait("the generator's end", lambda: is_gone(pid))
    wait(f"answers after the {victim}'s death", lambda: X.is_answering(before))
    X.returned[victim].append(time.monotonic() - since)
    return True


def kill_all():
    victims = ["relay", "generator", "supervisor"]
    while len(victims) < KILLS:
        victims.append(rng.choices(["relay", "generator", "supervisor"], (45, 25, 30))[0])
    rng.shuffle(victims)
    for i, v in enumerate(victims[:KILLS]):
        while not kill(v):
            pass
        if i % 10 == 9:
            print(f"{i + 1} kills, {X.answers()} answers", flush=True)


def end():
    X.load.send_signal(signal.SIGTERM)
    out, _ = X.load.communicate(timeout=PATIENCE)
    said = open(f"{X.tmp}/load.log").read()
    assert X.load.returncode == 0, f"the load: {out.decode()} {said}"
    X.amberd.send_signal(signal.SIGTERM)
    assert X.amberd.wait(timeout=PATIENCE) == 0, "amberd's drain"
    log = open(X.log, errors="replace").read()
    assert not re.search(r"Sanitizer|runtime error|signal 31|SIGSYS", log), log[-4000:]
    return out.decode().strip(), log


# ---- afterwards ----

def run(*args, code=0):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800)
    assert p.returncode == code, (args, p.returncode, p.stdout[-2000:])
    return p.stdout


def solve(number):
    key = f"{X.tmp}/keys/{number}"
    run(f"{BIN}/amber-timelock", "solve", f"{X.tmp}/data/archive/epoch/{number}.cose", "--pin", f"{X.tmp}/data/identity.vkey",
        "--mode", "light", "--journal", f"{key}.journal", "--key-out", key)
    return number


def listed(keys):
    """Every record of the archive as the epochs' keys open it, by index."""
    out = run(f"{BIN}/amber-archive", "list", *WHERE, *keys, "--json")
    rows = [json.loads(x) for x in out.splitlines()]
    assert rows[-1]["message_type"] == "summary", rows[-1]
    return {r["index"]: r for r in rows[:-1]}


def check(line, records):
    """One answered request against the archive."""
    n, index, status, method, url, length = line.split()
    saved, r = f"{X.tmp}/load/{n}", records[int(index)]
    s = json.loads(run(f"{BIN}/amber-archive", "check", *WHERE, "--json", f"{saved}.receipt", f"{saved}.key").splitlines()[-1])
    assert s["true"] and s["held"] and s["key_fits"] and s["opened"] and s["index"] == int(index), (line, s)
    assert (r["method"], r["url"]) == (method, url), (line, r)
    body = open(f"{saved}.body", "rb").read()
    assert len(body) == int(length), line
    if status == "200":
        assert r["status"] == 200 and r["outcome"] == "complete", (line, r)
        if method != "HEAD":
            got = run(f"{BIN}/amber-archive", "extract", *WHERE, "--key", f"{X.tmp}/keys/{r['epoch']}", "--response", index)
            assert got == body, f"record {index} is not what was fetched: {line}"
    return int(index)


def check_all():
    numbers = sorted(int(n.split(".")[0]) for n in os.listdir(f"{X.tmp}/data/archive/epoch"))
    os.mkdir(f"{X.tmp}/keys")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        keys = [a for n in pool.map(solve, numbers) for a in ("--epoch-key", f"{n}={X.tmp}/keys/{n}")]
        s = json.loads(run(f"{BIN}/amber-archive", "verify", *WHERE, *keys, "--json").splitlines()[-1])
        assert s["errors"] == 0 and s["opened"] == s["records"], s
        records = listed(keys)
        lines = open(f"{X.tmp}/load/answers").read().splitlines()
        seen = list(pool.map(lambda x: check(x, records), lines))
    assert len(set(seen)) == len(seen) > 0, "two answers with one record"
    print(f"{len(numbers)} epochs solved, {s['records']} records verified and opened, size {s['size']}")
    print(f"{len(seen)} answered requests: each receipt is true, its record is held, opens and is what was fetched")


def main():
    global WHERE
    X.tmp = tempfile.mkdtemp(prefix="amber-kill.")
    WHERE = ("--root", f"{X.tmp}/data/archive", "--pin", f"{X.tmp}/data/identity.vkey")
    print(f"{KILLS} kills, seed {SEED}", flush=True)
    begun = time.monotonic()
    try:
        begin()
        kill_all()
        counts, log = end()
        print(f"{KILLS} kills in {time.monotonic() - begun:.0f} s; the load: {counts}")
        for v, t in sorted(X.returned.items()):
            print(f"{v}: killed {len(t)} times, answers again after {sum(t) / len(t):.1f} s on average, {max(t):.1f} s at most")
        print(f"{log.count('quarantine/')} times a torn tail was put aside")
        check_all()
        print("ok")
    finally:
        for p in (X.load, X.amberd):
            if p is not None and p.poll() is None:
                p.kill()
                p.wait()
        shutil.rmtree(X.tmp)


if __name__ == "__main__":
    main()
