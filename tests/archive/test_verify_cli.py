#!/usr/bin/python3
"""test_verify_cli.py [long]: what `amber-archive verify` finds, over archives that this file damages, mixes and forges.

Each row of the issue's list of faults on the reader's side: bit flips in each structure, swapped, duplicated, foreign and
replayed frames, an older copy, lengths, hostile CBOR, equal salts, records that open badly, contradicting checkpoints.
"""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402
import cbor2                # noqa: E402

rng = random.Random(4)
LONG = sys.argv[1:] == ["long"]     # every byte of the small structures, instead of some


def errors(root, *args, code=1, pin=None):
    """Verification ends with this code; the number of errors it tells."""
    out, said = kit.expect(code, "verify", "-r", root, "--pin", pin or X.pin, "--json", *args)
    lines = [json.loads(x) for x in out.splitlines()]
    s = lines[-1]
    assert s["message_type"] == "summary" and s["exit_code"] == code, s
    assert s["errors"] == sum(x["message_type"] == "error" for x in lines), lines
    return s["errors"], s, said


def found(root, *args, **kw):
    n, s, said = errors(root, *args, **kw)
    assert n >= 1, (root, s, said)
    return s


# ---- sound archives ----

def test_levels():
    out, _ = kit.expect(0, "verify", "-r", X.root, "--pin", X.pin)
    assert out.endswith(b"no errors were found\n"), out
    assert b"self-consistent" not in out
    out, _ = kit.expect(3, "verify", "-r", X.root)
    assert b"self-consistent only" in out and out.endswith(b"no errors were found\n")
    out, _ = kit.expect(0, "verify", "-r", X.root, "--pin", X.pin, "--quick")
    assert out.endswith(b"no errors were found\n")
    n = len(X.records())
    _, s, _ = errors(X.root, *X.args, code=0)
    tree = kit.Tree()
    for path in kit.segments(X.root):
        tree.leaves += [kit.d_of(f.kind, f.payload) for f in kit.frames(path) if f.is_entry]
    want = {"records": n, "errors": 0, "opened": n, "size": len(tree.leaves), "root": tree.root().hex()}
    assert {k: s[k] for k in want} == want, s
    assert s["checkpoints"] == sum(f.kind == kit.CHECKPOINT for p in kit.segments(X.root) for f in kit.frames(p))
    _, s, _ = errors(X.root, *X.args[:2], code=0)
    assert 0 < s["opened"] < n
    _, s, _ = errors(X.root, "--quick", code=0)
    assert s["opened"] == 0 and s["root"] is None and s["records"] == n and s["size"] == len(tree.leaves)
    kit.expect(2, "verify", "-r", X.root, "--quick", *X.args)
    kit.expect(2, "verify", "-r", X.root, "--quick", "--against", X.pin)


