#!/usr/bin/python3
"""test_warc.py: the WARC that `amber-archive export` writes, read by this file alone.

Every record is parsed from its own gzip member, its digests are computed again, its HTTP message is parsed, and what it
says is compared with the record as Python opens it.
"""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402
import cbor2                # noqa: E402

TRUNCATED = {1: "length", 2: "time", 3: "disconnect", 8: "unspecified"}


def members(data):
    """The gzip members, each decompressed alone; nothing between them."""
    while data:
        assert data[:4] == b"\x1f\x8b\x08\0" and data[4:8] == bytes(4), data[:10]   # no name, no time
        d = zlib.decompressobj(31)
        out = d.decompress(data) + d.flush()
        assert d.eof
        data = d.unused_data
        yield out


class Record:
    def __init__(self, raw):
        head, self.rest = raw.split(b"\r\n\r\n", 1)
        first, *fields = head.decode().split("\r\n")
        assert first == "WARC/1.1", first
        self.fields = {}
        for f in fields:
            name, value = f.split(": ", 1)
            assert name not in self.fields, name
            assert re.fullmatch(r"[!-9;-~]+", name) and value == value.strip(), f
            self.fields[name] = value
        n = int(self["Content-Length"])
        self.block = self.rest[:n]
        assert self.rest[n:] == b"\r\n\r\n", (self.type, self.rest[n:])
        assert self["WARC-Block-Digest"] == "sha256:" + hashlib.sha256(self.block).hexdigest()
        assert re.fullmatch(r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>",
                            self["WARC-Record-ID"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", self["WARC-Date"])

    def __getitem__(self, name):
        return self.fields.get(name)

    @property
    def type(self):
        return self.fields["WARC-Type"]

    def meta(self):
        out = {}
        for line in self.block.decode().split("\r\n")[:-1]:
            name, value = line.split(": ", 1)
            out.setdefault(name, []).append(value)
        return out


def was_sent(c):
    """Nothing goes out before name, connection and handshake are there, and policy lets it."""
    return c[7] not in (4, 5, 6, 7) and c.get(16) not in ("dns_timeout", "connection_timeout")


def http(block):
    """First line, fields, body."""
    if b"\r\n\r\n" not in block:
        block += b"\r\n\r\n"       # a head that was cut
    head, body = block.split(b"\r\n\r\n", 1)
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = [(a.lower(), b.strip()) for a, b in (x.split(":", 1) for x in lines if ":" in x and x[0] not in ": ")]
    return first, fields, body


def has_no_body(c):
    return c[3] == "HEAD" or c[8] in (204, 304)


def check_response(r, c):
    assert r["Content-Type"] == "application/http;msgtype=response"
    assert r["WARC-Truncated"] == TRUNCATED.get(c[7]), (c[4], r.fields)
    body = c.get(10, b"")
    assert r.block.endswith(body)
    first, fields, got = http(r.block)
    assert got == body, c[4]
    assert first == c[9].split(b"\r\n")[0].decode("latin-1")
    chunked = bool(c.get(18, 0) & 1) or b"transfer-encoding" in c[9].lower()
    if c[7] == 8 and not c.get(18, 0) & 1:
        assert r.block == c[9] + body           # malformed: as it came
        return
    names = [n for n, _ in fields]
    assert "transfer-encoding" not in names and "trailer" not in names
    if not chunked:
        assert r.block == c[9] + body
    elif c[7] == 0 and not has_no_body(c):
        assert [v for n, v in fields if n == "content-length"] == [str(len(body))]
    else:
        assert "content-length" not in names
    # Nothing else of the head has changed.
    kept = [x for x in http(c[9] + b"")[1] if x[0] not in ("transfer-encoding", "trailer", "content-length")]
    assert [x for x in fields if x[0] != "content-length"] == kept
    want = "sha256:" + hashlib.sha256(body).hexdigest() if 10 in c and not has_no_body(c) else None
    assert r["WARC-Payload-Digest"] == want, c[4]


def check_metadata(r, c, index, info, receipts):
    m = r.meta()
    assert r["Content-Type"] == "application/warc-fields"
    assert m["amber-index"] == [str(index)]
    receipt = base64.b64decode(m["amber-receipt"][0])
    assert receipt == receipts[index]
    path = T + "/receipt"
    open(path, "wb").write(receipt)
    assert m.get("amber-error") == ([c[16]] if 16 in c else None)
    assert [base64.b64decode(x) for x in m.get("amber-interim-head", [])] == c.get(12, [])
    assert [base64.b64decode(x) for x in m.get("amber-certificate", [])] == c.get(14, {}).get(4, [])
    assert [base64.b64decode(x) for x in m.get("amber-trailers", [])] == ([c[11]] if c.get(11, b"\r\n") != b"\r\n" else [])
    assert m["amber-ms-total"] == [str(c[15][5])]
    return m


def check_exchange(records, c, index, info, receipts):
    ids = {r.type: r["WARC-Record-ID"] for r in records}
    types = [r.type for r in records]
    assert types == ["response"] * (9 in c) + ["request"] * was_sent(c) + ["metadata"], (c[4], types)
    for r in records:
        assert r["WARC-Target-URI"] == c[4].replace("<", "%3C").replace(">", "%3E"), r.fields
        assert r["WARC-Warcinfo-ID"] == info["WARC-Record-ID"]
        address = c[13].rsplit(":", 1)[0].strip("[]") if 13 in c else None
        assert r["WARC-IP-Address"] == address
        if r.type == "response":
            check_response(r, c)
            assert r["WARC-Concurrent-To"] is None
        elif r.type == "request":
            assert r["Content-Type"] == "application/http;msgtype=request"
            assert r.block == c[5] + c.get(6, b"")
            assert r["WARC-Concurrent-To"] == ids.get("response")
        else:
            m = check_metadata(r, c, index, info, receipts)
            assert r["WARC-Concurrent-To"] == ids.get("response", ids.get("request"))
            changed = 9 in c and http([x for x in records if x.type == "response"][0].block)[1] != http(c[9])[1]
            assert ("amber-response-head" in m) == changed, c[4]
            if changed:
                assert base64.b64decode(m["amber-response-head"][0]) == c[9]
            for name, key in (("head", 5), ("body", 6)):
                kept = [base64.b64decode(v) for v in m.get("amber-request-" + name, [])]
                assert kept == ([c[key]] if key in c and not was_sent(c) else []), (c[4], m)


def export(code, root, *args, name="x"):
    path = "%s/%s.warc.gz" % (T, name)
    if os.path.exists(path):
        os.unlink(path)
    out, said = kit.expect(code, "export", "--warc", "-r", root, "-o", path, *args)
    if not os.path.exists(path):
        return None
    subprocess.run(["gunzip", "-t", path], check=True, timeout=60)
    return open(path, "rb").read()


def read(data):
    v = [Record(m) for m in members(data)]
    assert len({r["WARC-Record-ID"] for r in v}) == len(v)
    info, groups = v[0], {}
    assert info.type == "warcinfo"
    group = []
    for r in v[1:]:
        group.append(r)
        if r.type == "metadata":
            groups[int(r.meta()["amber-index"][0])] = group
            group = []
    assert not group
    return info, groups


def main():
    x = kit.Exchanges(T)
    captures = {}
    for f in x.records():
        for key in x.keys.values():
            try:
                captures[f.index] = cbor2.loads(kit.unseal(f.payload, key, x.id.name)[0])
            except Exception:
                continue
    receipts = dict(zip(sorted(captures), x.receipts))

    data = export(0, x.root, *x.args)
    info, groups = read(data)
    m = info.meta()
    assert m["amber-origin"] == [x.id.name]
    assert m["amber-vkey"] == [open(x.pin).read().strip()]
    assert base64.b64decode(m["amber-checkpoint"][0]) == open(x.root + "/checkpoint", "rb").read()
    assert sorted(groups) == sorted(captures)
    for index, c in captures.items():
        check_exchange(groups[index], c, index, info, receipts)
    print("records read:", sum(map(len, groups.values())) + 1)

    # Again, elsewhere, without the copy of the checkpoint: the same bytes.
    assert export(0, x.root, *x.args, name="y") == data
    moved = kit.copy(x.root, T + "/moved")
    os.unlink(moved + "/checkpoint")
    assert export(0, moved, *x.args, name="z", ) == data
    out, _ = kit.expect(0, "export", "--warc", "-r", x.root, *x.args)
    assert out == data

    # Some of them.
    assert sorted(read(export(0, x.root, *x.args, "4-9"))[1]) == [4, 5, 6, 7, 8, 9]
    assert sorted(read(export(3, x.root, *x.args[2:]))[1]) == [max(captures)]
    sealed = "%d records left out: the epoch's key is not here" % (len(captures) - 1)
    for code, args, want in ((0, [*x.args, "4-9"], ["6 records exported"]), (0, [*x.args, "0"], ["no records exported"]),
                             (3, x.args[2:], ["1 record exported", sealed])):
        _, said = kit.expect(code, "export", "--warc", "-r", x.root, *args)
        assert said.splitlines() == ["amber-archive export: " + w for w in want], said
    # A range that the log does not reach is no empty file; one that holds no record is.
    n = max(captures) + 1
    for where in (str(n), "%d-%d" % (n, n + 9), "4000"):
        assert export(1, x.root, *x.args, where) is None
        assert "there is no entry %s" % where.split("-")[0] in kit.run("export", "--warc", "-r", x.root, *x.args, where)[2]
    assert sorted(read(export(0, x.root, *x.args, "%d-%d" % (n - 1, n + 9)))[1]) == [n - 1]
    assert read(export(0, x.root, *x.args, "0"))[1] == {}
    pruned = kit.copy(x.root, T + "/pruned")
    path = kit.segments(pruned)[1]
    gone = {f.index for f in kit.frames(path) if f.kind == kit.RECORD}
    kit.prune(path, gone)
    _, groups = read(export(3, pruned, *x.args))
    assert sorted(groups) == sorted(set(captures) - gone)
    for index in groups:
        check_exchange(groups[index], captures[index], index, info, receipts)
    out, _ = kit.expect(3, "export", "--warc", "-r", pruned, *x.args, "-o", T + "/p", "--json")
    s = json.loads(out.splitlines()[-1])
    assert (s["records"], s["pruned"], s["sealed"]) == (len(groups), len(gone), 0), s

    # What no checkpoint covers has no receipt, and says so.
    tail = kit.copy(x.root, T + "/tail")
    path = kit.segments(tail)[-1]
    fs = kit.frames(path)
    os.truncate(path, fs[-3].end)
    os.unlink(tail + "/checkpoint")
    last = read(export(0, tail, *x.args))[1][fs[-3].index][-1].meta()
    assert last["amber-unsigned"] == ["yes"] and "amber-receipt" not in last

    # Damage is passed; test_damage_warc.py has more.
    for where in (0, 2):
        bad = kit.copy(x.root, T + "/bad")
        path = kit.segments(bad)[where]
        lost = [f for f in kit.frames(path) if f.kind == kit.RECORD][0]
        kit.flip(path, lost.offset + 200, 3)
        assert sorted(read(export(1, bad, *x.args, name="bad"))[1]) == sorted(set(captures) - {lost.index})
    assert not [n for n in os.listdir(T) if n.endswith(".tmp")]
    kit.expect(3, "export", "--warc", "-r", x.root)
    kit.expect(2, "export", "-r", x.root, *x.args)
    kit.expect(2, "export", "--warc", "-r", x.root, *x.args, "--json")


with tempfile.TemporaryDirectory() as T:
    main()
