#!/usr/bin/python3
"""test_damage_warc.py: what `amber-archive export` writes of a damaged archive, and what it says.

All that is whole is exported with the bytes it has in the export of the whole archive.  Where a receipt cannot be made
its metadata says so, and differs in nothing else.  A receipt that is written is true.
"""
import base64
import json
import os
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402


def members(data):
    while data:
        d = zlib.decompressobj(31)
        text = d.decompress(data) + d.flush()
        assert d.eof
        yield data[:len(data) - len(d.unused_data)], text
        data = d.unused_data


def fields(text):
    """A metadata record's, in order; the head's without what counts the block."""
    head, block = text[:-4].split(b"\r\n\r\n", 1)
    counted = (b"Content-Length", b"WARC-Block-Digest")
    return ([x for x in head.split(b"\r\n") if not x.startswith(counted)],
            [tuple(x.split(b": ", 1)) for x in block.split(b"\r\n") if x])


class Group:
    """The records of one exchange: bytes of all but its metadata, and that."""

    def __init__(self, raws, text):
        self.raw, self.last = raws[:-1], raws[-1]
        self.head, meta = fields(text)
        self.rest = [x for x in meta if x[0] not in (b"amber-receipt", b"amber-unproven", b"amber-unsigned")]
        meta = dict(meta)
        self.index = int(meta[b"amber-index"])
        self.receipt = base64.b64decode(meta[b"amber-receipt"]) if b"amber-receipt" in meta else None
        self.is_unproven = meta.get(b"amber-unproven") == b"yes"
        self.is_unsigned = meta.get(b"amber-unsigned") == b"yes"
        assert [self.receipt is not None, self.is_unproven, self.is_unsigned].count(True) == 1


def read(data):
    groups, raws = {}, []
    v = list(members(data))
    assert b"WARC-Type: warcinfo" in v[0][1]
    for raw, text in v[1:]:
        raws.append(raw)
        if b"WARC-Type: metadata" in text.split(b"\r\n\r\n")[0]:
            g = Group(raws, text)
            assert g.index not in groups
            groups[g.index], raws = g, []
    assert not raws and list(groups) == sorted(groups)
    return v[0][0], groups


def export(code, root, *args):
    """The file, as by two exports and to stdout; the summary; what was said of damage."""
    path = T + "/x.warc.gz"
    if os.path.exists(path):
        os.unlink(path)
    out, _ = kit.expect(code, "export", "--warc", "-r", root, "-o", path, "--json", *X.args, *args)
    v = [json.loads(x) for x in out.splitlines()]
    data = open(path, "rb").read()
    again, said = kit.expect(code, "export", "--warc", "-r", root, *X.args, *args)
    assert again == data
    errors = [x["what"] for x in v if x["message_type"] == "error"]
    s = v[-1]
    assert s["message_type"] == "summary" and s["exit_code"] == code and s["bytes"] == len(data)
    assert s["damaged"] + s["failed"] == len(errors), (s, errors)
    for x in errors:
        assert "amber-archive export: %s\n" % x in said, (x, said)
    assert ("copy" in said and "verify" in said) == (code == 1), said
    assert said.count("every proof") == (1 if s["unproven"] else 0), said
    assert not [n for n in os.listdir(T) if n.endswith(".tmp")]
    return data, s, errors


def check(root, gone, unproven=(), other=(), damaged=None, args=()):
    """gone: not there; unproven: without a receipt; other: with another one than ever, and true."""
    data, s, errors = export(1, root, *args)
    info, groups = read(data)
    assert sorted(groups) == [n for n in WHOLE if n not in gone], (sorted(groups), gone)
    assert s["records"] == len(groups) and s["unproven"] == len(unproven), (s, unproven)
    assert errors and (damaged is None or len(errors) == damaged), errors
    for n, g in groups.items():
        whole = WHOLE[n]
        assert g.raw == whole.raw, n
        assert (g.head, g.rest) == (whole.head, whole.rest), n
        assert g.is_unproven == (n in unproven), (n, sorted(unproven), [k for k in groups if groups[k].is_unproven])
        if n in other:
            assert g.receipt is not None and g.receipt != whole.receipt, n
            open(T + "/receipt", "wb").write(g.receipt)
            out, _ = kit.expect(0, "check", "--alone", "--pin", X.pin, T + "/receipt", X.rs[n])
            assert b"entry %d," % n in out
        elif n not in unproven:
            assert g.last == whole.last, n
    return info, errors


def damaged():
    return kit.copy(X.root, T + "/damaged")


def indices(i, after=-1):
    return {f.index for f in FRAMES[i] if f.kind == kit.RECORD and f.index > after}


def test_record():
    """Each record in turn, in its head and in its ciphertext: those behind it in its segment lose their receipts."""
    for i, fs in enumerate(FRAMES):
        for f in fs:
            if f.kind != kit.RECORD:
                continue
            for at in (3, 32 + 500):
                root = damaged()
                kit.flip(kit.segments(root)[i], f.offset + at, 3)
                info, errors = check(root, {f.index}, indices(i, f.index), damaged=1)
                assert info == INFO
                assert NAMES[i] in errors[0] and "offset %d" % f.offset in errors[0], errors