def test_against():
    for i, r in enumerate(X.receipts):
        open(T + "/receipt%d" % i, "wb").write(r)
    for order in (range(len(X.receipts)), reversed(range(len(X.receipts)))):
        args = [a for i in order for a in ("--against", T + "/receipt%d" % i)]
        assert errors(X.root, *args, code=0)[0] == 0
    tree = kit.Tree()
    tree.leaves = [b"x" * 32]
    kept = T + "/kept"
    # Signed by the log's own key, of another history: the proof of a rewrite.
    open(kept, "wb").write(X.id.checkpoint(7, tree.root()))
    assert found(X.root, "--against", kept, code=20)["errors"] == 1
    # Signed, and larger than the archive: entries are missing.
    open(kept, "wb").write(X.id.checkpoint(4000, tree.root()))
    found(X.root, "--against", kept)
    # Both faults: not only checkpoints contradict each other.
    open(kept, "wb").write(X.id.checkpoint(7, tree.root()))
    damaged = kit.copy(X.root, T + "/against")
    kit.flip(kit.segments(damaged)[0], 900, 1)
    found(damaged, "--against", kept)
    # Of a size within the damage: it was not compared, which is said.
    _, said = kit.expect(1, "verify", "-r", damaged, "--pin", X.pin, "--against", kept)
    assert kept + ": not compared" in said, said
    # Neither a checkpoint nor a receipt of this log: no word against the archive.
    other = kit.Exchanges(T, "other")
    for text in (other.id.checkpoint(1, tree.root()), other.receipts[0], X.manifests()[0].payload, open(X.pin, "rb").read(),
                 b"rubbish", b"", b"c2sp.org/tlog-proof@v1\n" + b"x" * 9000):
        open(kept, "wb").write(text)
        _, said = kit.expect(2, "verify", "-r", X.root, "--pin", X.pin, "--against", kept)
        assert "checkpoint or a receipt of this log" in said and kept in said, said
    kit.expect(2, "verify", "-r", X.root, "--against", T + "/none")
    # The other log's key, archive and records.
    _, said = kit.expect(1, "verify", "-r", X.root, "--pin", other.pin)
    for name, _, key in (open(x.pin).read().partition("+") for x in (X, other)):    # of one name: told apart
        assert "%s+%s)" % (name, key[:8]) in said, said
    kit.expect(1, "verify", "-r", other.root, "--pin", X.pin)


def test_pruned():
    root = kit.copy(X.root, T + "/pruned")
    path = kit.segments(root)[1]
    kit.prune(path, {f.index for f in kit.frames(path)})
    n = sum(f.kind == kit.PRUNED for f in kit.frames(path))
    _, s, _ = errors(root, *X.args, code=0)
    assert n > 3 and s["pruned"] == n and s["records"] == s["opened"] + n, s
    _, s, _ = errors(root, "--quick", code=0)
    assert s["pruned"] == n
    for f in kit.frames(path):
        if f.kind == kit.PRUNED:
            kit.flip(path, f.offset + 40, 3)
    found(root)


def test_tail():
    """What is behind the last checkpoint is told, and is no error."""
    root = kit.copy(X.root, T + "/tail")
    path = kit.segments(root)[-1]
    fs = kit.frames(path)
    last = [f for f in fs if f.kind == kit.CHECKPOINT][-2]
    data = open(path, "rb").read()
    entry = [f for f in fs if f.is_entry][-1]
    assert last.end == entry.offset
    os.unlink(root + "/checkpoint")
    for cut in list(range(entry.offset, entry.offset + 40)) + [entry.end - 1]:
        open(path, "wb").write(data[:cut])
        _, s, _ = errors(root, *X.args, code=0)
        assert s["tail_bytes"] == cut - entry.offset and s["unsigned_entries"] == 0, (cut, s)
        assert errors(root, "--quick", code=0)[1]["tail_bytes"] == cut - entry.offset
    open(path, "wb").write(data[:entry.end])
    _, s, _ = errors(root, *X.args, code=0)
    assert s["unsigned_entries"] == 1 and s["tail_bytes"] == 0, s
    assert s["checked"] == last.index
    # Rubbish where the next frame would be.
    open(path, "wb").write(data[:entry.offset] + b"\0" * 5000)
    assert errors(root, code=0)[1]["tail_bytes"] == 5000
    # The same with the signed copy there: what it speaks for is missing.
    shutil.copy(X.root + "/checkpoint", root)
    found(root)
    found(root, "--quick")
    # A signed checkpoint of more entries behind the bad place: damage.
    os.unlink(root + "/checkpoint")
    open(path, "wb").write(data[:entry.offset] + b"\0" * 999 + data[entry.end:])
    found(root)


