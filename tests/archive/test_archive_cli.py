#!/usr/bin/python3
"""test_archive_cli.py: the commands of amber-archive but verify and export, over an archive with each kind of exchange.

What is shown is compared with the records as Python opens them; exit codes and summaries with docs/FORMAT.md.
"""
import calendar
import fcntl
import hashlib
import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402
import cbor2                # noqa: E402

TEXT = b"The quick brown fox jumps over the lazy dog.\n"
COMMANDS = ["verify", "list", "show", "extract", "export", "stats", "prove", "check", "repair"]


def lines(out):
    v = [json.loads(x) for x in out.splitlines()]
    assert v[-1]["message_type"] == "summary"
    assert not any(x["message_type"] == "summary" for x in v[:-1])
    return v


def on_terminal(*args):
    """stdout and stderr are a terminal: exit code and what it shows."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.pop("AMBER_ARCHIVE", None)
        os.environ["TERM"] = "xterm"
        os.execv(kit.PROGRAM, [kit.PROGRAM, *map(str, args)])
    out, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            got = os.read(fd, 65536)
        except OSError:
            break
        if not got:
            break
        out += got
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out


def captures():
    """index -> the record's capture, as Python reads it."""
    out = {}
    for f in X.records():
        for n, key in X.keys.items():
            try:
                out[f.index] = cbor2.loads(kit.unseal(f.payload, key, X.id.name)[0])
            except Exception:
                continue
    return out


def test_help():
    for c in COMMANDS:
        out, said = kit.expect(0, c, "--help")
        assert out.startswith(b"Usage: amber-archive " + c.encode()) and said == "", (c, out)
        assert b"Exit codes" in out
        assert max(map(len, out.splitlines())) <= 80
        _, said = kit.expect(2, c, "--nonsense")
        assert "--help" in said
        for bad, why in (("--nonsense", "no such option: --nonsense"), ("-Z", "no such option: -Z"),
                         ("-Zj", "no such option: -Z"), ("-jZh", "no such option: -Z"), ("--root", "--root needs a value"),
                         ("-jr", "-r needs a value"), ("--json=1", "it takes no value: --json=1")):
            out, said = kit.run(c, "--json", bad)[1:]
            assert lines(out)[-1]["exit_code"] == 2 and lines(out)[-1]["error"] == why, (c, bad, out)
            assert said.startswith("amber-archive %s: %s\n" % (c, why)), said
        code, out, said = kit.run(c, "-r", T + "/nowhere", "--json", *{"show": ["1"], "extract": ["1", "-o", T + "/x"],
                                  "prove": ["1"], "check": [X.pin], "export": ["--warc"]}.get(c, []))
        assert code == 10 and lines(out)[-1]["exit_code"] == 10, (c, code, out)
    _, said = kit.expect(2, "extract", "--re", "1")
    assert "more than one option: --re\n" in said, said
    out, _ = kit.expect(0, "--help")
    assert all(c.encode() in out for c in COMMANDS)
    out, _ = kit.expect(0, "--version")
    assert out.startswith(b"amber-archive ")
    kit.expect(2)
    kit.expect(2, "frobnicate")
    out, _ = kit.expect(2, "frobnicate", "--json")
    assert lines(out)[-1]["exit_code"] == 2


def stamp(text):
    """Unix seconds of a time as it is shown."""
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def test_list():
    out, said = kit.expect(0, "list", "-r", X.root)
    assert len(out.splitlines()) == len(CAPTURES) + 1 and b"http" not in out
    assert "file system" in said and "signed manifest" in said
    # The two times that it lies between: the epoch's beginning, and the file's last write.
    rows = {x["index"]: x for x in lines(kit.expect(0, "list", "-r", X.root, "--json")[0])[:-1]}
    assert out.splitlines()[0].split() == b"INDEX NOT BEFORE COMMITTED BY EPOCH SIZE".split()
    for row in out.decode().splitlines()[1:]:
        index, begun, by, epoch, size = row.split()
        x = rows[int(index)]
        assert len(row) <= 80 and (int(epoch), int(size)) == (x["epoch"], x["size"]), row
        assert (stamp(begun), stamp(by)) == (x["epoch_not_before"], x["committed_by"]), row
    out, _ = kit.expect(0, "list", "-r", X.root, "--json", env={"AMBER_ARCHIVE": "/nowhere"})
    v = lines(out)
    assert [x["index"] for x in v[:-1]] == sorted(CAPTURES)
    assert not any(x["opened"] or "url" in x for x in v[:-1])
    out, _ = kit.expect(0, "list", "--json", *X.args, env={"AMBER_ARCHIVE": X.root})
    v = lines(out)
    for x in v[:-1]:
        c = CAPTURES[x["index"]]
        assert (x["url"], x["method"], x["start_ms"], x["status"]) == (c[4], c[3], c[2], c.get(8)), x
    assert {x["epoch"] for x in v[:-1]} == {5, 7}
    assert v[-1]["opened"] == len(CAPTURES)
    # A record admitted in one epoch, committed in the next one's segment.
    assert [x["epoch"] for x in v[:-1]][-2:] == [5, 7]
    out, _ = kit.expect(0, "list", "-r", X.root, "--json", *X.args[2:])
    assert lines(out)[-1]["opened"] == 1
    out, _ = kit.expect(0, "list", "-r", X.root, "--json", "3-7")
    assert [x["index"] for x in lines(out)[:-1]] == [3, 4, 5, 6, 7]
    out, said = kit.expect(0, "list", "-r", X.root, "0")    # a manifest
    assert len(out.splitlines()) == 1 and "no records there" in said, said
    for bad in ("7-3", "x", "1-", "-1x", "1-2-3"):
        kit.expect(2, "list", "-r", X.root, bad)
    kit.expect(1, "list", "-r", X.root, "4000")
    # Nothing that a peer sent reaches the terminal raw.
    code, out = on_terminal("list", "-r", X.root, *X.args)
    assert code == 0 and b"\x07" not in out and b"\x1b[31m" not in out and b"\\x1b" in out


