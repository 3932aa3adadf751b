#!/usr/bin/python3
"""test_forged_cli.py: segments rightly framed, one thing in them wrong, as only the log's own key or a bad writer makes
them: `amber-archive verify`, quick and full, and what may be repaired.

test_verify_cli.py damages archives; here every frame's check holds, so that each rule of the log stands alone.
"""
import json
import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402
import cbor2                # noqa: E402


def summary(root, code, *args):
    out, said = kit.expect(code, "verify", "-r", root, "--pin", X.pin, "--json", *args)
    s = json.loads(out.splitlines()[-1])
    assert s["message_type"] == "summary" and (s["errors"] > 0) == (code != 0), (s, said)
    return s


def segment(epoch=5, tree=None, kinds="MRR"):
    s, records = kit.Segment(X.id, kit.Tree() if tree is None else tree, epoch), iter(RECORDS)
    for k in kinds:
        s.add(kit.MANIFEST, M5) if k == "M" else s.add(kit.RECORD, next(records))
    return s


def checkpoint(s, by=None, size=None, index=None, root=None):
    n = len(s.tree.leaves)
    note = (by or X.id).checkpoint(n if size is None else size, root or s.tree.root())
    s.data += kit.frame(s.first, kit.CHECKPOINT, n if index is None else index, note)
    return s


def reserved(s):
    """A record whose head has a reserved byte that is not zero, under a check that holds."""
    at = len(s.data)
    s.add(kit.RECORD, RECORDS[8])
    head = s.data[at:at + 5] + b"\0\0\1" + s.data[at + 8:at + 24]
    d = kit.d_of(kit.RECORD, RECORDS[8])
    check = kit.sha(b"amber/1 frame" + struct.pack(">Q", s.first) + head + d)[:8]
    s.data = s.data[:at] + head + check + RECORDS[8]
    return s


def trailer(s, body=None, entries=None, tree=None, has_note=False):
    tree = tree or s.tree
    body = body or cbor2.dumps({1: entries or s.entries, 2: tree.root(), 3: tree.frontier()})
    if not has_note:
        s.checkpoint()
    s.data += kit.frame(s.first, kit.TRAILER, len(tree.leaves), body)
    return s


def more(s, n):
    tree = kit.Tree()
    tree.leaves = s.tree.leaves + [bytes([i]) * 32 for i in range(n)]
    return tree


def less(s):
    tree = kit.Tree()
    tree.leaves = s.tree.leaves[:-1]
    return tree


def followed(s):
    """A segment and the next: what ends the log may be a torn tail."""
    return s, kit.Segment(X.id, s.tree, 5).add(kit.RECORD, RECORDS[9]).close()


def two(first, second):
    """Segments of one log, each begun by a manifest."""
    tree = kit.Tree()
    a = kit.Segment(X.id, tree, first[0]).add(kit.MANIFEST, first[1]).add(kit.RECORD, RECORDS[0]).close()
    return a, kit.Segment(X.id, tree, second[0]).add(kit.MANIFEST, second[1]).close()


def written(name, *segments):
    """An archive of these segments, without copies of what is in them."""
    root = kit.emptied(X.root, T + "/" + name)
    shutil.rmtree(root + "/epoch")
    os.mkdir(root + "/epoch")
    for s in segments:
        with open("%s/seg/%020d.amb" % (root, s.first), "wb") as f:
            f.write(s.data)
    return root


# ---- levels ----

