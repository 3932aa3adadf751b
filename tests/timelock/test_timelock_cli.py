#!/usr/bin/python3
"""amber-timelock from the outside: keygen, generate, inspect, solve, alone and
as a supervisor's child.  Arguments are unittest's; what begins with test_long
runs only when AMBER_LONG is set."""

import base64
import json
import os
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import cbor2

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import timelock_peer as peer  # noqa: E402

BIN = os.path.join(os.environ["AMBER_BIN"], "amber-timelock")
LONG = bool(os.environ.get("AMBER_LONG"))
SANITIZED = bool(os.environ.get("AMBER_SANITIZE"))
NAME = "relay.example"


def run(*args, code=0, limit=None, **kw):
    def small():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    p = subprocess.run([BIN, *map(str, args)], capture_output=True, text=True,
                       timeout=900 if LONG else 120, preexec_fn=small if limit else None, **kw)
    assert p.returncode == code, (args, p.returncode, p.stdout, p.stderr)
    return p


def lines(p):
    return [json.loads(s) for s in p.stdout.splitlines()]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def is_alive(pid):
    try:
        state = read(f"/proc/{pid}/stat").decode().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return state[0] not in "ZX"


def children_of(pid):
    found = []
    for name in os.listdir("/proc"):
        try:
            text = read(f"/proc/{name}/stat").decode()
        except (OSError, NotADirectoryError):
            continue
        if name.isdigit() and int(text.rsplit(")", 1)[1].split()[1]) == pid:
            found.append(int(name))
    return found


