#!/usr/bin/python3
"""test_damage_cli.py: what the holder of a damaged archive still gets from list, show, extract, stats, check and prove.

Damaged here are segments' headers and names; test_archive_cli.py damages frames, test_warc.py what is exported.
"""
import hashlib
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402


def lines(out):
    v = [json.loads(x) for x in out.splitlines()]
    assert v[-1]["message_type"] == "summary"
    return v


def indices_in(path):
    return [f.index for f in kit.frames(path) if f.kind == kit.RECORD]


def listed(root, code, *args):
    """Indices that list tells, the number of damaged places, and how they are said."""
    out, said = kit.expect(code, "list", "-r", root, "--json", *args)
    v = lines(out)
    errors = [x["what"] for x in v if x["message_type"] == "error"]
    assert v[-1]["damaged"] == len(errors), v[-1]
    assert v[-1]["exit_code"] == code
    return [x["index"] for x in v if x["message_type"] == "record"], errors


def told(v):
    """What list says of records, but for what the file system says."""
    return [{k: x[k] for k in x if k != "committed_by"} for x in v if x["message_type"] == "record"]


def put_header(path, data):
    with open(path, "r+b") as f:
        f.write(data)


def tree_of(root):
    return {os.path.relpath(os.path.join(d, f), root): open(os.path.join(d, f), "rb").read()
            for d, _, fs in os.walk(root) for f in fs}


def check_header(root, i):
    """Segment i's header is damaged and nothing else: all is read, and all say so."""
    name = os.path.basename(kit.segments(root)[i])
    mine, others = indices_in(PATHS[i]), [n for n in EVERY if n not in indices_in(PATHS[i])]
    for args in ([], X.args):
        rows, errors = listed(root, 1, *args)
        assert rows == EVERY and len(errors) == 1 and name in errors[0], (rows, errors)
    _, said = kit.expect(1, "list", "-r", root)
    assert name in said and "damaged" in said and "copy" in said and "verify" in said, said
    v = lines(kit.expect(1, "list", "-r", root, "--json")[0])
    assert told(v) == WHOLE
    for n in (mine[0], mine[-1]):
        out, said = kit.expect(1, "show", "-r", root, n, *X.args)
        whole, _ = kit.expect(0, "show", "-r", X.root, n, *X.args)
        assert [a for a, b in zip(out.splitlines(), whole.splitlines()) if a != b and b"ommitted" not in a] == []
        assert len(out.splitlines()) == len(whole.splitlines()) and name in said and "header" in said, said
        v = lines(kit.expect(1, "show", "-r", root, n, "--json")[0])
        assert [x["message_type"] for x in v] == ["record", "error", "summary"] and v[0]["index"] == n, v
        if n in BODIES:
            out, said = kit.expect(1, "extract", "-r", root, n, *X.args)
            assert out == BODIES[n] and name in said
    kit.expect(0, "show", "-r", root, others[0], *X.args)
    rows, errors = listed(root, 1, "%d-%d" % (mine[0], mine[-1]))
    assert rows == mine
    # stats
    s, t = (lines(kit.expect(c, "stats", "-r", r, "--json", *X.args)[0])[-1] for c, r in ((0, X.root), (1, root)))
    assert t.pop("damaged") == 1 and s.pop("damaged") == 0 and t.pop("exit_code") == 1 and s.pop("exit_code") == 0
    assert s == t, (s, t)
    # A receipt is as true as before, and no proof is wrong.
    n = mine[-1]
    open(T + "/receipt", "wb").write(RECEIPTS[n])
    out, said = kit.expect(1, "check", "-r", root, "--pin", X.pin, T + "/receipt")
    assert b"it holds this very entry" in out and name in said
    out, said = kit.expect(1, "prove", "-r", root, n)
    assert out == b"" and name in said and "copy" in said, said
    # Who verifies and who writes go on refusing, and change nothing.
    was = tree_of(root)
    for args in ([], ["--quick"]):
        _, said = kit.expect(1, "verify", "-r", root, "--pin", X.pin, *args)
        assert name in said, said
    kit.expect(1, "repair", "-r", root)
    assert {k: v for k, v in tree_of(root).items() if k != "LOCK"} == {k: v for k, v in was.items() if k != "LOCK"}


def test_header():
    """Each field of it, in each segment, and all of it."""
    rand = b"\x5a" * 64
    for i in range(len(PATHS)):
        for at in (0, 8, 15, 16, 23, 24, 55, 56, 60, 63):
            root = kit.copy(X.root, T + "/header")
            kit.flip(kit.segments(root)[i], at, 3)
            rows, errors = listed(root, 1, *X.args)
            assert rows == EVERY and len(errors) == 1, (i, at, rows, errors)
        for data in (bytes(64), rand):
            root = kit.copy(X.root, T + "/header")
            put_header(kit.segments(root)[i], data)
            check_header(root, i)
    # All of them.
    root = kit.copy(X.root, T + "/header")
    for path in kit.segments(root):
        put_header(path, bytes(64))
    rows, errors = listed(root, 1, *X.args)
    assert rows == EVERY and len(errors) == len(PATHS)
    # Without the copies of manifests: the frames have them.
    for n in os.listdir(root + "/epoch"):
        os.unlink(root + "/epoch/" + n)
    v = lines(kit.expect(1, "list", "-r", root, "--json", *X.args)[0])
    assert [(x["index"], x["epoch"]) for x in told(v)] == [(x["index"], x["epoch"]) for x in WHOLE]