def test_many():
    root = damaged()
    gone, unproven = set(), set()
    for i, fs in enumerate(FRAMES):
        v = [f for f in fs if f.kind == kit.RECORD]
        for f in {v[0], v[-1]}:
            kit.flip(kit.segments(root)[i], f.offset + 32 + 400, 3)
            gone.add(f.index)
        unproven |= indices(i, v[0].index) - gone
    check(root, gone, unproven, damaged=len(gone))
    # One beside the other.
    root = damaged()
    v = [f for f in FRAMES[0] if f.kind == kit.RECORD][2:5]
    for f in v:
        kit.flip(kit.segments(root)[0], f.offset + 1, 3)
    gone = {f.index for f in v}
    check(root, gone, indices(0, v[0].index) - gone, damaged=3)


def test_header():
    """Nothing is lost with a header: the same file, and exit code 1."""
    for i in range(len(FRAMES)):
        for data in (bytes(64), kit.header(kit.first_of(PATHS[i]) + 7, 5, X.id.name),
                     kit.header(kit.first_of(PATHS[i]), 5, "other.example/log"),
                     kit.header(kit.first_of(PATHS[i]), 6, X.id.name)):
            root = damaged()
            with open(kit.segments(root)[i], "r+b") as f:
                f.write(data)
            assert export(1, root)[0] == HEALTHY
            check(root, set(), damaged=1)
    root = damaged()
    for path in kit.segments(root):
        with open(path, "r+b") as f:
            f.write(bytes(64))
    assert export(1, root)[0] == HEALTHY
    check(root, set(), damaged=len(FRAMES))


def test_frames():
    """Of the other frames a checkpoint gives its place to the next one; a manifest is an entry; a trailer is not."""
    for i, fs in enumerate(FRAMES):
        for k, f in enumerate(fs):
            if f.kind == kit.RECORD:
                continue
            root = damaged()
            kit.flip(kit.segments(root)[i], f.offset + 40, 2)
            before = fs[k - 1].index if k > 0 and fs[k - 1].kind == kit.RECORD else None
            if f.kind == kit.MANIFEST:
                check(root, set(), indices(i, f.index), damaged=1)
            elif f.kind == kit.TRAILER or before is None:
                check(root, set(), damaged=1)
            elif i + 1 == len(FRAMES) and fs[k + 1].kind == kit.TRAILER:
                check(root, set(), damaged=1)       # the archive's copy has it
                os.unlink(root + "/checkpoint")
                groups = read(export(1, root)[0])[1]
                assert groups[before].is_unsigned
            else:
                check(root, set(), other={before}, damaged=1)
    # An entry is lost, and what closes its segment: the next end tells the tree.
    for kind in (kit.CHECKPOINT, kit.TRAILER):
        root = damaged()
        v = [f for f in FRAMES[0] if f.kind == kit.RECORD]
        kit.flip(kit.segments(root)[0], v[3].offset + 60, 2)
        kit.flip(kit.segments(root)[0], [f for f in FRAMES[0] if f.kind == kind][-1].offset + 50, 2)
        check(root, {v[3].index}, indices(0, v[3].index) | indices(1))


def rebuilt(i, change):
    """Segment i with frames changed by whoever can make a check but no signature."""
    root = damaged()
    first = kit.first_of(PATHS[i])
    data = kit.header(first, 5 if i < len(FRAMES) - 1 else 7, X.id.name)
    for f in FRAMES[i]:
        data += kit.frame(first, f.kind, f.index, change(f))
    with open(kit.segments(root)[i], "wb") as f:
        f.write(data)
    return root