def test_unfinished():
    """Two segments share entries after a crash: legal if they agree."""
    root = kit.emptied(X.root, T + "/unfinished")
    records = [f.payload for f in X.records()[:8]]
    tree = kit.Tree()
    one = kit.Segment(X.id, tree, 5).add(kit.MANIFEST, X.manifests()[0].payload)
    for p in records[:3]:
        one.add(kit.RECORD, p)
    one.checkpoint()
    for p in records[3:5]:
        one.add(kit.RECORD, p)
    one.write(root)
    tree.leaves = tree.leaves[:4]
    two = kit.Segment(X.id, tree, 5)
    for p in records[3:5]:
        two.add(kit.RECORD, p)
    two.checkpoint().write(root)
    out, _ = kit.expect(0, "verify", "-r", root, "--pin", X.pin, *X.args[:2])
    assert b"unfinished" in out, out
    _, s, _ = errors(root, code=0)
    assert s["records"] == 5 and s["size"] == 6, s
    out, _ = kit.expect(0, "list", "-r", root, "--json")
    assert json.loads(out.splitlines()[-1])["records"] == 5
    # repair closes it; nothing is lost.
    kit.expect(0, "repair", "-r", root, "--pin", X.pin)
    _, s, _ = errors(root, *X.args[:2], code=0)
    assert s["records"] == 5
    # A stop within the closing frames: all readers go on in the next segment.
    torn = kit.copy(X.root, T + "/torn")
    path = kit.segments(torn)[-2]
    whole, fs = open(path, "rb").read(), kit.frames(path)
    for end in (fs[-1].end - 1, fs[-1].offset + 5, fs[-1].offset, fs[-2].end - 1, fs[-2].offset + 5):
        os.truncate(path, end)
        for args in ([], ["--quick"]):
            kit.expect(0, "verify", "-r", torn, "--pin", X.pin, *args)
        out, _ = kit.expect(0, "list", "-r", torn, "--json")
        assert json.loads(out.splitlines()[-1])["records"] == len(X.records())
        open(path, "wb").write(whole)
    # Closing frames that are there, but for a bit of a length that makes them look cut short.
    for f in fs[-2:]:
        kit.flip(path, f.offset + 22, 2)
        found(torn)
        open(path, "wb").write(whole)
    # An entry that is cut short is another matter, and so is a segment before.
    os.truncate(path, [f for f in fs if f.is_entry][-1].end - 1)
    found(torn)
    kit.expect(1, "verify", "-r", torn, "--pin", X.pin, "--quick")
    open(path, "wb").write(whole)
    path = kit.segments(torn)[0]
    os.truncate(path, kit.frames(path)[-1].end - 1)
    found(torn)
    kit.expect(1, "verify", "-r", torn, "--pin", X.pin, "--quick")
    # Other entries in the second one.
    one.write(root)
    tree.leaves = tree.leaves[:4]
    two = kit.Segment(X.id, tree, 5)
    for p in records[5:7]:
        two.add(kit.RECORD, p)
    two.checkpoint().write(root)
    for path in kit.segments(root)[2:]:
        os.unlink(path)
    found(root)


# ---- damage ----

def some(places, n):
    places = list(places)
    return places if LONG else rng.sample(places, min(n, len(places)))


def flips_of(path):
    """The segment's header, one head of each type, and places all over."""
    out, seen = some(range(64), 8), set()
    for f in kit.frames(path):
        if f.kind not in seen:
            out += some(range(f.offset, f.offset + 32), 12)
            out += [f.end - 1]
        elif LONG or rng.randrange(3) == 0:
            out += rng.sample(range(f.offset, f.offset + 32), 1)
        if LONG or f.kind != kit.RECORD or rng.randrange(3) == 0:
            out += rng.sample(range(f.offset + 32, f.end), 9 if LONG else 1)
        seen.add(f.kind)
    return [(at, rng.randrange(8)) for at in out]