def test_show():
    for i in list(CAPTURES)[::5]:
        out, _ = kit.expect(0, "show", "-r", X.root, i, *X.args, "--json")
        x, c = lines(out)[0], CAPTURES[i]
        assert x["url"] == c[4] and x["software"] == c[17] and x["ms"]["total"] == c[15][5]
        if 5 in c:
            assert x["request_head"].encode() == c[5]
        assert x["response_body_bytes"] == len(c.get(10, b""))
    i = X.index["escape"]
    for args in (X.args, ["--record-key", X.rs[i]]):
        out, _ = kit.expect(0, "show", "-r", X.root, i, *args)
        assert b"\x1b" not in out and b"\x07" not in out and "\x9b" not in out.decode()
        assert b'https://a.example/escape?n=%d&"<q>"' % (i - 1) in out
        for want in (b'ETag: "v\\\\1"', b"X-\\x9b: \\xff\\xfe", b"X-C1: \\xc2\\x9b \xc3\xa9", b"\\x1b[31mred"):
            assert b"    " + want in out or b"text/" + want in out, (want, out)
    out, _ = kit.expect(0, "show", "-r", X.root, X.index["gzip"], *X.args)
    assert b"flags          chunked reused\n" in out and b"trailers" not in out, out
    out, _ = kit.expect(0, "show", "-r", X.root, X.index["chunked"], *X.args)
    assert b"flags          chunked\n" in out and b"\ntrailers\n" in out, out
    kit.expect(12, "show", "-r", X.root, i, "--record-key", X.rs[i - 1])
    out, said = kit.expect(0, "show", "-r", X.root, i)
    assert b"https" not in out and "--key" in said
    kit.expect(3, "show", "-r", X.root, i, *X.args[2:])
    out, _ = kit.expect(0, "show", "-r", X.root, 0)
    assert b"epoch manifest" in out
    kit.expect(1, "show", "-r", X.root, 4000)
    kit.expect(2, "show", "-r", X.root, "x")
    kit.expect(2, "show", "-r", X.root, i, "--record-key", X.pin)


def extract(code, name, *args):
    path = T + "/out"
    if os.path.exists(path):
        os.unlink(path)
    got = kit.run("extract", "-r", X.root, X.index[name], *X.args, "-o", path, *args)
    assert got[0] == code, (name, args, got)
    left = [n for n in os.listdir(T) if n.endswith(".tmp")]
    assert left == [], left
    if code not in (0, 3) or "--decoded" in args and code != 0:
        assert not os.path.exists(path)
        return got[2]
    return open(path, "rb").read()