def test_levels():
    """Whatever needs no hashes is found by --quick too; nothing else is."""
    s = segment()
    good = {"one": [segment().close()], "two": two((5, M5), (7, M7)), "followed": followed(trailer(segment())),
            "checkpoints": [checkpoint(segment()).close()]}
    for name, segments in good.items():
        root = written("good", *segments)
        for args in ([], ["--quick"]):
            assert summary(root, 0, *args)["size"] == len(segments[-1].tree.leaves), name
    rows = {
        "a checkpoint of another key": [checkpoint(segment(), by=OTHER.id).close()],
        "a checkpoint frame of another size": [checkpoint(segment(), index=4).close()],
        "a checkpoint of more entries": [checkpoint(segment(), size=4, index=4).close()],
        "a checkpoint of fewer entries": [checkpoint(segment(), size=2, index=2).close()],
        "a header of another epoch": [segment(6).close()],
        "a manifest that is not the first entry": [segment(kinds="RMR").close()],
        "an epoch again": two((5, M5), (5, M5)),
        "an epoch before": two((7, M7), (5, M5)),
        "a manifest of another key": [kit.Segment(X.id, kit.Tree(), 5).add(
            kit.MANIFEST, OTHER.manifests()[0].payload).close()],
        "a reserved byte": [reserved(segment()).close()],
        "a trailer that is none": followed(trailer(segment(), body=b"\xa0")),
        "a trailer of more entries": followed(trailer(segment(), entries=4)),
        "a trailer of another size": followed(trailer(s, tree=more(s, 2))),
    }
    for name, segments in rows.items():
        root = written("bad", *segments)
        for args in ([], ["--quick"]):
            try:
                summary(root, 1, *args)
            except AssertionError as e:
                raise AssertionError(name, args) from e
    # The last segment under another name than its first entry's.
    root = written("renamed", *followed(segment().close()))
    os.rename(kit.segments(root)[1], root + "/seg/%020d.amb" % 5)
    for args in ([], ["--quick"]):
        summary(root, 1, *args)
    # Roots are the full level's.
    root = written("root", checkpoint(segment(), root=b"\1" * 32).close())
    summary(root, 0, "--quick")
    summary(root, 1)


def closings():
    """One that holds, and others, each with the next segment: what they are, and whether it holds."""
    few = less(segment())
    return {
        "good": (followed(trailer(segment())), True),
        "of another key": (followed(trailer(checkpoint(segment(), by=OTHER.id), has_note=True)), False),
        "of another tree": (followed(trailer(checkpoint(segment(), root=b"\1" * 32), has_note=True)), False),
        "of fewer entries": (followed(trailer(checkpoint(segment(), size=2, index=2, root=few.root()), entries=2,
                                              tree=few, has_note=True)), False),
    }


def test_resume():
    """Behind damage only a closing leads on that this log signed, of the entries before the next segment."""
    for name, (segments, is_good) in closings().items():
        root = written("resume", *segments)
        path = kit.segments(root)[0]
        kit.flip(path, kit.frames(path)[1].offset + 100, 1)
        s = summary(root, 1)
        assert s["size"] == (4 if is_good else 1), (name, s)
        assert s["unverified_entries"] == (2 if is_good else 0), (name, s)


def test_seams():
    """Older segments are believed by the same closings alone; what is refused is not changed."""
    for name, (segments, is_good) in closings().items():
        root = written("seams", *segments)
        had = [open(p, "rb").read() for p in kit.segments(root)]
        out, said = kit.expect(0 if is_good else 1, "repair", "-r", root, "--pin", X.pin)
        assert (b"fit for writing" in out) == is_good, (name, said)
        assert [open(p, "rb").read() for p in kit.segments(root)] == had, name
    rows = {
        "a header of another epoch": [segment(6).close()],
        "a manifest of another key": [kit.Segment(X.id, kit.Tree(), 5).add(
            kit.MANIFEST, OTHER.manifests()[0].payload).close()],
        "an epoch before": two((7, M7), (5, M5)),
    }
    for name, segments in rows.items():
        _, said = kit.expect(1, "repair", "-r", written("seams", *segments), "--pin", X.pin)
        assert "nothing was changed" in said, (name, said)
    # Known by the file `checkpoint`, of a size that only a seam has.
    root = written("seams", *closings()["good"][0])
    open(root + "/checkpoint", "wb").write(X.id.checkpoint(3, b"\1" * 32))
    _, said = kit.expect(20, "repair", "-r", root, "--pin", X.pin)
    assert "the file checkpoint" in said, said