def test_flips():
    root = kit.copy(X.root, T + "/flips")
    n = 0
    for path in kit.segments(root):
        good = open(path, "rb").read()
        for at, bit in flips_of(path):
            kit.flip(path, at, bit)
            found(root)
            n += 1
            open(path, "wb").write(good)
    for name in ["FORMAT", "log.vkey", "checkpoint", "epoch/5.cose", "epoch/7.cose"]:
        path = root + "/" + name
        good = open(path, "rb").read()
        for at in some(range(len(good)), 6):
            kit.flip(path, at, rng.randrange(8))
            kit.expect(1, "verify", "-r", root, "--pin", X.pin)
            n += 1
            open(path, "wb").write(good)
    # A key id in capitals, as a flipped bit makes it (without letters: an empty file).
    path = root + "/log.vkey"
    good = open(path, "rb").read()
    name, keyid, key = good.split(b"+", 2)
    for text in (b"+".join((name, keyid.upper(), key)) if keyid != keyid.upper() else b"", good + b"\n"):
        open(path, "wb").write(text)
        _, said = kit.expect(1, "verify", "-r", root, "--pin", X.pin)
        assert "log.vkey" in said, said
    open(path, "wb").write(good)
    assert errors(root, *X.args, code=0)[0] == 0
    print("flips found:", n)


def test_resume():
    """Damage in one segment hides nothing in the next."""
    root = kit.copy(X.root, T + "/resume")
    paths = kit.segments(root)
    for path in paths[:3]:
        f = [f for f in kit.frames(path) if f.kind == kit.RECORD][2]
        kit.flip(path, f.offset + 100, 2)
    f = [f for f in kit.frames(paths[1]) if f.kind == kit.RECORD][4]
    kit.flip(paths[1], f.offset + 200, 2)
    n, s, _ = errors(root)
    assert n == 4, s
    # What was passed over is told, and the counts add up.
    out, said = kit.expect(1, "verify", "-r", root, "--pin", X.pin)
    manifests = int(re.search(rb"(\d+) manifests", out).group(1))
    assert s["incomplete"] and s["unverified_entries"] > 0, s
    assert s["records"] + manifests + s["unverified_entries"] == s["size"], (s, out)
    assert "neither counted nor opened" in said and b"passed over" in out, said
    # A segment that is gone: the manifests behind it are in the log all the same.
    gone = kit.copy(X.root, T + "/resume2")
    os.unlink(kit.segments(gone)[1])
    assert "no such manifest" not in kit.expect(1, "verify", "-r", gone, "--pin", X.pin)[1]


def places_of(said):
    """Lines of stderr that tell of damage; each names its place, and once."""
    told = [x for x in said.splitlines() if "offset " in x]
    for x in told:
        assert len(re.findall(r"offset \d+", x)) == 1 and x.count("seg") == 1, x
    return told


def test_places():
    """Each message tells its place once, whoever composed it; and a reader of --json has it apart."""
    root = kit.copy(X.root, T + "/places")
    for path in (kit.segments(root)[1], kit.segments(root)[-1]):
        good, fs = open(path, "rb").read(), kit.frames(path)
        for f in (fs[0], [f for f in fs if f.kind == kit.RECORD][1], fs[-2], fs[-1]):
            for what in ("head", "payload", "end"):
                if what == "end":
                    os.truncate(path, f.offset + 20)
                else:
                    kit.flip(path, f.offset + (9 if what == "head" else 40), 3)
                code, out, said = kit.run("verify", "-r", root, "--pin", X.pin)
                told = places_of(said)
                if code != 0:
                    assert any("offset %d: " % f.offset in x for x in told) or what == "end", (what, f.kind, said)
                code, out, _ = kit.run("verify", "-r", root, "--pin", X.pin, "--json")
                for x in map(json.loads, out.splitlines()):
                    assert "offset" not in x or "offset" not in x["what"], x
                n = len(told)
                for args in (["verify", "--quick"], ["export", "--warc", "-o", T + "/places.warc", *X.args], ["list"],
                             ["prove", str(X.records()[-1].index)], ["show", str(X.records()[3].index), *X.args],
                             ["repair"]):
                    code, _, said = kit.run(args[0], "-r", kit.copy(root, T + "/places2"), "--pin", X.pin, *args[1:])
                    n += len(places_of(said))
                assert n > 0 or what == "end", (what, f.kind)
                open(path, "wb").write(good)


