#!/usr/bin/python3
"""test_repair_cli.py: archives that lack a part of their folder or of their history, before `amber-archive repair` and the
readers: nothing that is missing may be called fit, and nothing that is only a copy may stop a reader.
"""
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402


def tree_of(root):
    return {os.path.relpath(os.path.join(d, f), root): open(os.path.join(d, f), "rb").read()
            for d, _, fs in os.walk(root) for f in fs if f != "LOCK"}


def summary(code, *args):
    out, said = kit.expect(code, *args, "--json")
    s = json.loads(out.splitlines()[-1])
    assert s["message_type"] == "summary" and s["exit_code"] == code, s
    return s, said


def refused(root, *args, code=1):
    """Repair refuses, says where, and changes nothing; its words."""
    had = tree_of(root)
    out, said = kit.expect(code, "repair", "-r", root, "--pin", X.pin, *args)
    assert b"fit for writing" not in out and tree_of(root) == had, said
    return said


def longer(name, n):
    """An archive of n segments of two entries each, rightly signed; the entries' payloads."""
    root, tree = kit.emptied(X.root, T + "/" + name), kit.Tree()
    payloads = [f.payload for f in X.records()]
    for i in range(n):
        s = kit.Segment(X.id, tree, 5)
        s.add(*((kit.RECORD, payloads[i % 7]) if i else (kit.MANIFEST, X.manifests()[0].payload)))
        s.add(kit.RECORD, payloads[7 + i % 7]).close().write(root)
    return root


# ---- repair ----