def test_forged():
    """Headers that are whole and say what is not so."""
    own = [open(p, "rb").read(64) for p in PATHS]
    for i in range(len(PATHS)):
        first = kit.first_of(PATHS[i])
        forged = [own[(i + 1) % len(own)],                                  # another segment's
                  kit.header(first + 1, 5, X.id.name),                      # another first entry
                  kit.header(2 ** 62, 5, X.id.name),
                  kit.header(first, 5, "other.example/log"),                # another log's
                  open(kit.segments(OTHER.root)[0], "rb").read(64)]
        for h in forged:
            if h == own[i]:
                continue
            root = kit.copy(X.root, T + "/forged")
            put_header(kit.segments(root)[i], h)
            rows, errors = listed(root, 1, *X.args)
            assert rows == EVERY and len(errors) == 1, (i, h, rows, errors)
            kit.expect(1, "verify", "-r", root, "--pin", X.pin)
            kit.expect(1, "verify", "-r", root, "--pin", X.pin, "--quick")


def test_names():
    """A name that the frames do not bear out is not believed, with a header or without."""
    for lost in (False, True):
        root = kit.copy(X.root, T + "/names")
        path = kit.segments(root)[-1]
        if lost:
            put_header(path, bytes(64))
        os.rename(path, "%s/seg/%020d.amb" % (root, EVERY[-1] + 90))
        rows, errors = listed(root, 1)
        assert rows == [n for n in EVERY if n not in indices_in(PATHS[-1])], rows
        for n in (EVERY[-1] + 90, EVERY[-1] + 91, EVERY[-1]):
            out, said = kit.expect(1, "show", "-r", root, n)
            assert out == b"", (n, out)
    # Two that changed places.
    root = kit.copy(X.root, T + "/names")
    a, b = kit.segments(root)[:2]
    for path in (a, b):
        put_header(path, bytes(64))
    os.rename(a, a + "x")
    os.rename(b, a)
    os.rename(a + "x", b)
    gone = indices_in(PATHS[0]) + indices_in(PATHS[1])
    rows, errors = listed(root, 1)
    assert rows == [n for n in EVERY if n not in gone], rows


def test_foreign():
    """A segment of another log is not taken for one of this log, under whatever name."""
    theirs = kit.segments(OTHER.root)[0]
    data = kit.header(0, 5, "other.example/log") + open(theirs, "rb").read()[64:]
    for i in (0, 1):
        root = kit.copy(X.root, T + "/foreign")
        with open(kit.segments(root)[i], "wb") as f:
            f.write(data)
        rows, errors = listed(root, 1)
        assert rows == [n for n in EVERY if n not in indices_in(PATHS[i])], (i, rows)
        out, said = kit.expect(1, "show", "-r", root, indices_in(PATHS[i])[0])
        assert out == b"" and "another log" in said, said
    # With its header gone too it is shown like any other that was never verified; nothing of it is borne out.
    root = kit.copy(X.root, T + "/foreign")
    with open(kit.segments(root)[0], "wb") as f:
        f.write(bytes(64) + data[64:])
    mine = indices_in(PATHS[0])
    assert len(listed(root, 1)[1]) == 1
    kit.expect(1, "verify", "-r", root, "--pin", X.pin)
    for n in (mine[0], indices_in(PATHS[1])[0]):
        out, _ = kit.expect(1, "prove", "-r", root, n)
        assert out == b""


def test_sector():
    """A lost sector: the header and the first frames."""
    for i in range(len(PATHS)):
        for n in (512, 2048):
            root = kit.copy(X.root, T + "/sector")
            put_header(kit.segments(root)[i], bytes(n))
            gone = [f.index for f in kit.frames(PATHS[i]) if f.kind == kit.RECORD and f.offset < n]
            rows, errors = listed(root, 1, *X.args)
            assert rows == [k for k in EVERY if k not in gone], (i, n, rows)
            assert errors and all(os.path.basename(PATHS[i]) in x for x in errors), errors
            for k in gone:
                out, _ = kit.expect(1, "show", "-r", root, k)
                assert out == b""
            assert lines(kit.expect(1, "stats", "-r", root, "--json")[0])[-1]["records"] == len(rows)
    # Nothing is left but a piece of a header.
    for n in (0, 1, 63, 64):
        root = kit.copy(X.root, T + "/sector")
        os.truncate(kit.segments(root)[0], n)
        rows, _ = listed(root, 1)
        assert rows == [k for k in EVERY if k not in indices_in(PATHS[0])]