def exported(root):
    """Records that export writes, how many of them without a proof and without a signature, and places of damage."""
    out, _ = kit.expect(1, "export", "--warc", "-o", T + "/x.warc", "-r", root, "--pin", X.pin, "--json", *X.args[:2])
    s = json.loads(out.splitlines()[-1])
    return s["records"], s["unproven"], s["unsigned"], s["damaged"]


def test_export():
    """Behind damage a receipt is made only where the tree is known by a checkpoint that this log signed."""
    want = {"good": (2, 1, 0, 1), "of another key": (2, 2, 0, 2), "of another tree": (2, 2, 0, 1),
            "of fewer entries": (2, 2, 0, 1)}
    for name, (segments, _) in closings().items():
        root = written("export", *segments)
        path = kit.segments(root)[0]
        kit.flip(path, kit.frames(path)[1].offset + 100, 1)
        assert exported(root) == want[name], (name, exported(root))
    # A checkpoint that came too late is damage, and no entry is lost by it.
    a, b = followed(segment().close())
    b = checkpoint(kit.Segment(X.id, less(b), 5).add(kit.RECORD, RECORDS[9]), size=3, index=3).add(kit.RECORD, RECORDS[8])
    root = written("export", a, b.close())
    path = kit.segments(root)[0]
    kit.flip(path, kit.frames(path)[1].offset + 100, 1)
    assert exported(root) == (3, 1, 0, 2), exported(root)
    # The last segment's checkpoint is the file's alone, if it is of this tree.
    a, b = closings()["good"][0]
    root = written("export", a, b)
    path, last = kit.segments(root)
    kit.flip(path, kit.frames(path)[1].offset + 100, 1)
    os.truncate(last, kit.frames(last)[-2].offset)
    assert exported(root) == (2, 1, 1, 1)
    for note, unsigned in ((b.note, 0), (X.id.checkpoint(4, b"\1" * 32), 1)):
        open(root + "/checkpoint", "wb").write(note)
        assert exported(root) == (2, 1, unsigned, 1), note
    # Two entries of one number: behind them no path is known.
    one = checkpoint(segment()).add(kit.RECORD, RECORDS[2])
    one.tree.leaves = one.tree.leaves[:3]
    two = kit.Segment(X.id, one.tree, 5).add(kit.RECORD, RECORDS[3]).add(kit.RECORD, RECORDS[4]).checkpoint()
    root = written("export", one, two)
    assert exported(root) == (3, 1, 0, 1), exported(root)


def test_prove():
    """The file `checkpoint` makes a receipt only where it is this log's and of this tree; else the segment's does."""
    s = segment().close()
    for note in (s.note, X.id.checkpoint(3, b"\1" * 32), OTHER.id.checkpoint(3, s.tree.root())):
        root, receipt = written("prove", s), T + "/receipt"
        open(root + "/checkpoint", "wb").write(note)
        kit.expect(0, "prove", "-r", root, "--pin", X.pin, "1", "-o", receipt)
        kit.expect(0, "check", "-r", root, "--pin", X.pin, receipt)


def test_corrupt_tail():
    """A checkpoint of another tree at the log's end is no torn tail: it was signed."""
    root = written("tail", checkpoint(checkpoint(segment()), root=b"\1" * 32))
    _, said = kit.expect(1, "verify", "-r", root, "--pin", X.pin)
    assert "has another root" in said, said
    path = kit.segments(root)[0]
    had = open(path, "rb").read()
    kit.expect(1, "repair", "-r", root, "--pin", X.pin)
    assert open(path, "rb").read() == had


with tempfile.TemporaryDirectory() as T:
    X, OTHER = kit.Exchanges(T), kit.Exchanges(T, "other")
    RECORDS = [f.payload for f in X.records()]
    M5, M7 = (f.payload for f in X.manifests())
    kit.run_tests(globals())