class Folder(unittest.TestCase):
    """One identity and one puzzle, made once."""
    N, M, K = 2, 9, 4

    @classmethod
    def setUpClass(cls):
        cls.old = os.getcwd()
        cls.folder = tempfile.mkdtemp(prefix="amber-timelock-")
        os.chdir(cls.folder)
        cls.vkey = run("keygen", "--origin", NAME, "--out", "id").stdout
        cls.made = run(
            "generate", "-n", cls.N, "-s", cls.M, "--milestone", cls.K,
            "-m", "light", "-w", 2, "-e", 7, "-i", "id", "-o", "m.cose",
            "-k", "key", "--recheck", 50, "--json")
        cls.file = read("m.cose")
        cls.key = read("key")

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.old)
        shutil.rmtree(cls.folder)

    def solve(self, journal, key, *args, code=0, manifest="m.cose", **kw):
        return run("solve", manifest, "--pin", "id.vkey", "--journal",
                   journal, "--key-out", key, "-m", "light", *args, code=code,
                   **kw)

    # ---- keygen ----

    def test_keygen(self):
        self.assertEqual(stat.S_IMODE(os.stat("id").st_mode), 0o600)
        self.assertEqual(read("id.vkey").decode(), self.vkey)
        self.assertEqual(peer.vkey_public(self.vkey)[0], NAME)
        before = read("id")
        p = run("keygen", "--origin", NAME, "--out", "id", code=1)
        self.assertIn("exist", p.stderr)
        self.assertEqual(read("id"), before)
        for origin in ("", "Relay", "1st", "a" * 129):
            run("keygen", "--origin", origin, "--out", "bad", code=1)
            self.assertFalse(os.path.exists("bad"))
        p = run("keygen", "-n", "a" * 128, "-o", "long", "--json")
        self.assertEqual(lines(p)[0]["origin"], "a" * 128)

    # ---- the puzzle, independently ----

    def test_manifest(self):
        m, puzzle = peer.open_manifest(self.file, self.vkey)
        self.assertEqual((m[1], m[3], m[6], m[8], m[9], m[10]),
                         (1, 7, "rx/0", self.N, self.M, self.K))
        self.assertEqual(m[5] - m[4], 86400)
        self.assertLess(abs(m[4] - time.time()), 3600)
        self.assertRegex(self.key, b"^[0-9a-f]{64}\n$")
        self.assertEqual(stat.S_IMODE(os.stat("key").st_mode), 0o600)
        self.assertEqual(peer.solve(m).hex().encode() + b"\n", self.key)
        shown = lines(run("inspect", "m.cose", "--pin", self.vkey.strip(),
                          "--json", "--rate", "2"))[0]
        self.assertEqual(shown["puzzle_id"], puzzle.hex())
        self.assertEqual(shown["signature"], "good")
        self.assertEqual(shown["dataset_key"], m[7].hex())
        self.assertEqual(shown["seed"], m[11].hex())
        self.assertEqual(shown["wrapped_keys"], [w.hex() for w in m[12]])
        self.assertEqual(shown["commitment"], m[13].hex())
        self.assertEqual(shown["tags"], [t.hex() for t in m[14]])
        self.assertEqual(shown["cost"]["seconds"], self.N * self.M / 2)
        self.assertEqual(lines(self.made)[-1]["puzzle_id"], puzzle.hex())

    def test_progress(self):
        told = [o for o in lines(self.made)
                if o["message_type"] == "progress"]
        for o in told:
            self.assertLessEqual(
                {"phase", "completed_hashes", "total_hashes",
                 "completed_segments", "segments", "workers", "rate_hps",
                 "eta_s", "elapsed_s", "restarts", "recheck_errors"}, set(o))
        self.assertEqual(told[-1]["phase"], "verify")
        self.assertEqual(told[-1]["completed_hashes"],
                         told[-1]["total_hashes"])
        # 6 spans, half of them (3) checked again
        self.assertGreater(told[-1]["total_hashes"], self.N * self.M)

    @unittest.skipUnless(LONG, "long")
    def test_long_nothing_leaks(self):
        m, _ = peer.open_manifest(self.file, self.vkey)
        told = (self.made.stdout + self.made.stderr).encode()
        secrets = [bytes.fromhex(self.key.decode().strip())]
        salt, x, rx = peer.salt_of(m), m[11], peer.RandomX(m[7])
        for i in range(1, self.N + 1):
            for j in range(1, self.M + 1):
                x = rx.hash(x + peer.struct.pack("<IQ", i, j))
                secrets.append(x)
            k = peer.segment_key(x, salt, i)
            secrets.append(k)
            x = peer.unseal(k, salt, i, m[12][i - 1])
            secrets.append(x)
        rx.close()
        for name in ("m.cose", "id", "id.vkey"):
            told += read(name)
        for s in secrets:
            for form in (s, s.hex().encode(), s.hex().upper().encode(),
                         base64.b64encode(s)):
                self.assertNotIn(form, told)

    def test_inspect_text(self):
        p = run("inspect", "m.cose", "--rate", "571")
        self.assertIn("NOT CHECKED", p.stdout)
        self.assertIn("at 571 H/s", p.stdout)
        p = run("inspect", "m.cose", "--pin", "id.vkey", "--rate", "0")
        self.assertIn("good, by the pinned", p.stdout)
        self.assertNotIn("solving here", p.stdout)
        run("inspect", "m.cose", "--rate", "fast", code=2)
        run("keygen", "--origin", NAME, "--out", "id2")
        p = run("inspect", "m.cose", "--pin", "id2.vkey", code=1)
        self.assertEqual(p.stdout, "")
        for path in ("id.vkey", "id2.vkey"):
            self.assertIn("(" + read(path).decode().split("+")[1] + ")",
                          p.stderr)
        # a pin that is none is the command line's fault
        for args in (["inspect", "m.cose"], ["solve", "m.cose", "-J", "no.j",
                                             "-k", "no.k"]):
            for pin in ("nothing", "m.cose", ""):
                p = run(*args, "--pin", pin, code=2)
                self.assertIn("--pin: ", p.stderr)
        for left, want in (("-p", "--pin"), ("-J", "--journal"),
                           ("-k", "--key-out"), (None, "one MANIFEST")):
            args = [a for o in ("-p", "-J", "-k") if o != left
                    for a in (o, "x")]
            p = run("solve", *args, *(["m.cose"] if left else []), code=2)
            self.assertEqual(p.stderr.splitlines()[0], "amber-timelock solve:"
                             " " + want + (" is missing" if left else
                                           " is needed"))

    # ---- solving ----

    def test_solve_and_journal(self):
        # in no more address space than a machine of 512 MiB has
        p = self.solve("j1", "key1", "--json",
                       limit=None if SANITIZED else 512 << 20)
        self.assertEqual(read("key1"), self.key)
        self.assertEqual(stat.S_IMODE(os.stat("key1").st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat("j1").st_mode), 0o600)
        end = lines(p)[-1]
        self.assertEqual((end["hashes"], end["recomputed"], end["key_file"]),
                         (self.N * self.M, 0, "key1"))
        # another puzzle's journal: the same puzzle with other times
        m, _ = peer.open_manifest(self.file, self.vkey)
        m[5] += 1
        write("other.cose", peer.sign_payload(cbor2.dumps(m),
                                              read("id").decode()))
        before = read("j1")
        p = self.solve("j1", "key2", code=1, manifest="other.cose",
                       limit=None if SANITIZED else 192 << 20)
        self.assertIn("another puzzle", p.stderr)
        self.assertEqual(read("j1"), before)
        # in use
        holder = subprocess.Popen(["flock", "j1", "sleep", "60"])
        try:
            while subprocess.run(["flock", "-n", "j1", "true"]).returncode:
                break
            time.sleep(0.3)
            self.solve("j1", "key2", code=11)
        finally:
            holder.kill()
            holder.wait()
        self.assertFalse(os.path.exists("key2"))

    def test_refused_before_memory(self):
        """Faulty manifests, properly signed, in less memory than RandomX
        takes: the message is of the fault."""
        good, _ = peer.open_manifest(self.file, self.vkey)
        rows = [
            ({1: 2}, "version 2"), ({2: "Bad"}, "key 2 (origin)"),
            ({3: -1}, "key 3 (epoch)"), ({5: good[4]}, "is not later than"),
            ({6: "rx/9"}, "unknown algorithm"), ({7: b"x"}, "key 7"),
            ({8: 0}, "no segments"), ({8: 1025}, "1025 is more than 1024"),
            ({9: 0}, "no steps"), ({9: 1 << 41}, "key 9 (steps)"),
            ({10: 0}, "a milestone every 0"), ({10: 10}, "every 10 steps"),
            ({9: 1 << 40, 10: 1}, "more than 65536 milestones"),
            ({11: b""}, "key 11"), ({12: good[12][:1]}, "key 12"),
            ({13: bytes(31)}, "key 13"), ({14: good[14] + [b""]}, "key 14"),
            ({15: ""}, "key 15"), ({16: 0}, "16 keys where 15 belong"),
            ({2: "other.example"}, "is not the pinned"),
        ]
        identity = read("id").decode()
        limit = None if SANITIZED else 192 << 20
        said = set()
        for change, want in rows:
            payload = cbor2.dumps({**good, **change})
            write("bad.cose", peer.sign_payload(payload, identity))
            p = self.solve("jbad", "kbad", code=1, manifest="bad.cose",
                           limit=limit)
            self.assertIn(want, p.stderr)
            said.add(p.stderr)
        self.assertEqual(len(said), len(rows))
        for name, data, want in (
                ("trailing", cbor2.dumps(good) + b"\0", "after the end"),
                ("order", cbor2.dumps(dict(reversed(good.items()))), "key 1")):
            write("bad.cose", peer.sign_payload(data, identity))
            p = self.solve("jbad", "kbad", code=1, manifest="bad.cose",
                           limit=limit)
            self.assertIn(want, p.stderr, name)
        flipped = bytearray(self.file)
        flipped[-1] ^= 1
        write("bad.cose", flipped)
        p = self.solve("jbad", "kbad", code=1, manifest="bad.cose",
                       limit=limit)
        self.assertIn("signature", p.stderr)
        self.assertFalse(os.path.exists("jbad"))
        self.assertFalse(os.path.exists("kbad"))

    def test_algorithm(self):
        good, _ = peer.open_manifest(self.file, self.vkey)
        good[6] = "rx/2"
        write("rx2.cose", peer.sign_payload(cbor2.dumps(good),
                                            read("id").decode()))
        shown = run("inspect", "rx2.cose", "--rate", 0).stdout
        self.assertIn("rx/2", shown)
        if "this build cannot compute it" in shown:
            p = self.solve("j2", "k2", code=3, manifest="rx2.cose",
                           limit=None if SANITIZED else 192 << 20)
            self.assertIn("rx/2", p.stderr)
            self.assertFalse(os.path.exists("j2"))
            run("generate", "-n", 1, "-s", 4, "-m", "light", "-i", "id",
                "-o", "no", "--algorithm", "rx/2", code=3)

    def test_ways(self):
        """Files that could not be written at the end, and CPUs that are not
        to be had, are refused at the start."""
        limit = None if SANITIZED else 192 << 20
        os.symlink("/nowhere", "link")
        os.mkfifo("pipe", 0o644)        # for what /dev/null is to root
        before = set(os.listdir("."))
        small = ("-n", 1, "-s", 4, "-m", "light", "-i", "id")
        for args, want in (
                (("-o", "none/m"), "folder none: No such file"),
                (("-o", ""), "name is missing"),
                (("-o", "id/m"), "Not a directory"),
                (("-o", "no", "-k", "none/k"), "folder none"),
                (("-o", "no", "-k", "./no"), "are the same file"),
                (("-o", "no", "--first-cpu", 1023), "CPU 1023"),
                (("-o", "no", "--not-after", 5), "must be later"),
                (("-o", "no", "--not-before", 5, "--not-after", 6), "over"),
                (("-o", "no", "--not-before", "9999-12-31T23:59:00Z"),
                 "1970..9999")):
            p = run("generate", *small, *args, code=1, limit=limit)
            self.assertIn(want, p.stderr)
        for key, args, want in (
                ("none/k", (), "folder none"), ("link", (), "no ordinary"),
                ("pipe", (), "no ordinary"),
                (".", (), "no ordinary"), ("m.cose", (), "the manifest"),
                ("./jways", (), "--journal"), ("id.vkey", (), "--pin"),
                ("kways", ("--cpu", 1023), "--cpu: pin to CPU 1023")):
            p = self.solve("jways", key, *args, code=1, limit=limit)
            self.assertIn(want, p.stderr)
        for name in ("m.cose", "pipe", "link"):
            mode = os.lstat(name)
            self.solve(name, "kways", code=1, limit=limit)
            self.assertEqual(os.lstat(name).st_mode, mode.st_mode)
        self.assertEqual(read("m.cose"), self.file)
        self.assertEqual(set(os.listdir(".")), before)
        os.unlink("link")
        os.unlink("pipe")

    def test_stdout_full(self):
        """What did not get out is no success, which is said once."""
        for args in (("--help",), ("--version",), ("solve", "--help"),
                     ("inspect", "m.cose", "--rate", "0"),
                     ("inspect", "m.cose", "--rate", "0", "--json")):
            with open("/dev/full", "w", encoding="ascii") as full:
                p = subprocess.run([BIN, *args], stdout=full, text=True,
                                   stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(p.returncode, 1, (args, p.stderr))
            self.assertIn("No space" if "--json" in args else
                          "standard output", p.stderr)
            self.assertEqual(p.stderr.count("\n"), 1, p.stderr)

    @unittest.skipUnless(LONG, "long")
    def test_long_generator_killed(self):
        before = set(os.listdir("."))
        p = subprocess.Popen(
            [BIN, "generate", "-n", "4", "-s", "100000", "-m", "light", "-i",
             "id", "-o", "never", "--json"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        workers = []
        for line in p.stdout:
            if json.loads(line)["phase"] == "compute":
                break
        while len(workers) < 2:
            workers = children_of(p.pid)
            time.sleep(0.05)
        p.kill()
        p.communicate(timeout=60)
        for _ in range(200):
            left = [w for w in workers if is_alive(w)]
            if not left:
                break
            time.sleep(0.05)
        self.assertEqual(left, [])
        self.assertEqual(set(os.listdir(".")), before)

    @unittest.skipUnless(LONG, "long")
    def test_long_wrong_wraps(self):
        good, _ = peer.open_manifest(self.file, self.vkey)
        identity = read("id").decode()
        bad = dict(good)
        bad[12] = [bytes(48)] + good[12][1:]
        write("wrap.cose", peer.sign_payload(cbor2.dumps(bad), identity))
        p = self.solve("jw", "kw", code=1, manifest="wrap.cose")
        self.assertIn("segment 1", p.stderr)
        self.assertFalse(os.path.exists("kw"))

    # ---- generating ----

    def test_usage(self):
        self.assertRegex(run("--version").stdout, r"^amber-timelock \d")
        text = run("--help").stdout
        for name in ("keygen", "generate", "inspect", "solve"):
            self.assertIn(name, text)
            self.assertIn("Usage: amber-timelock " + name,
                          run(name, "--help").stdout)
            run(name, code=2)
            for bad in ("--nonsense", "-Z", "--help=1"):
                p = run(name, bad, code=2)
                for line in p.stderr.splitlines()[:-1]:
                    self.assertTrue(line.startswith(
                        f"amber-timelock {name}: "), line)
                self.assertIn(bad.strip("-")[0:4], p.stderr)
                self.assertNotIn("see above", p.stderr)
        p = run("solve", "m.cose", "--pin", code=2)
        self.assertEqual(p.stderr.splitlines()[0], "amber-timelock solve: "
                         "option '--pin' requires an argument")
        for name in ("calibrate", "bench"):
            p = run(name, "--mode", code=2)
            self.assertEqual(p.stderr.splitlines()[0], f"amber-timelock {name}"
                             ": option '--mode' requires an argument")
        run(code=2)
        run("nonsense", code=2)
        for args in (("-n", 0), ("-n", 1025), ("-s", 0), ("-s", 1 << 41),
                     ("--recheck", 101), ("--recheck", "auto"), ("-w", 0),
                     ("--milestone", 0), ("-m", "heavy"), ("--nice", 20),
                     ("--fd", 2), ("--origin", "a"), ("extra",),
                     ("--not-before", 9, "--not-after", 9),
                     ("--algorithm", "rx/1")):
            run("generate", "-n", 1, "-s", 4, "-i", "id", "-o", "no", *args,
                code=2)
        # the option at fault has its name, in the short form too
        for short, name in (("-n", "--segments"), ("-s", "--steps"),
                            ("-w", "--workers"), ("-e", "--epoch"),
                            ("-m", "--mode")):
            p = run("generate", short, "x", code=2)
            self.assertIn(name + ":", p.stderr)
        for args in (("-i", "id"), ("-o", "x"), ("--not-before", 1)):
            run("generate", "-n", 1, "-s", 4, "--fd", 3, "--origin", "a",
                *args, code=2)

    def test_generate_refuses(self):
        limit = None if SANITIZED else 192 << 20
        small = ("-n", 1, "-s", 4, "-m", "light")
        p = run("generate", *small, "-i", "id", "-o", "m.cose", code=1,
                limit=limit)
        self.assertIn("m.cose exists", p.stderr)
        p = run("generate", *small, "-i", "id", "-o", "no", "-k", "key",
                code=1, limit=limit)
        self.assertIn("key exists", p.stderr)
        p = run("generate", *small, "-i", "none", "-o", "no", code=1)
        os.chmod("id", 0o644)
        p = run("generate", *small, "-i", "id", "-o", "no", code=1)
        os.chmod("id", 0o600)
        if not SANITIZED:
            for mode, low in (("full", 1 << 30), ("light", limit)):
                p = run("generate", "-n", 1, "-s", 4, "-i", "id", "-o", "no",
                        "-m", mode, code=1, limit=low)
                self.assertRegex(p.stderr, mode + r" mode needs \d+ MiB .*"
                                 r"and \d+ MiB are available")
        self.assertFalse(os.path.exists("no"))

    @unittest.skipUnless(LONG, "long")
    def test_long_sigterm(self):
        before = set(os.listdir("."))
        p = subprocess.Popen(
            [BIN, "generate", "-n", "4", "-s", "100000", "-m", "light", "-i",
             "id", "-o", "never", "-k", "never.key", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in p.stdout:
            if json.loads(line)["phase"] == "compute":
                break
        workers = []
        for _ in range(200):
            workers = children_of(p.pid)
            if workers:
                break
            time.sleep(0.05)
        self.assertTrue(workers)
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 4, err)
        for pid in workers:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertEqual(set(os.listdir(".")), before)

    # ---- as a child ----

    def child(self, sup, *args):
        fd = sup.theirs.fileno()
        p = subprocess.Popen(
            [BIN, "generate", "--fd", str(fd), "--origin", NAME, "-m",
             "light", *map(str, args)], pass_fds=[fd],
            stderr=subprocess.PIPE, text=True)
        sup.theirs.close()
        return p

    def finish(self, sup, p):
        """All frames by type."""
        frames = {}
        while (got := sup.receive()) is not None:
            frames.setdefault(got[0], []).append(got[1])
        _, err = p.communicate(timeout=60)
        sup.ours.close()
        return frames, err

    @unittest.skipUnless(LONG, "long")
    def test_long_child(self):
        sup = peer.Supervisor()
        p = self.child(sup, "-n", 2, "-s", 6, "--milestone", 3, "-e", 9,
                       "--recheck", "auto", "--epoch-length", "1h", "--demo",
                       "-w", 2)
        frames, err = self.finish(sup, p)
        self.assertEqual(p.returncode, 0, err)
        self.assertEqual(len(frames[sup.RESULT]), 1)
        self.assertNotIn(sup.FAILED, frames)
        phases = [f[1] for f in frames[sup.PROGRESS]]
        self.assertEqual(phases[0], "dataset")
        self.assertEqual(phases[-1], "verify")
        # auto: an hour is plenty, so all four spans are checked again
        self.assertEqual(frames[sup.PROGRESS][-1][3], 2 * 6 * 2)
        self.assertTrue(any(b"a demo goes on" in f[1]
                            for f in frames[sup.NOTE]))
        result = frames[sup.RESULT][0]
        m = cbor2.loads(result[1])
        self.assertEqual(list(m), [1, 2, 3] + list(range(6, 16)))
        self.assertEqual((m[2], m[3]), (NAME, 9))
        self.assertEqual(peer.solve(m), result[2])

    @unittest.skipUnless(LONG, "long")
    def test_long_child_refused(self):
        for args, want in (
                (("-n", 2, "-s", 1 << 30, "--epoch-length", "1s"),
                 b"longer than an epoch"),
                (("-n", 2, "-s", 6, "--epoch-length", "24h"),
                 b"the lock could open")):
            sup = peer.Supervisor()
            p = self.child(sup, *args)
            frames, err = self.finish(sup, p)
            self.assertEqual(p.returncode, 1, err)
            self.assertNotIn(sup.RESULT, frames)
            self.assertIn(want, frames[sup.FAILED][0][1])
            self.assertEqual(frames[sup.FAILED][0][2], -5)

    @unittest.skipUnless(LONG, "long")
    def test_long_child_stopped(self):
        for how in ("frame", "end", "early"):
            sup = peer.Supervisor()
            p = self.child(sup, "-n", 2, "-s", 1 << 30)
            # signals are not how a child is stopped
            while sup.receive()[1][1] != ("dataset" if how == "early" else
                                          "compute"):
                pass
            p.send_signal(signal.SIGTERM)
            if how == "end":
                sup.ours.close()
            else:
                sup.stop()
            _, err = p.communicate(timeout=60)
            sup.ours.close()
            self.assertEqual(p.returncode, 4, err)
            self.assertIn("supervisor", err)

    # ---- long ----

    @unittest.skipUnless(LONG, "long")
    def test_long_7_by_32(self):
        start = time.time()
        run("generate", "-n", 7, "-s", 32, "-m", "light", "-i", "id", "-o",
            "7.cose", "-k", "7.key", "--milestone", 8)
        run("solve", "7.cose", "--pin", "id.vkey", "-J", "7.j", "-k",
            "7.key2", "-m", "light")
        print(f"light 7 x 32: {time.time() - start:.0f} s")
        self.assertEqual(read("7.key"), read("7.key2"))

    @unittest.skipUnless(LONG, "long")
    def test_long_stop_solver(self):
        """SIGKILL or SIGTERM at random moments of the work, until it was
        interrupted twenty times in it: each run begins where the journal
        stood, and the key is the same."""
        n, m = 3, 60
        run("generate", "-n", n, "-s", m, "-m", "light", "-i", "id", "-o",
            "stop.cose", "-k", "stop.key", "--milestone", 7)
        killed = stopped = solved = at = 0
        while killed < 15 or stopped < 5 or not solved:
            p = subprocess.Popen(
                [BIN, "solve", "stop.cose", "--pin", "id.vkey", "-J", "js",
                 "-k", "ks", "-m", "light", "--json"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            first = json.loads(p.stdout.readline())
            self.assertEqual(first["completed_hashes"], at)
            sig = signal.SIGTERM if killed > 3 * stopped else signal.SIGKILL
            if killed < 15 or stopped < 5:
                time.sleep(int.from_bytes(os.urandom(2), "big") / 65536)
                p.send_signal(sig)
            out, err = p.communicate(timeout=300)
            if p.returncode == 0:
                # it was quicker: once more from the start
                solved += 1
                end = json.loads(out.splitlines()[-1])
                self.assertEqual(end["hashes"], n * m - at)
                self.assertEqual(read("ks"), read("stop.key"))
                os.unlink("js")
                at = 0
                continue
            before, at = at, journal_stands(read("js"), m)
            self.assertGreaterEqual(at, before)
            if sig == signal.SIGKILL:
                self.assertEqual(p.returncode, -signal.SIGKILL, err)
                killed += 1
                continue
            self.assertEqual(p.returncode, 4, err)
            segment, step = map(int, re.search(
                r"stopped at segment (\d+), step (\d+)", err).groups())
            self.assertEqual(at, (segment - 1) * m + step)
            stopped += 1
        print(f"solver killed {killed} times, stopped {stopped} times, "
              f"ended {solved} times")

    @unittest.skipUnless(LONG, "long")
    def test_long_manifest_changes(self):
        write("moving.cose", self.file)
        p = subprocess.Popen(
            [BIN, "solve", "moving.cose", "--pin", "id.vkey", "-J", "jm",
             "-k", "km", "-m", "light"], stderr=subprocess.PIPE, text=True)
        while not os.path.exists("jm") or os.path.getsize("jm") < 64:
            time.sleep(0.01)
        m, _ = peer.open_manifest(self.file, self.vkey)
        m[3] += 1
        write("moving.cose", peer.sign_payload(cbor2.dumps(m),
                                               read("id").decode()))
        _, err = p.communicate(timeout=280)
        self.assertEqual(p.returncode, 0, err)
        self.assertEqual(read("km"), self.key)
        p = self.solve("jm", "km", code=1, manifest="moving.cose")
        self.assertIn("another puzzle", p.stderr)

    @unittest.skipUnless(LONG, "long")
    def test_long_full_4_by_2000(self):
        start = time.time()
        p = subprocess.Popen(
            [BIN, "generate", "-n", "4", "-s", "2000", "-m", "full", "-i",
             "id", "-o", "full.cose", "-k", "full.key", "--milestone", "250",
             "--recheck", "10", "-w", "2"], stderr=subprocess.PIPE, text=True)
        peak = 0
        while p.poll() is None:
            peak = max(peak, sum(map(pss, [p.pid, *children_of(p.pid)])))
            time.sleep(0.5)
        self.assertEqual(p.returncode, 0, p.stderr.read())
        made = time.time() - start
        q = run("solve", "full.cose", "--pin", "id.vkey", "-J", "full.j", "-k",
                "full.key2", "-m", "full", "--json")
        self.assertEqual(read("full.key"), read("full.key2"))
        print(f"full 4 x 2000: made in {made:.0f} s, solved in "
              f"{lines(q)[-1]['elapsed_s']:.0f} s after "
              f"{time.time() - start - made:.0f} s in all; "
              f"peak PSS of the tree {peak >> 20} MiB")


def journal_stands(data, steps):
    """Hashes done by the last entry of a journal, as docs/PUZZLE.md has it."""
    count = (len(data) - 64) // 80
    if count < 1:
        return 0
    segment, _, step = struct.unpack_from("<IIQ", data, 64 + 80 * (count - 1))
    return (segment - 1) * steps + step


def pss(pid):
    try:
        text = read(f"/proc/{pid}/smaps_rollup").decode()
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.M)
    return int(found.group(1)) << 10 if found else 0


if __name__ == "__main__":
    if LONG:
        # only what the quick run leaves out, or what is named by -k
        named = "-k" in sys.argv
        unittest.main(verbosity=2, argv=[sys.argv[0]] + (
            [] if named else ["-k", "test_long"]) + sys.argv[1:])
    unittest.main(verbosity=2)