def test_extract():
    for name, i in X.index.items():
        c = CAPTURES[i]
        for key, args in ((10, []), (10, ["--response"]), (6, ["--request"]), (9, ["--head"]),
                          (5, ["--request", "--head"])):
            if key in c:
                whole = key in (5, 6) or c[7] == 0 or (key == 9 and c[9].endswith(b"\r\n\r\n"))
                assert extract(0 if whole else 3, name, *args) == c[key], (name, args)
            else:
                extract(1, name, *args)
    # A part of a body is given, and told from a whole one.
    for name, why, n in (("over-cap", "body over the cap", 45), ("closed-early", "closed early", 45), ("timed-out", "timed out", 45),
                         ("nothing-of-it", "closed early", 0)):
        for args in ([], ["--response"], ["--decoded"]):
            out, said = kit.expect(3, "extract", "-r", X.root, X.index[name], *X.args, *args)
            assert len(out) == n and said == "amber-archive extract: not whole: %s after %d bytes\n" % (why, n), said
        out, said = kit.expect(3, "extract", "-r", X.root, X.index[name], *X.args, "-j", "-o", T + "/out")
        s = lines(out)[-1]
        assert (s["bytes"], s["outcome"], s["whole"], s["exit_code"]) == (n, why, False, 3) and "not whole" in said, s
        for args in (["--request"], ["--request", "--head"], ["--head"]):
            if "--head" in args:
                assert kit.expect(0, "extract", "-r", X.root, X.index[name], *X.args, *args)[1] == ""
    out, _ = kit.expect(0, "extract", "-r", X.root, X.index["plain"], *X.args, "-j", "-o", T + "/out")
    assert lines(out)[-1]["outcome"] == "complete" and lines(out)[-1]["whole"] is True
    for name in ("plain", "chunked", "gzip", "gzip-members", "deflate", "deflate-raw", "twice", "post"):
        assert extract(0, name, "--decoded") == TEXT, name
    assert "br" in extract(3, "br", "--decoded")
    assert "damaged" in extract(1, "gzip-damaged", "--decoded")
    assert "ends" in extract(1, "gzip-cut", "--decoded")
    size = 3 << 20
    assert extract(0, "bomb", "--decoded", "--max", size) == bytes(size)
    assert "--max" in extract(1, "bomb", "--decoded", "--max", size - 1)
    kit.expect(2, "extract", "-r", X.root, "1", "--head", "--decoded", *X.args)
    kit.expect(2, "extract", "-r", X.root, "1", "--request", "--response", *X.args)
    kit.expect(2, "extract", "-r", X.root, "1", "--json", *X.args)
    _, said = kit.expect(2, "extract", "-r", X.root, "1", "--max", "3", *X.args)
    assert "--max goes with --decoded" in said, said
    kit.expect(3, "extract", "-r", X.root, "1")
    kit.expect(1, "extract", "-r", X.root, "0", *X.args)
    kit.expect(74, "extract", "-r", X.root, "1", *X.args, "-o", T + "/no/folder")
    out, _ = kit.expect(0, "extract", "-r", X.root, "1", "--record-key", X.rs[1])
    assert out == TEXT
    out, _ = kit.expect(0, "extract", "-r", X.root, "1", *X.args, "--json", "-o", T + "/out")
    assert lines(out)[-1]["sha256"] == hashlib.sha256(TEXT).hexdigest()
    # A terminal gets text, and nothing else.
    code, out = on_terminal("extract", "-r", X.root, 1, *X.args)
    assert code == 0 and TEXT.strip() in out
    for name in ("gzip", "escape", "latin1"):
        code, out = on_terminal("extract", "-r", X.root, X.index[name], *X.args)
        assert code == 2 and b"-o FILE" in out and b"\x1b" not in out and b"\x07" not in out, (name, out)
    code, out = on_terminal("extract", "-r", X.root, X.index["bomb"], "--decoded", *X.args)
    assert code == 2 and b"-o FILE" in out


def test_key_files():
    """White space behind a key is none of it; a pipe gives it too; what is wrong is told."""
    pin, key, rs = open(X.pin).read().strip(), open(X.args[1]).read().strip(), open(X.rs[1]).read().strip()
    args = ["extract", "-r", X.root, "1"]
    rows = ((pin, [*args, *X.args], "-p"), (key, args, "-k"), (rs, args, "--record-key"))
    for text, row, option in rows:
        for end in ("", "\n", "\r\n", "\n\n", " \t\r\n \n"):
            open(T + "/spelt", "w", newline="").write(text + end)
            out, _ = kit.expect(0, *row, option, T + "/spelt")
            assert out == TEXT
        for bad in (text + "\n" + text + "\n", "\n" + text):
            open(T + "/spelt", "w").write(bad)
            _, said = kit.expect(2, *row, option, T + "/spelt")
            assert "spelt: more than one line" in said or "spelt: it is not" in said, said
        r, w = os.pipe()
        os.write(w, text.encode() + b"\n")
        os.close(w)
        out, _ = kit.expect(0, *row, option, "/dev/fd/%d" % r, pass_fds=(r,))
        assert out == TEXT
        os.close(r)
        _, said = kit.expect(2, *row, option, "/dev/zero")
        assert "not an ordinary file" in said
    _, said = kit.expect(2, *args, *X.args, "-p", "")
    assert "is empty" in said and "open" not in said, said


def test_output():
    """-o: a device or a pipe is written to and stays; a link leads to its file; a folder is told."""
    folder = T + "/devices"
    os.mkdir(folder)
    args = ("extract", "-r", X.root, "1", *X.args, "-o")
    os.mkfifo(folder + "/pipe")
    fd = os.open(folder + "/pipe", os.O_RDONLY | os.O_NONBLOCK)
    kit.expect(0, *args, folder + "/pipe")
    assert os.read(fd, 4096) == TEXT
    os.close(fd)
    assert os.listdir(folder) == ["pipe"] and stat.S_ISFIFO(os.stat(folder + "/pipe").st_mode)
    open(folder + "/file", "w").write("old")
    os.symlink("file", folder + "/link")
    kit.expect(0, *args, folder + "/link")
    assert os.readlink(folder + "/link") == "file" and open(folder + "/file", "rb").read() == TEXT
    assert sorted(os.listdir(folder)) == ["file", "link", "pipe"]
    _, said = kit.expect(74, *args, folder)
    assert "a folder" in said
    _, said = kit.expect(2, *args, "")
    assert "without a name" in said
    # One that leads to nothing yet leads there all the same.
    os.symlink("devices/new", T + "/dangling")
    kit.expect(0, *args, T + "/dangling")
    assert os.readlink(T + "/dangling") == "devices/new" and open(folder + "/new", "rb").read() == TEXT
    os.symlink("circle", T + "/circle")
    kit.expect(74, *args, T + "/circle")
    # A file keeps its mode; a new one has what the umask leaves.
    for mode in (0o600, 0o640, 0o755):
        os.chmod(folder + "/new", mode)
        kit.expect(0, *args, folder + "/new")
        assert stat.S_IMODE(os.stat(folder + "/new").st_mode) == mode
    kit.expect(0, *args, folder + "/newer", umask=0o027)
    assert stat.S_IMODE(os.stat(folder + "/newer").st_mode) == 0o640
    _, said = kit.expect(74, *args, T + "/nodir/x")
    assert said == "amber-archive extract: %s/nodir/x cannot be written: folder %s/nodir: No such file or directory\n" % (T, T)
    os.unlink(folder + "/new")
    os.unlink(folder + "/newer")
    # By links of our own: the machine's devices are not staked on this test.
    for name in ("null", "full"):
        os.symlink("/dev/" + name, folder + "/" + name)
    kit.expect(0, *args, folder + "/null")
    _, said = kit.expect(74, *args, folder + "/full")
    assert "No space left on device" in said
    assert all(os.readlink(folder + "/" + n) == "/dev/" + n for n in ("null", "full"))
    assert stat.S_ISCHR(os.stat(folder + "/null").st_mode)
    # A terminal under a name is a terminal.
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(kit.PROGRAM, [kit.PROGRAM, *args[:3], str(X.index["escape"]), *X.args, "-o", os.ttyname(1)])
    out = b""
    try:
        while got := os.read(fd, 65536):
            out += got
    except OSError:
        pass
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2 and b"\x1b" not in out, out