def test_history():
    """A segment that is gone, cut or without its signed end: old or new, it is missed."""
    n = len(kit.segments(X.root))
    assert n > 4
    for i in range(n - 1):
        root = kit.copy(X.root, T + "/gone")
        path = kit.segments(root)[i]
        os.unlink(path)
        said = refused(root)
        assert "copy" in said and ("begins" in said or "missing" in said), said
    for root in (X.root, longer("long", 40)):
        for i in (0, 1, len(kit.segments(root)) - 3):
            for what in ("half", "trailer", "flip", "empty"):
                bad = kit.copy(root, T + "/cut")
                path = kit.segments(bad)[i]
                last, size = kit.frames(path)[-1], os.path.getsize(path)
                if what == "flip":
                    kit.flip(path, last.offset + 40, 1)
                else:
                    os.truncate(path, {"half": size // 2, "trailer": last.offset, "empty": 0}[what])
                said = refused(bad)
                assert "segment %d:" % kit.first_of(path) in said and "copy" in said, said


def test_begin():
    """An epoch is gone with all its segments: the next one's manifest is there, and the log's begin is not."""
    root = kit.copy(X.root, T + "/begin")
    for path in kit.segments(root):
        if kit.frames(path)[0].kind == kit.MANIFEST and kit.first_of(path) > 0:
            break
        os.unlink(path)
    assert kit.first_of(kit.segments(root)[0]) == X.manifests()[1].index
    said = refused(root)
    assert "the log begins with it" in said, said


def test_unread():
    """What was not read is not called good."""
    out, _ = kit.expect(0, "repair", "-r", kit.copy(X.root, T + "/unread"), "--pin", X.pin)
    assert b"not read " in out and b"verify reads" in out, out
    s, _ = summary(0, "repair", "-r", T + "/unread", "--pin", X.pin)
    assert s["unread_segments"] == len(kit.segments(X.root)), s


def test_against():
    """A kept checkpoint of any size: the log agrees with it, or was rewritten."""
    tree, kept = kit.Tree(), T + "/kept"
    tree.leaves = [kit.d_of(f.kind, f.payload) for p in kit.segments(X.root) for f in kit.frames(p) if f.is_entry]
    n = len(tree.leaves)
    root = kit.copy(X.root, T + "/against")
    last = kit.segments(root)[-1]
    fs = kit.frames(last)
    for is_closed in (True, False):
        if not is_closed:
            os.truncate(last, fs[-1].offset)
        for size in sorted({0, 1, 7, kit.first_of(last), n - 1, n}):
            whole = kit.copy(root, T + "/whole")
            open(kept, "wb").write(X.id.checkpoint(size, tree.root(size)))
            s, _ = summary(0, "repair", "-r", whole, "--pin", X.pin, "--against", kept)
            assert (s["unread_segments"] == 0) == (size < n and (is_closed or size < kit.first_of(last))), (size, s)
            open(kept, "wb").write(X.id.checkpoint(size, b"\1" * 32))
            said = refused(root, "--against", kept, code=20)
            assert "rewritten" in said and "given checkpoint" in said, said
            kit.expect(20, "verify", "-r", root, "--pin", X.pin, "--against", kept)
    # What is neither: refused, as a wrong command line, and what is taken is said.
    for text, words in ((X.manifests()[0].payload, "a puzzle's manifest"), (b"rubbish", ""), (b"", ""),
                        (X.manifests()[0].payload + bytes(1 << 17), "too long")):
        open(kept, "wb").write(text)
        for c in ("verify", "repair"):
            _, said = kit.expect(2, c, "-r", root, "--pin", X.pin, "--against", kept)
            assert "takes a checkpoint or a receipt of this log: %s: " % kept in said and words in said, said
    # Damage on the way is no contradiction.
    open(kept, "wb").write(X.id.checkpoint(7, tree.root(7)))
    f = [f for f in kit.frames(kit.segments(root)[1]) if f.kind == kit.RECORD][1]
    kit.flip(kit.segments(root)[1], f.offset + 50, 1)
    said = refused(root, "--against", kept)
    assert "offset %d" % f.offset in said and "copy" in said, said


def test_strange_against():
    """What another log signed says nothing of this one: a mistake of whoever gave it."""
    other, kept = kit.Exchanges(T, "strange"), T + "/kept"
    for text in (other.receipts[0], other.id.checkpoint(1, b"\1" * 32)):
        open(kept, "wb").write(text)
        assert kept in refused(kit.copy(X.root, T + "/against"), "--against", kept, code=2)


def test_one():
    """Of one thing it is said in the singular, of none and many in the plural."""
    root, tree = kit.emptied(X.root, T + "/one"), kit.Tree()
    s = kit.Segment(X.id, tree, 5).add(kit.MANIFEST, X.manifests()[0].payload).checkpoint()
    note = s.note
    s.add(kit.RECORD, X.records()[0].payload).write(root)
    open(root + "/checkpoint", "wb").write(note)
    with open(kit.segments(root)[0], "ab") as f:
        f.write(b"\xa5")
    out, _ = kit.expect(0, "verify", "-r", root, "--pin", X.pin, *X.args)
    for words in (b": 1 record (0 pruned), 1 manifest\n", b" is of 1 entry\n", b"1 of 1 record\n", b" 1 entry behind",
                  b" 1 byte at the end that is "):
        assert words in out, (words, out)
    out, _ = kit.expect(0, "repair", "-r", root, "--pin", X.pin)
    for words in (b" 3 frames: ", b" 1 byte\n", b" 1 entry, kept: the relay signs it "):
        assert words in out, (words, out)
    out, _ = kit.expect(0, "verify", "-r", root, "--pin", X.pin)
    assert b" 0 bytes" not in out and b": 1 record " in out, out
    root = longer("one_segment", 1)
    out, _ = kit.expect(0, "repair", "-r", root, "--pin", X.pin)
    assert b" 0 frames" in out and b" 0 bytes\n" in out and b" 1 older segment, but for its signed end: " in out, out
    kit.flip(kit.segments(root)[0], kit.frames(kit.segments(root)[0])[1].offset + 50, 1)
    out, said = kit.expect(1, "verify", "-r", root, "--pin", X.pin)
    assert not [w for w in (b"1 records", b"1 entries", b"1 manifests", b"1 errors") if w in out], out


def test_uncompared():
    """Without a checkpoint from outside the segments nothing tells whether what goes to quarantine/ was signed."""
    root = longer("uncompared", 3)
    kept = T + "/kept"
    shutil.copy(root + "/checkpoint", kept)
    path = kit.segments(root)[-1]
    cp = [f for f in kit.frames(path) if f.kind == kit.CHECKPOINT][-1]
    os.truncate(path, cp.offset - 1)        # a signed entry, the last, is cut
    for words, spoil in (("checkpoint is missing", os.unlink), ("checkpoint is damaged", lambda p: kit.flip(p, 3, 1))):
        bad = kit.copy(root, T + "/bad")
        spoil(bad + "/checkpoint")
        assert "signed" in refused(bad, "--against", kept)
        out, _ = kit.expect(0, "repair", "-r", bad, "--pin", X.pin)
        assert ("not compared what was quarantined: the file " + words).encode() in out and b"--against" in out, out
        bad = kit.copy(root, T + "/bad")
        spoil(bad + "/checkpoint")
        s, _ = summary(0, "repair", "-r", bad, "--pin", X.pin)
        assert s["compared"] is False and s["quarantined_bytes"] > 0, s
    refused(root)       # the file has it
    whole = longer("uncompared", 3)
    out, _ = kit.expect(0, "repair", "-r", whole, "--pin", X.pin)
    assert b"not compared" not in out, out
    os.unlink(whole + "/checkpoint")
    s, _ = summary(0, "repair", "-r", kit.copy(whole, T + "/bad"), "--pin", X.pin, "--against", kept)
    assert s["compared"] is True, s
    out, _ = kit.expect(0, "repair", "-r", whole, "--pin", X.pin)
    assert b"not compared the log's end: the file checkpoint is missing" in out, out


# ---- what is said of LOCK and seg/ ----

def test_messages():
    """What, where, and what to do."""
    root = kit.copy(X.root, T + "/said")
    fd = os.open(root, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    _, said = kit.expect(11, "repair", "-r", root, "--pin", X.pin)
    assert "archive %s: another process writes" % root in said and "LOCK" in said and "stop" in said, said
    os.close(fd)
    for name, words in (("LOCK", "archive %s: open LOCK" % root), ("seg/notes.txt", "%s/seg/notes.txt is no segment: move" % root),
                        ("epoch/notes.txt", "%s/epoch/notes.txt is no manifest: move" % root)):
        if os.path.exists(root + "/" + name):
            os.unlink(root + "/" + name)
        os.mkdir(root + "/" + name)
        got, out, said = kit.run("repair" if name == "LOCK" else "verify", "-r", root, "--pin", X.pin)
        assert got != 0 and words in said, (got, said)
        os.rmdir(root + "/" + name)
    os.rename(root + "/seg", T + "/seg_away")
    for c in ("list", "verify", "repair"):
        _, said = kit.expect(1, c, "-r", root)
        assert "archive %s: " % root in said and "open folder seg" in said and "put back a copy" in said, said
    os.rename(T + "/seg_away", root + "/seg")
    path = kit.segments(root)[1]
    os.rename(path, T + "/segment_away")
    os.symlink(path, path)
    _, said = kit.expect(74, "list", "-r", root)
    assert "open %s: " % path in said, said


# ---- a folder that is not whole ----

def test_no_epochs():
    """The folder of the manifests' copies is gone: the log has them all."""
    root = kit.copy(X.root, T + "/mirror")
    shutil.rmtree(root + "/epoch")
    _, said = kit.expect(0, "verify", "-r", root, "--pin", X.pin, *X.args)
    assert "no file epoch/5.cose" in said, said
    for args in (["list"], ["stats"], ["show", "1"]):
        kit.expect(0, *args, "-r", root, "--pin", X.pin, *X.args)
    kit.expect(0, "repair", "-r", root, "--pin", X.pin)
    assert open(root + "/epoch/7.cose", "rb").read() == X.manifests()[1].payload


def test_modes():
    """Folders 0750, files 0640: what a writer makes, and what repair does."""
    had = os.umask(0)
    try:
        root = kit.Exchanges(T, "modes").root
        path = kit.segments(root)[-1]
        os.truncate(path, [f for f in kit.frames(path) if f.is_entry][-1].end - 1)
        os.unlink(root + "/checkpoint")
        for folder in ("quarantine", "epoch"):
            shutil.rmtree(root + "/" + folder)
        kit.expect(0, "repair", "-r", root)
    finally:
        os.umask(had)
    assert os.listdir(root + "/quarantine") and os.listdir(root + "/epoch") and os.path.exists(root + "/checkpoint")
    for folder, _, names in os.walk(root):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o750, folder
        for name in names:
            assert stat.S_IMODE(os.stat(folder + "/" + name).st_mode) == 0o640, name


def test_all_epochs():
    """Every manifest's copy that is gone or another is written again, of however old an epoch."""
    root = T + "/epochs"
    subprocess.run([kit.TESTS + "/make_archive", root, "6", "300", "5"], check=True, timeout=120)
    pin, paths, want = root + ".vkey", kit.segments(root), {}
    for path in paths:
        f = kit.frames(path)[0]
        if f.kind == kit.MANIFEST:
            want["%d.cose" % (len(want) + 1)] = f.payload
    assert len(want) == 6

    def copies(of):
        return {n: open("%s/epoch/%s" % (of, n), "rb").read() for n in os.listdir(of + "/epoch")}

    assert copies(root) == want
    bad = kit.copy(root, T + "/fewer")
    shutil.rmtree(bad + "/epoch")
    s, _ = summary(0, "repair", "-r", bad, "--pin", pin)
    assert copies(bad) == want and (s["manifests_written"], s["manifests_lacking"]) == (6, 0), s
    os.unlink(bad + "/epoch/2.cose")
    kit.flip(bad + "/epoch/3.cose", 60, 1)
    out, _ = kit.expect(0, "repair", "-r", bad, "--pin", pin)
    assert copies(bad) == want and b"written      2 manifests in epoch/\n" in out, out
    out, _ = kit.expect(0, "repair", "-r", bad, "--pin", pin)
    assert b"written " not in out, out
    # The log's own is damaged: a copy that is there stays, one that is not cannot be had.
    path = kit.segments(bad)[0]
    assert kit.frames(path)[0].kind == kit.MANIFEST
    kit.flip(path, kit.frames(path)[0].offset + 99, 1)
    kit.expect(0, "repair", "-r", bad, "--pin", pin)
    assert copies(bad) == want
    os.unlink(bad + "/epoch/1.cose")
    os.unlink(bad + "/epoch/4.cose")
    out, _ = kit.expect(3, "repair", "-r", bad, "--pin", pin)
    assert b"written      1 manifest in epoch/\n" in out and b"not written  1 manifest that epoch/ lacks" in out, out
    assert copies(bad) == {n: want[n] for n in want if n != "1.cose"}


def test_no_vkey():
    """log.vkey is gone: who has the pin reads on, with a note; nobody else does, and nobody writes."""
    root, n = kit.copy(X.root, T + "/no_vkey"), X.records()[0].index
    os.unlink(root + "/log.vkey")
    had = tree_of(root)
    commands = (["verify", *X.args], ["verify", "--quick"], ["list", *X.args], ["show", n, *X.args], ["stats"], ["prove", n],
                ["extract", n, "--head", *X.args])
    for c in commands:
        for more in ([], ["--json"] if c[0] != "extract" else []):
            want, _ = kit.expect(0, *c, *more, "-r", X.root, "--pin", X.pin)
            out, said = kit.expect(0, *c, *more, "-r", root, "--pin", X.pin)
            assert out == want.replace(X.root.encode(), root.encode()) or c[0] in ("list", "show", "stats"), c
            assert said.count("archive %s has no file log.vkey" % root) == 1, said
            _, said = kit.expect(1, *c, *more, "-r", root)
            assert "log.vkey" in said and "copy" in said, said
    out, said = kit.expect(0, "export", "--warc", *X.args, "-r", root, "--pin", X.pin, "-o", T + "/w")
    assert "has no file log.vkey" in said
    # Another log's key is no key to this one, and a log.vkey that is damaged is damage.
    other = kit.Exchanges(T, "b")
    for level in ([], ["--quick"]):
        kit.expect(1, "verify", *level, "-r", root, "--pin", other.pin)
    refused(root)
    assert tree_of(root) == had
    for text in (b"", open(X.pin, "rb").read()[:-9]):
        open(root + "/log.vkey", "wb").write(text)
        kit.expect(1, "verify", "-r", root, "--pin", X.pin)


with tempfile.TemporaryDirectory() as T:
    X = kit.Exchanges(T)
    kit.run_tests(globals())