def test_moved_frames():
    paths = kit.segments(X.root)
    first, second = kit.frames(paths[0]), kit.frames(paths[1])
    data = open(paths[0], "rb").read()
    records = [f for f in first if f.kind == kit.RECORD]
    raw = [data[f.offset:f.end] for f in records]
    a, b = records[0], records[1]
    between = data[a.end:b.offset]
    later = open(paths[1], "rb").read()
    strange = [f for f in second if f.kind == kit.RECORD][0]
    other = kit.Exchanges(T, "foreign")
    alien = other.records()[0]
    rows = {
        "swapped": data[:a.offset] + raw[1] + between + raw[0] + data[b.end:],
        "duplicated": data[:a.end] + raw[0] + data[a.end:],
        "removed": data[:a.offset] + data[a.end:],
        "replayed": data[:a.offset] + later[strange.offset:strange.end] + data[a.end:],
        "replayed with a new check": data[:a.offset] +
            kit.frame(0, kit.RECORD, a.index, strange.payload) + data[a.end:],
        "swapped with new checks": data[:a.offset] + kit.frame(0, kit.RECORD, a.index, b.payload) + between +
            kit.frame(0, kit.RECORD, b.index, a.payload) + data[b.end:],
        "foreign": data[:a.offset] + kit.frame(0, kit.RECORD, a.index, alien.payload) + data[a.end:],
        "behind the trailer": data + raw[-1],
        "no trailer": data[:first[-1].offset],
        "cut": data[:first[-1].offset - 1],
        "empty": b"",
        "header only": data[:64],
        "length 2^63": data[:a.offset + 16] + struct.pack(">Q", 1 << 63) + data[a.offset + 24:],
        "length cap + 1": data[:a.offset] + kit.frame(0, kit.RECORD, a.index, a.payload,
                                                      length=(64 << 20) + 1) + data[a.end:],
        "length to the end of memory": data[:a.offset] + kit.frame(0, kit.RECORD, a.index, a.payload,
                                                                   length=64 << 20) + data[a.end:],
    }
    root = kit.copy(X.root, T + "/moved")
    for name, bad in rows.items():
        open(kit.segments(root)[0], "wb").write(bad)
        s = found(root)
        assert s["errors"] >= 1, name
    open(kit.segments(root)[0], "wb").write(data)
    # Whole segments: swapped, missing, foreign, one name twice.
    os.rename(kit.segments(root)[1], root + "/seg/x.tmp")
    found(root)
    os.rename(root + "/seg/x.tmp", paths[1].replace(X.root, root))
    shutil.copy(kit.segments(other.root)[1], kit.segments(root)[1])
    found(root)
    found(root, "--quick")
    shutil.copy(paths[2], kit.segments(root)[1])
    found(root)
    shutil.copy(paths[1], kit.segments(root)[1])
    open(root + "/seg/README", "w").write("x")
    kit.expect(1, "verify", "-r", root, "--pin", X.pin)
    os.unlink(root + "/seg/README")
    open(root + "/epoch/6.cose", "wb").write(X.manifests()[0].payload)
    found(root)
    os.unlink(root + "/epoch/6.cose")
    # Of a later epoch than the log has: it may have come since, but signed, and under its own name.
    for text in (b"", b"rubbish", X.manifests()[0].payload, other.manifests()[0].payload):
        open(root + "/epoch/9.cose", "wb").write(text)
        _, said = kit.expect(1, "verify", "-r", root, "--pin", X.pin)
        assert "epoch/9.cose: " in said, said
    os.unlink(root + "/epoch/9.cose")
    os.unlink(root + "/epoch/5.cose")       # a copy: missing is no error
    assert errors(root, code=0)[0] == 0