def test_output_inside():
    """-o: no place of the archive that is read, whatever leads there."""
    root = kit.copy(X.root, T + "/inside")
    os.mkdir(root + "/mine")
    os.makedirs(T + "/elsewhere")
    os.rename(root + "/epoch", T + "/elsewhere/epoch")
    os.symlink(T + "/elsewhere/epoch", root + "/epoch")
    os.symlink(root + "/seg", T + "/to-seg")
    os.symlink(kit.segments(root)[0], T + "/to-segment")
    os.symlink("inside/seg/new", T + "/to-nothing")
    had = {d: sorted(fs) for d, _, fs in os.walk(root)} | {k: v for k, v in tree_of(root).items()}
    segment = os.path.basename(kit.segments(root)[0])
    places = [root + "/seg/" + segment, root + "/seg/new", root + "/checkpoint", root + "/LOCK", root + "/new",
              root + "/mine/x", root + "/epoch/5.cose", T + "/elsewhere/epoch/6.cose", T + "/to-seg/x", T + "/to-segment",
              T + "/to-nothing", root + "/quarantine/x", T + "/elsewhere/../inside/seg/" + segment]
    for place in places:
        for c in (["extract", "1", *X.args], ["export", "--warc", *X.args], ["prove", "1"], ["prove", "1", "-j"]):
            _, said = kit.expect(2, *c, "-r", root, "-o", place)
            assert "lies inside the archive" in said, said
    kit.expect(2, "extract", "1", *X.args, "-r", ".", "-o", "x", cwd=root)
    kit.expect(2, "extract", "1", *X.args, "-r", "..", "-o", segment, cwd=root + "/seg")
    assert {d: sorted(fs) for d, _, fs in os.walk(root)} | tree_of(root) == had
    kit.expect(0, "extract", "1", *X.args, "-r", root, "-o", T + "/elsewhere/x")
    kit.expect(0, "extract", "1", *X.args, "-r", "inside", "-o", "beside", cwd=T)