def test_stats():
    """Damaged records are passed and counted; what opens is counted as before."""
    bad = [f for f in kit.frames(PATHS[0]) if f.kind == kit.RECORD][2]
    whole = lines(kit.expect(0, "stats", "-r", X.root, "--json", *X.args)[0])[-1]
    assert (whole["damaged"], whole["failed"]) == (0, 0)
    for at, counts in ((0, (1, 0)), (15, (1, 0)), (40, (1, 0)), (len(bad.payload) // 2, (0, 1))):
        root = kit.copy(X.root, T + "/stats")
        kit.flip(kit.segments(root)[0], bad.offset + at, 2)
        v = lines(kit.expect(1, "stats", "-r", root, "--json", *X.args)[0])
        s = v[-1]
        assert (s["damaged"], s["failed"]) == counts, (at, s)
        assert s["records"] == whole["records"] - counts[0] and s["exit_code"] == 1
        assert sum(e.get("opened", 0) for e in s["epochs"]) == len(EVERY) - 1
        assert [x["message_type"] for x in v] == ["error", "summary"]
        out, said = kit.expect(1, "stats", "-r", root, *X.args)
        assert b"EPOCH" in out and "copy" in said
        assert "seg" in said or "record %d" % bad.index in said, said
    # In the last segment of an archive that has lost its checkpoint's copy: what is signed behind it tells.
    root = kit.copy(X.root, T + "/stats")
    os.unlink(root + "/checkpoint")
    last = [f for f in kit.frames(PATHS[-1]) if f.kind == kit.RECORD][0]
    kit.flip(kit.segments(root)[-1], last.offset, 1)
    rows, errors = listed(root, 1)
    assert rows == [n for n in EVERY if n != last.index] and len(errors) == 1, rows
    v = lines(kit.expect(1, "stats", "-r", root, "--json")[0])
    assert v[-1]["records"] == len(EVERY) - 1


def test_prove():
    """Before the damage a proof as ever; behind it none up to the segment's end, and why; then as ever."""
    bad = [f for f in kit.frames(PATHS[1]) if f.kind == kit.RECORD][1]
    root = kit.copy(X.root, T + "/prove")
    kit.flip(kit.segments(root)[1], bad.offset + 300, 1)
    name, end = os.path.basename(PATHS[1]), kit.first_of(PATHS[2])
    assert bad.index in indices_in(PATHS[1]) and EVERY[-1] > end
    for n in EVERY:
        got, out, said = kit.run("prove", "-r", root, n)
        if n < bad.index:
            assert got == 0 and out == RECEIPTS[n]
        elif n >= end:
            assert got == 1 and out == RECEIPTS[n], (n, got, said)
            assert "seg/%s, offset %d" % (name, bad.offset) in said and "copy" in said, said
            v = lines(kit.run("prove", "-r", root, n, "--json")[1])
            assert [x["message_type"] for x in v] == ["error", "receipt", "summary"] and v[-1]["damaged"] == 1, v
            assert v[1]["receipt"].encode() == RECEIPTS[n]
        else:
            assert "part of its proof: seg/%s, offset" % name in said, said
            assert got == 1 and out == b"", (n, got)
            assert "offset %d" % bad.offset in said and "entry %d" % n in said and "copy" in said, said
            kit.expect(1, "prove", "-r", root, n, "-o", T + "/none")
            assert not os.path.exists(T + "/none")
            v = lines(kit.run("prove", "-r", root, n, "--json")[1])
            assert len(v) == 1 and v[0]["exit_code"] == 1 and "offset" in v[0]["error"]
    # The signed end is damaged too, or its numbers are: nothing vouches for the tree behind it.
    for f in kit.frames(PATHS[1])[-2:]:
        worse = kit.copy(root, T + "/worse")
        kit.flip(kit.segments(worse)[1], f.offset + 32 + 20, 1)
        out, said = kit.expect(1, "prove", "-r", worse, EVERY[-1])
        assert out == b"" and "part of its proof: seg/%s, offset" % name in said, said
    open(T + "/receipt", "wb").write(RECEIPTS[bad.index])
    out, said = kit.expect(1, "check", "-r", root, "--pin", X.pin, T + "/receipt")
    assert "the receipt is true, but" in said and b"very entry" not in out
    open(T + "/receipt", "wb").write(RECEIPTS[bad.index + 1])
    kit.expect(0, "check", "-r", root, "--pin", X.pin, T + "/receipt")


with tempfile.TemporaryDirectory() as T:
    X = kit.Exchanges(T)
    OTHER = kit.Exchanges(T, "b")
    PATHS = kit.segments(X.root)
    EVERY = [f.index for f in X.records()]
    RECEIPTS = dict(zip(sorted(EVERY), X.receipts))
    WHOLE = told(lines(kit.expect(0, "list", "-r", X.root, "--json")[0]))
    BODIES = {}
    for number in EVERY:
        got, body, _ = kit.run("extract", "-r", X.root, number, *X.args)
        if got == 0:
            BODIES[number] = body
    assert len({hashlib.sha256(b).digest() for b in BODIES.values()}) > 3
    kit.run_tests(globals())