def test_older_copy():
    root = kit.copy(X.root, T + "/older")
    os.unlink(kit.segments(root)[-1])
    found(root)                             # by `checkpoint`
    found(root, "--quick")
    os.unlink(root + "/checkpoint")
    assert errors(root, code=0)[0] == 0     # nothing here knows better, and that is said
    _, said = kit.expect(0, "verify", "-r", root, "--pin", X.pin)
    assert "cut off is not noticed" in said, said
    found(root, "--against", X.root + "/checkpoint")
    open(T + "/last", "wb").write(X.receipts[-1])
    found(root, "--against", T + "/last")


# ---- forgeries ----

def built(name, payloads, epoch=5, manifest=None):
    """An archive of these records, signed by the log's own key."""
    root = kit.emptied(X.root, T + "/" + name)
    shutil.rmtree(root + "/epoch")
    os.mkdir(root + "/epoch")
    s = kit.Segment(X.id, kit.Tree(), epoch)
    s.add(kit.MANIFEST, manifest or X.manifests()[0].payload)
    for p in payloads:
        s.add(kit.RECORD, p)
    s.close().write(root)
    return root


def test_built():
    """What this file builds is an archive: else the rows below show nothing."""
    payloads = [f.payload for f in X.records()[:5]]
    assert errors(built("good", payloads), *X.args[:2], code=0)[1]["opened"] == 5


def test_salts():
    p = X.records()[0].payload
    n, s, _ = errors(built("salts", [p, X.records()[1].payload, p]))
    assert n == 1, s


def test_epochs():
    m5, m7 = (f.payload for f in X.manifests())
    late = [f.payload for f in X.records()][-1]
    found(built("puzzle", [late]))                      # epoch 7's record in epoch 5
    found(built("number", [], epoch=6))                 # header and manifest differ
    found(built("twice", [X.records()[0].payload], manifest=m7))
    other = kit.Exchanges(T, "signer")
    root = built("signer2", [], manifest=other.manifests()[0].payload)
    found(root)
    found(root, "--quick")
    root = kit.emptied(X.root, T + "/order")
    tree = kit.Tree()
    kit.Segment(X.id, tree, 7).add(kit.MANIFEST, m7).close().write(root)
    kit.Segment(X.id, tree, 5).add(kit.MANIFEST, m5).close().write(root)
    found(root)
    root = kit.emptied(X.root, T + "/second")
    tree = kit.Tree()
    kit.Segment(X.id, tree, 5).add(kit.MANIFEST, m5).close().write(root)
    kit.Segment(X.id, tree, 5).add(kit.MANIFEST, m5).close().write(root)
    found(root)


def test_openings():
    """Rightly signed, and wrong inside: only the key shows it."""
    key, args = X.keys[5], X.args[:2]
    capture, puzzle = kit.unseal(X.records()[0].payload, key, X.id.name)
    salt = iter(bytes([i]) * 32 for i in range(1, 100))
    v = cbor2.loads(capture)

    def seal(c, **kw):
        return kit.seal(c, key, puzzle, X.id.name, next(salt), **kw)
    rows = {
        "commitment": seal(capture, commit=b"\1" * 32),
        "padding": seal(capture, pad=1),
        "trailing": seal(capture + b"\0"),
        "unknown key": seal(cbor2.dumps(dict(v, **{}) | {19: 1})),
        "version": seal(cbor2.dumps(v | {1: 2})),
        "no method": seal(cbor2.dumps({k: x for k, x in v.items() if k != 3})),
        "order": seal(cbor2.dumps(dict(reversed(v.items())))),
        "long int": seal(capture[:2] + b"\x18\x01" + capture[3:]),
        "indefinite": seal(b"\xbf" + capture[1:] + b"\xff"),
        "giant": seal(b"\xba\xff\xff\xff\xff"),
        "text": seal(cbor2.dumps(v).replace(b"https", b"http\xff")),
        "tag": seal(b"\xc1" + capture),
        "empty": seal(b""),
        "cut": seal(capture[:-1]),
    }
    for name, payload in rows.items():
        root = built("opening", [X.records()[1].payload, payload])
        assert errors(root, code=0)[0] == 0, name
        n, s, _ = errors(root, *args)
        assert n == 1 and s["opened"] == 1, (name, s)
    good = built("opening", [seal(capture), seal(cbor2.dumps(v))])
    assert errors(good, *args, code=0)[1]["opened"] == 2
    # A size that Padme does not give is a bad frame, keys or no keys.
    found(built("padme", [seal(capture, size=1025)]))