def test_full_stdout():
    """What cannot be written is told, once and with its reason."""
    rows = [["--help"], ["--version"], ["list", "--help"], ["verify", "-r", X.root, "--pin", X.pin]]
    for c in (["list"], ["show", "1"], ["stats"], ["prove", "1"]):
        row = [c[0], "-r", X.root, *c[1:]] + X.args * (c[0] != "prove")
        rows += [row, row + ["--json"]]
    # More than a buffer holds: the failing write is not the last one.
    rows += [["list", "-r", X.root, *X.args, "0-20"], ["extract", "-r", X.root, "1", *X.args],
             ["export", "--warc", "-r", X.root, *X.args]]
    env = {k: v for k, v in os.environ.items() if k != "AMBER_ARCHIVE"}
    for row in rows:
        with open("/dev/full", "w") as full:
            p = subprocess.run([kit.PROGRAM, *row], stdout=full, stderr=subprocess.PIPE, timeout=120, env=env)
        said = p.stderr.decode()
        assert p.returncode == 74 and said.count("No space left on device") == 1 and "Success" not in said, (row, said)
        assert said.count("stdout") + said.count("standard output") == 1, (row, said)
    # The reader went away.
    for row in rows[3:]:
        p = subprocess.Popen([kit.PROGRAM, *row], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        p.stdout.close()
        said = p.stderr.read().decode()
        assert p.wait(60) in (0, 74) and said.count("Broken pipe") == (p.returncode == 74), (row, p.returncode, said)


def test_long_line():
    """A head that is six times as long in JSON: still one line, and a summary."""
    root = kit.emptied(X.root, T + "/long")
    c, puzzle = kit.unseal(X.records()[0].payload, X.keys[5], X.id.name)
    c = cbor2.loads(c) | {9: b"HTTP/1.1 200 OK\r\nX: " + b"\1" * 400000 + b"\r\n\r\n"}
    s = kit.Segment(X.id, kit.Tree(), 5).add(kit.MANIFEST, X.manifests()[0].payload)
    s.add(kit.RECORD, kit.seal(cbor2.dumps(c), X.keys[5], puzzle, X.id.name, b"s" * 32)).close().write(root)
    out, _ = kit.expect(0, "show", "-r", root, "1", *X.args[:2], "--json")
    v = lines(out)
    assert v[0]["response_head"].encode() == c[9] and len(out) > 2400000 and v[-1]["opened"]


def indices(root, code, *args):
    """What list shows, by text and by JSON."""
    out, said = kit.expect(code, "list", "-r", root, *args)
    rows = [int(x.split()[0]) for x in out.decode().splitlines()[1:]]
    v = lines(kit.expect(code, "list", "-r", root, "--json", *args)[0])
    assert [x["index"] for x in v if x["message_type"] == "record"] == rows
    assert v[-1]["damaged"] == len([x for x in v if x["message_type"] == "error"]) == said.count("seg") - said.count("the segment's")
    return rows, said


def test_damage():
    """A damaged place takes what stands there and nothing else from who reads."""
    records = X.records()
    every = [f.index for f in records]
    paths = kit.segments(X.root)
    bad = [f for f in kit.frames(paths[0]) if f.kind == kit.RECORD][2]
    others = [i for i in every if i != bad.index]
    # In its protected header, in its index, where its length still leads behind it; in what makes it a frame, and in
    # its length.
    for at in (40, 15, 0, 3, 4, 6, 16, 20, 22, 23):
        root = kit.copy(X.root, T + "/damage")
        kit.flip(kit.segments(root)[0], bad.offset + at, 2)
        for args in ([], X.args):
            rows, said = indices(root, 1, *args)
            assert rows == others, rows
            assert "offset %d: " % bad.offset in said, said
        _, said = kit.expect(1, "show", "-r", root, str(bad.index), *X.args)
        assert "offset %d" % bad.offset in said, said
        for i in (every[0], bad.index + 1, every[-1]):
            kit.expect(0, "show", "-r", root, str(i), *X.args)
        kit.expect(1, "show", "-r", root, str(every[-1] + 1))
        rows, _ = indices(root, 1, *X.args, "%d-%d" % (bad.index, bad.index + 2))
        assert rows == [bad.index + 1, bad.index + 2], rows
    out, _ = kit.expect(0, "extract", "-r", root, str(X.index["plain"]), *X.args)
    assert out == TEXT
    # A checkpoint that calls itself a record.
    root = kit.copy(X.root, T + "/damage")
    kit.flip(kit.segments(root)[0], [f for f in kit.frames(paths[0]) if f.kind == kit.CHECKPOINT][3].offset + 4, 1)
    assert indices(root, 1)[0] == every
    # Where no frame follows, the next segment does.
    root = kit.copy(X.root, T + "/damage")
    os.truncate(kit.segments(root)[0], bad.end - 1)
    rows, said = indices(root, 1)
    gone = [f.index for f in kit.frames(paths[0]) if f.kind == kit.RECORD and f.index >= bad.index]
    assert rows == [i for i in every if i not in gone] and "00000000000000000000.amb" in said, rows
    # The last segment: what was signed there is not a tail that nobody has seen.
    alone = kit.copy(X.root, T + "/damage")
    for path in kit.segments(alone)[1:]:
        os.unlink(path)
    with open(alone + "/checkpoint", "wb") as f:
        f.write([f for f in kit.frames(paths[0]) if f.kind == kit.CHECKPOINT][-1].payload)
    first = [f.index for f in kit.frames(paths[0]) if f.kind == kit.RECORD]
    assert indices(alone, 0)[0] == first
    path = kit.segments(alone)[0]
    kit.flip(path, bad.offset + 40, 2)
    assert indices(alone, 1)[0] == [i for i in first if i != bad.index]
    kit.expect(0, "show", "-r", alone, str(first[-1]), *X.args[:2])
    kit.expect(1, "stats", "-r", alone)
    kit.expect(1, "verify", "-r", alone, "--pin", X.pin, "--quick")
    os.truncate(path, bad.end - 1)
    assert indices(alone, 1)[0] == [i for i in first if i < bad.index]
    os.unlink(alone + "/checkpoint")        # nothing tells that it was signed
    assert indices(alone, 0)[0] == [i for i in first if i < bad.index]
    # A manifest in the log: its copy in epoch/ opens the records.
    for i, path in enumerate(paths):
        for f in kit.frames(path):
            if f.kind == kit.MANIFEST:
                root = kit.copy(X.root, T + "/damage")
                kit.flip(kit.segments(root)[i], f.offset + 90, 2)
                v = lines(kit.expect(1, "list", "-r", root, "--json", *X.args)[0])
                assert [x["index"] for x in v if x.get("opened") is True] == every
                number = v[-2]["epoch"] if i else v[1]["epoch"]
                os.unlink("%s/epoch/%d.cose" % (root, number))
                kit.expect(12, "list", "-r", root, *X.args)
    # Segments that are gone are not entries that never were.
    root = kit.copy(X.root, T + "/damage")
    os.unlink(kit.segments(root)[0])
    _, said = kit.expect(1, "show", "-r", root, "1")
    assert "missing" in said and "no entry" not in said, said
    assert indices(root, 1)[0] == [i for i in every if i not in first]
    root = kit.copy(X.root, T + "/damage")
    os.unlink(kit.segments(root)[1])
    second = [f.index for f in kit.frames(paths[1]) if f.kind == kit.RECORD]
    assert indices(root, 1)[0] == [i for i in every if i not in second]
    _, said = kit.expect(1, "show", "-r", root, str(second[1]))
    assert "should follow" in said, said


def test_pruned():
    root = kit.copy(X.root, T + "/pruned")
    path = kit.segments(root)[0]
    i = [f for f in kit.frames(path) if f.kind == kit.RECORD][1].index
    kit.prune(path, {i})
    for args in (["show"], ["extract", "-o", T + "/out"]):
        out, said = kit.expect(13, args[0], "-r", root, i, *args[1:], *X.args)
        assert "pruned" in said
    out, _ = kit.run("show", "-r", root, i, *X.args, "--json")[1:]
    v = lines(out)
    assert v[0]["pruned"] and v[-1]["exit_code"] == 13
    out, _ = kit.expect(0, "list", "-r", root, *X.args, "--json")
    assert [x["pruned"] for x in lines(out)[:-1]].count(True) == 1
    # Its receipt holds; what it said is gone.
    open(T + "/receipt", "wb").write(X.receipts[i - 1])
    kit.expect(0, "check", "-r", root, "--pin", X.pin, T + "/receipt")
    kit.expect(13, "check", "-r", root, "--pin", X.pin, T + "/receipt", X.rs[i])
    out, _ = kit.expect(0, "prove", "-r", root, i)
    assert out == X.receipts[i - 1]


def test_receipts():
    entries = sorted(CAPTURES)
    for i, receipt in list(zip(entries, X.receipts))[::4]:
        out, _ = kit.expect(0, "prove", "-r", X.root, i)
        assert out == receipt, i
        path = T + "/receipt"
        kit.expect(0, "prove", "-r", X.root, i, "-o", path)
        out, _ = kit.expect(0, "check", "-r", X.root, "--pin", X.pin, path, X.rs[i])
        assert CAPTURES[i][4].encode() in out
        kit.expect(0, "check", "--pin", X.pin, path, X.rs[i])
        kit.expect(0, "check", "--alone", "--pin", X.pin, path, env={"AMBER_ARCHIVE": "/nowhere"})
        kit.expect(3, "check", "-r", X.root, path)
        other = X.rs[entries[entries.index(i) - 1]]
        kit.expect(12, "check", "-r", X.root, "--pin", X.pin, path, other)
    out, _ = kit.expect(0, "prove", "-r", X.root, 0, "--json")
    v = lines(out)
    open(path, "w").write(v[0]["receipt"])
    out, _ = kit.expect(0, "check", "-r", X.root, "--pin", X.pin, path, "--json")
    assert lines(out)[-1]["held"]
    # What was not asked has no answer.
    assert lines(out)[-1]["key_fits"] is None
    out, _ = kit.expect(0, "check", "--pin", X.pin, path, "--json")
    assert lines(out)[-1]["held"] is None
    _, said = kit.expect(2, "check", "--alone", "-r", X.root, "--pin", X.pin, path)
    assert "--alone" in said
    kit.expect(2, "check", path)                    # whose?
    kit.expect(2, "check", "--pin", X.pin, T + "/none")
    kit.expect(1, "prove", "-r", X.root, 4000)
    kit.expect(2, "prove", "-r", X.root, "x")
    good = X.receipts[7]
    for bad in (b"", good[:-1], good + b"\n", good.replace(b"index ", b"index 0", 1), b"x" * 20000, good[:100]):
        open(path, "wb").write(bad)
        kit.expect(1, "check", "--pin", X.pin, path)
    for at in range(0, len(good), 23):
        open(path, "wb").write(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
        kit.expect(1, "check", "--pin", X.pin, path)
    # An archive that holds another entry there, rightly signed: a rewrite.
    root = kit.emptied(X.root, T + "/rewritten")
    s = kit.Segment(X.id, kit.Tree(), 5).add(kit.MANIFEST, X.manifests()[0].payload)
    for f in reversed(X.records()[:9]):
        s.add(kit.RECORD, f.payload)
    s.close().write(root)
    open(path, "wb").write(X.receipts[0])
    kit.expect(20, "check", "-r", root, "--pin", X.pin, path)
    kit.expect(20, "verify", "-r", root, "--pin", X.pin, "--against", path)
    # Not signed yet.
    s = kit.Segment(X.id, kit.Tree(), 5).add(kit.MANIFEST, X.manifests()[0].payload).checkpoint()
    s.add(kit.RECORD, X.records()[0].payload).write(root)
    _, said = kit.expect(1, "prove", "-r", root, 1)
    assert "no checkpoint" in said


def test_strangers():
    """A file that does not belong there is named, and so is a segment that is none to read."""
    for name, what in (("seg/README", "no segment"), ("epoch/\x1b[31m", "no manifest")):
        root = kit.copy(X.root, T + "/strangers")
        open(root + "/" + name, "w").close()
        _, said = kit.expect(1, "verify", "-r", root, "--pin", X.pin)
        assert "%s is %s" % (name.replace("\x1b", "\\x1b"), what) in said.replace("\\u001b", "\\x1b"), said
    # A copier's unfinished files: passed over.
    root = kit.copy(X.root, T + "/strangers")
    for name in ("seg/.%020d.amb.Xy12" % 142, "epoch/.9.cose.Xy12"):
        open(root + "/" + name, "w").write("half")
    for c in (["verify", "--pin", X.pin], ["list"], ["prove", "1"], ["stats"]):
        kit.expect(0, *c, "-r", root)
    root = kit.copy(X.root, T + "/strangers")
    os.mkdir(root + "/seg/%020d.amb" % 99)
    for c in (["verify"], ["list"], ["prove", "1"], ["repair"]):
        _, said = kit.expect(74, *c, "-r", root)
        assert "seg/%020d.amb: " % 99 in said, said


def test_not_there():
    """What is not there, or cannot be written, is told before the log is hashed."""
    root = kit.copy(X.root, T + "/nothere")
    for path in kit.segments(root):
        kit.flip(path, 200, 1)
    n = X.records()[-1].index + 1
    for args in (["prove", str(n)], ["export", "--warc", *X.args[2:], "%d-%d" % (n, n + 1)]):
        _, said = kit.expect(1, *args, "-r", root)
        assert "there is no entry %d: the archive has %d," % (n, n) in said, said
    _, said = kit.expect(74, "prove", "-r", root, str(n - 1), "-o", T + "/nowhere/receipt")
    assert "nowhere/receipt" in said, said
    kit.expect(1, "prove", "-r", root, str(n - 1), "-o", T + "/receipt")
    assert not os.path.exists(T + "/receipt") and not [x for x in os.listdir(T) if x.endswith(".tmp")]


def test_stats():
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(X.root) for f in fs)
    payloads = sum(len(f.payload) for f in X.records())
    maps = sum(len(cbor2.dumps(c)) for c in CAPTURES.values())
    out, _ = kit.expect(0, "stats", "-r", X.root, "--json", *X.args)
    s = lines(out)[-1]
    assert s["records"] == len(CAPTURES) and s["entries"] == len(CAPTURES) + 2
    assert s["disk_bytes"] == size and s["record_bytes"] == payloads, (s, size, payloads)
    assert abs(s["overhead"] - (size / payloads - 1)) < 1e-9
    assert s["capture_bytes"] == maps and abs(s["amplification"] - size / maps) < 1e-9
    assert s["body_bytes"] == sum(len(c.get(6, b"")) + len(c.get(10, b"")) for c in CAPTURES.values())
    assert [e["epoch"] for e in s["epochs"]] == [5, 7]
    assert sum(e["records"] for e in s["epochs"]) == s["records"]
    assert all(e["hashes"] == 20 and e["algorithm"] == "rx/0" for e in s["epochs"])
    out, _ = kit.expect(0, "stats", "-r", X.root, "--json")
    assert "capture_bytes" not in lines(out)[-1]
    out, _ = kit.expect(0, "stats", "-r", X.root, "--rate", "10")
    assert b"20 rx/0 hashes, 2 s" in out or b"20 rx/0 hashes, 2.0 s" in out, out
    out, _ = kit.expect(0, "stats", "-r", X.root, "--rate", "8", "--json")
    assert [e["seconds"] for e in lines(out)[-1]["epochs"]] == [2.5, 2.5], out
    kit.expect(2, "stats", "-r", X.root, "--rate", "0")


def tree_of(root):
    return {os.path.relpath(os.path.join(d, f), root): open(os.path.join(d, f), "rb").read()
            for d, _, fs in os.walk(root) for f in fs}


def test_repair():
    root = kit.copy(X.root, T + "/repair")
    path = kit.segments(root)[-1]
    fs = kit.frames(path)
    data = open(path, "rb").read()
    last = [f for f in fs if f.kind == kit.CHECKPOINT][-1]
    torn = kit.frame(kit.first_of(path), kit.RECORD, last.index, fs[-3].payload)[:777]
    open(path, "wb").write(data[:last.end] + torn)
    # While a writer has it: hands off.
    with open(root + "/LOCK", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out, _ = kit.run("repair", "-r", root, "--json")[1:]
        assert lines(out)[-1]["exit_code"] == 11
        kit.expect(0, "verify", "-r", root, "--pin", X.pin)     # readers need no lock
    out, _ = kit.expect(0, "repair", "-r", root, "--pin", X.pin, "--json")
    s = lines(out)[-1]
    assert s["repaired"] and s["quarantined_bytes"] == len(torn), s
    kept = [os.path.join(root, "quarantine", n) for n in os.listdir(root + "/quarantine")]
    assert [open(p, "rb").read() for p in kept] == [torn]
    out, _ = kit.expect(0, "verify", "-r", root, "--pin", X.pin, *X.args, "--json")
    assert lines(out)[-1]["opened"] == len(CAPTURES)
    # Whole entries that nobody signed stay.
    root = kit.copy(X.root, T + "/repair2")
    open(path.replace("repair", "repair2"), "wb").write(data[:fs[-3].end])
    before = [f for f in fs if f.kind == kit.CHECKPOINT][-2]
    open(root + "/checkpoint", "wb").write(before.payload)
    out, _ = kit.expect(0, "repair", "-r", root, "--json")
    s = lines(out)[-1]
    assert s["unsigned_entries"] == 1 and s["size"] == last.index and s["checked"] == before.index, s
    out, _ = kit.expect(0, "verify", "-r", root, "--pin", X.pin, *X.args, "--json")
    assert lines(out)[-1]["unsigned_entries"] == 1 and lines(out)[-1]["opened"] == len(CAPTURES)
    # Signed and damaged: nothing is touched.
    root = kit.copy(X.root, T + "/repair3")
    kit.flip(kit.segments(root)[-1], fs[-3].offset + 300, 1)
    os.truncate(kit.segments(root)[-1], fs[-1].offset)
    had = tree_of(root)
    _, said = kit.expect(1, "repair", "-r", root)
    assert "copy" in said
    now = tree_of(root)
    assert {k: v for k, v in now.items() if k != "LOCK"} == {k: v for k, v in had.items() if k != "LOCK"}
    # Against a checkpoint that it does not reach.
    open(T + "/cp", "wb").write(X.id.checkpoint(4000, b"\0" * 32))
    root = kit.copy(X.root, T + "/repair4")
    kit.expect(1, "repair", "-r", root, "--against", T + "/cp")
    kit.expect(2, "repair", "-r", root, "--against", T + "/none")
    # A receipt speaks for its checkpoint; what is neither, or another log's, is no word against anybody.
    open(T + "/receipt", "wb").write(X.receipts[-1])
    kit.expect(0, "repair", "-r", root, "--against", T + "/receipt")
    short = kit.copy(X.root, T + "/repair5")
    os.unlink(kit.segments(short)[-1])
    os.unlink(short + "/checkpoint")
    _, said = kit.expect(1, "repair", "-r", short, "--against", T + "/receipt")
    assert "were signed" in said and "copy" in said
    kit.expect(0, "repair", "-r", short)
    damaged = X.receipts[-1].replace(b"\nindex ", b"\nindex 1", 1)
    for bad in (b"", b"rubbish", damaged, kit.Exchanges(T, "stranger").receipts[-1]):
        open(T + "/cp", "wb").write(bad)
        _, said = kit.expect(2, "repair", "-r", root, "--against", T + "/cp")
        assert T + "/cp" in said
    # Of two the last would win, and the first may know more.
    kit.expect(2, "repair", "-r", root, "--against", T + "/receipt", "--against", T + "/receipt")


def waits(p):
    """Returns when the process has gone to sleep: a signal before that may come before the call that it is to end."""
    looks, end = 0, time.monotonic() + 60
    while looks < 10:
        assert p.poll() is None and time.monotonic() < end, p.returncode
        time.sleep(0.01)
        with open("/proc/%d/stat" % p.pid) as f:
            looks = looks + 1 if f.read().rsplit(")", 1)[1].split()[0] == "S" else 0


def test_interrupt_output():
    """Whichever signal asks: no temporary stays beside -o."""
    root = kit.copy(X.root, T + "/waiting")
    os.unlink(root + "/checkpoint")
    os.mkfifo(root + "/checkpoint")         # it waits there
    folder = T + "/interrupted"
    os.mkdir(folder)
    for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        p = subprocess.Popen([kit.PROGRAM, "export", "--warc", "-r", root, *X.args, "-o", folder + "/x"],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while not os.listdir(folder) and time.monotonic() < end:
                time.sleep(0.01)
            waits(p)
            assert [n for n in os.listdir(folder) if n.endswith(".tmp")]
            p.send_signal(sig)
            assert p.wait(60) == 130 and os.listdir(folder) == [], (sig, p.returncode, os.listdir(folder))
        finally:
            p.kill()
            p.wait()


def test_interrupt():
    """Asked to stop: 130, with a summary; under nohup(1) the terminal's end does not ask."""
    root = kit.copy(X.root, T + "/interrupt")
    os.unlink(root + "/checkpoint")
    os.mkfifo(root + "/checkpoint")         # it waits there
    p = subprocess.Popen(["nohup", kit.PROGRAM, "verify", "-r", root, "--json"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open("/proc/%d/status" % p.pid) as f:
            caught = int([x for x in f if x.startswith("SigCgt")][0].split()[1], 16)
        if caught >> signal.SIGINT - 1 & 1:
            break
        time.sleep(0.01)
    time.sleep(0.2)
    p.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert p.poll() is None
    with open("/proc/%d/status" % p.pid) as f:
        ignored = int([x for x in f if x.startswith("SigIgn")][0].split()[1], 16)
    assert ignored >> signal.SIGHUP - 1 & 1
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=60)
    assert p.returncode == 130 and lines(out)[-1]["exit_code"] == 130, (p.returncode, out)


with tempfile.TemporaryDirectory() as T:
    X = kit.Exchanges(T)
    CAPTURES = captures()
    assert len(CAPTURES) == len(X.records())
    kit.run_tests(globals())