def test_forged():
    """What was not signed is not borne out, however whole it is."""
    v = [f for f in FRAMES[0] if f.kind == kit.RECORD]
    # Another record in the place of one: it opens.
    root = rebuilt(0, lambda f: v[1].payload if f.index == v[4].index and f.kind == kit.RECORD else f.payload)
    data, s, errors = export(1, root)
    _, groups = read(data)
    assert "contradict" in " ".join(errors) or "root" in " ".join(errors), errors
    for n, g in groups.items():
        assert g.is_unproven == (n in indices(0, v[4].index - 1)), n
        if not g.is_unproven:
            assert g.last == WHOLE[n].last
    # A checkpoint by another key, or of another place.
    own = [f for f in FRAMES[0] if f.kind == kit.CHECKPOINT]
    theirs = [f for f in kit.frames(kit.segments(OTHER.root)[0]) if f.kind == kit.CHECKPOINT]
    for payload in (theirs[2].payload, own[5].payload, own[1].payload, b"x"):
        root = rebuilt(0, lambda f: payload if f.offset == own[2].offset else f.payload)
        data, s, errors = export(1, root)
        for n, g in read(data)[1].items():
            assert g.raw == WHOLE[n].raw
            if g.receipt is not None:
                open(T + "/receipt", "wb").write(g.receipt)
                kit.expect(0, "check", "--alone", "--pin", X.pin, T + "/receipt", X.rs[n])
    # A trailer that tells another tree, behind a lost entry: no receipt comes of it.
    t = FRAMES[0][-1]
    assert t.kind == kit.TRAILER
    root = rebuilt(0, lambda f: other_trailer(f) if f.kind == kit.TRAILER else f.payload)
    kit.flip(kit.segments(root)[0], v[2].offset + 90, 1)
    check(root, {v[2].index}, indices(0, v[2].index) | indices(1))
    # A record that its key does not open: signed, whole and lost.
    root = kit.emptied(X.root, T + "/damaged")
    seg = kit.Segment(X.id, kit.Tree(), 5).add(kit.MANIFEST, X.manifests()[0].payload)
    for f in v[:3]:
        seg.add(kit.RECORD, f.payload).checkpoint()
    bad = bytearray(v[3].payload)
    bad[-1] ^= 1
    seg.add(kit.RECORD, bytes(bad)).checkpoint().add(kit.RECORD, v[4].payload).close().write(root)
    data, s, errors = export(1, root)
    assert (s["failed"], s["damaged"], s["unproven"]) == (1, 0, 0) and "record 4" in errors[0], (s, errors)
    assert sorted(read(data)[1]) == [1, 2, 3, 5]


def other_trailer(f):
    tree = kit.Tree()
    tree.leaves = [kit.sha(bytes([k])) for k in range(f.index)]
    return kit.cbor2.dumps({1: f.index, 2: tree.root(), 3: tree.frontier()})


def test_foreign():
    """Another log's segment under the same name, sealed by the same keys: none of it has a receipt."""
    for zero in (0, 64):
        root = damaged()
        data = open(kit.segments(OTHER.root)[0], "rb").read()
        with open(kit.segments(root)[0], "wb") as f:
            f.write(bytes(zero) + data[zero:])
        for n, g in read(export(1, root)[0])[1].items():
            assert g.is_unproven == (n in indices(0) | indices(1)), n
            if n not in indices(0):
                assert g.raw == WHOLE[n].raw


def test_end():
    """Signed entries that the log's end lacks; and segments."""
    last = [f for f in FRAMES[-1] if f.kind == kit.RECORD]
    for cut in (last[-1].end - 1, last[-1].offset, last[0].offset + 8, 64):
        root = damaged()
        os.truncate(kit.segments(root)[-1], cut)
        gone = {f.index for f in last if f.end > cut}
        _, errors = check(root, gone, damaged=1)
        os.unlink(root + "/checkpoint")
        if cut > last[0].end:           # nothing tells that it was signed
            assert sorted(read(export(0, root)[0])[1]) == [n for n in WHOLE if n not in gone]
    # The last segment's records, when only what is signed behind them tells.
    root = damaged()
    os.unlink(root + "/checkpoint")
    kit.flip(kit.segments(root)[-1], last[0].offset, 1)
    check(root, {last[0].index}, indices(len(FRAMES) - 1, last[0].index), damaged=1)
    for i in range(len(FRAMES) - 1):
        root = damaged()
        os.unlink(kit.segments(root)[i])
        # The tree before the next segment is not known; its end tells it.
        check(root, indices(i), indices(i + 1), damaged=1)
    root = damaged()
    for path in kit.segments(root):
        os.truncate(path, 0)
    data, s, errors = export(1, root)
    assert s["records"] == 0 and len(errors) == len(FRAMES)
    # A range behind damage, and one before it.
    root = damaged()
    f = [f for f in FRAMES[1] if f.kind == kit.RECORD][1]
    kit.flip(kit.segments(root)[1], f.offset + 100, 1)
    assert sorted(read(export(0, root, "1-%d" % (f.index - 2))[0])[1]) == list(range(1, f.index - 1))
    after = [n for n in WHOLE if n > f.index]
    assert sorted(read(export(1, root, "%d-%d" % (f.index, after[-1]))[0])[1]) == after
    # Pruned and sealed ones are no damage; both have happened.
    root = damaged()
    kit.prune(kit.segments(root)[0], indices(0))
    kit.flip(kit.segments(root)[1], f.offset + 100, 1)
    data, s, errors = export(1, root)
    assert s["pruned"] == len(indices(0)) and s["damaged"] == 1


with tempfile.TemporaryDirectory() as T:
    X, OTHER = kit.Exchanges(T), kit.Exchanges(T, "b")
    PATHS = kit.segments(X.root)
    NAMES = [os.path.basename(p) for p in PATHS]
    FRAMES = [kit.frames(p) for p in PATHS]
    HEALTHY, SUMMARY, ERRORS = export(0, X.root)
    INFO, WHOLE = read(HEALTHY)
    assert not ERRORS and SUMMARY["unproven"] == 0
    assert all(g.receipt is not None for g in WHOLE.values()) and len(WHOLE) == len(X.records())
    kit.run_tests(globals())