def test_hostile_payloads():
    """Frames whose payload is no record, under a check that holds or not."""
    good = X.records()[0].payload
    rows = [b"", b"\xff", b"\x9b" + b"\xff" * 8, b"\xbb\0\0\0\1\0\0\0\0", b"\x83", b"\x83\x41\0\xa0\x41\0",
            b"\xd8\x10" + good, good + b"\0", good[:-1], b"\x9f" + good[1:] + b"\xff", b"\x83\x5f" + good[1:],
            b"\x81" * 5000, b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", good.replace(b"\xa5", b"\xa6", 1)]
    root = kit.copy(X.root, T + "/hostile")
    path = kit.segments(root)[0]
    data = open(path, "rb").read()
    a = [f for f in kit.frames(path) if f.kind == kit.RECORD][0]
    for kind in (kit.RECORD, kit.MANIFEST, kit.PRUNED, kit.CHECKPOINT, kit.TRAILER, 0, 6, 255):
        for bad in rows:
            f = kit.frame(0, kind, a.index, bad, d=kit.sha(bad))
            open(path, "wb").write(data[:a.offset] + f + data[a.end:])
            found(root)


# ---- ends ----

def test_ends():
    kit.expect(10, "verify", "-r", T + "/nowhere")
    os.mkdir(T + "/folder")
    kit.expect(10, "verify", "-r", T + "/folder")
    kit.expect(2, "verify")
    kit.expect(2, "verify", "--nonsense")
    key5 = X.args[1]
    kit.expect(12, "verify", "-r", X.root, "--epoch-key", "7=" + key5)
    kit.expect(12, "verify", "-r", X.root, "--epoch-key", "9=" + key5)
    kit.expect(0, "verify", "-r", X.root, "--pin", X.pin, "--epoch-key", "5=" + key5)
    kit.expect(0, "verify", "-r", X.root, "--pin", X.pin, "--key", "5=" + key5)
    kit.expect(12, "verify", "-r", X.root, "--pin", X.pin, "--key", "7=" + key5)
    open(T + "/wrong", "w").write("00" * 32 + "\n")
    kit.expect(12, "verify", "-r", X.root, "--key", T + "/wrong")
    for text in ("", "x" * 64 + "\n", "00" * 31 + "\n", "00" * 33 + "\n", "0" * 9999):
        open(T + "/wrong", "w").write(text)
        kit.expect(2, "verify", "-r", X.root, "--key", T + "/wrong")
    for arg in ("5", "=x", "5=", "x=" + key5, "-5=" + key5, "05=" + key5):
        kit.expect(2, "verify", "-r", X.root, "--epoch-key", arg)
    # A summary on every way out.
    for args in (["-r", T + "/nowhere"], [], ["--nonsense"], ["-r", X.root, "--key", T + "/none"]):
        out, _ = kit.run("verify", "--json", *args)[1:]
        s = json.loads(out.splitlines()[-1])
        assert s["message_type"] == "summary" and s["exit_code"] != 0 and s["error"], s
    # What cannot be written is told.
    with open("/dev/full", "w") as full:
        p = subprocess.run([kit.PROGRAM, "verify", "-r", X.root, "--pin", X.pin], stdout=full, stderr=subprocess.PIPE)
    assert p.returncode == 74, p


with tempfile.TemporaryDirectory() as T:
    X = kit.Exchanges(T)
    kit.run_tests(globals())
