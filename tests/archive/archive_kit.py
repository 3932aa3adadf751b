"""archive_kit.py: an archive's bytes in Python, written from docs/FORMAT.md alone, for tests that damage and forge them.

Nothing here is shared with the programs under test but the format.
"""
import base64
import hashlib
import os
import shutil
import struct
import subprocess

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

BIN, TESTS = os.environ["AMBER_BIN"], os.environ["AMBER_TESTS_BIN"]
PROGRAM = BIN + "/amber-archive"
RECORD, MANIFEST, CHECKPOINT, TRAILER, PRUNED = 1, 2, 3, 4, 5


def sha(b):
    return hashlib.sha256(b).digest()


def run(*args, **kw):
    """The program's exit code, stdout and stderr; never longer than two minutes."""
    env = {k: v for k, v in os.environ.items() if k != "AMBER_ARCHIVE"}
    env.update(kw.pop("env", {}))
    p = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, timeout=120, env=env, **kw)
    for bad in (b"Sanitizer", b"runtime error"):
        assert bad not in p.stderr, p.stderr.decode()
    return p.returncode, p.stdout, p.stderr.decode()


def expect(code, *args, **kw):
    got, out, said = run(*args, **kw)
    assert got == code, "%s: exit %d, not %d\n%s\n%s" % (args, got, code, out.decode(errors="replace"), said)
    return out, said


def run_tests(names):
    """Every test_* of a module, in the order of their names."""
    for name, test in sorted(names.items()):
        if name.startswith("test_"):
            test()
            print("ok", name)


def copy(src, dst):
    shutil.rmtree(dst, ignore_errors=True)
    shutil.copytree(src, dst)
    return dst


def flip(path, at, bit):
    with open(path, "r+b") as f:
        f.seek(at)
        c = f.read(1)[0]
        f.seek(at)
        f.write(bytes([c ^ 1 << bit]))


# ---- frames ----

def leaf_data(kind, payload):
    if kind == MANIFEST:
        return cbor2.dumps([2, sha(payload)])
    v = cbor2.loads(payload)
    return cbor2.dumps([1, v[0], sha(v[2])] if kind == RECORD else [1, v[1], v[2]])


def d_of(kind, payload):
    if kind in (CHECKPOINT, TRAILER):
        return sha(payload)
    return sha(b"\0" + leaf_data(kind, payload))


def frame(first, kind, index, payload, d=None, length=None):
    head = b"\xa5AMB" + bytes([kind, 0, 0, 0]) + struct.pack(">QQ", index, len(payload) if length is None else length)
    d = d_of(kind, payload) if d is None else d
    return head + sha(b"amber/1 frame" + struct.pack(">Q", first) + head + d)[:8] + payload


def header(first, epoch, origin):
    h = b"AMBSEG01" + struct.pack(">QQ", first, epoch) + sha(origin.encode()) + bytes(4)
    return h + sha(h)[:4]


class Frame:
    def __init__(self, offset, kind, index, payload):
        self.offset, self.kind, self.index, self.payload = offset, kind, index, payload
        self.end = offset + 32 + len(payload)
        self.is_entry = kind in (RECORD, MANIFEST, PRUNED)


def frames(path):
    data, at, out = open(path, "rb").read(), 64, []
    while at < len(data):
        assert data[at:at + 4] == b"\xa5AMB"
        index, n = struct.unpack(">QQ", data[at + 8:at + 24])
        out.append(Frame(at, data[at + 4], index, data[at + 32:at + 32 + n]))
        at = out[-1].end
    return out


def segments(root):
    return sorted(os.path.join(root, "seg", n) for n in os.listdir(os.path.join(root, "seg")))


def first_of(path):
    return int(os.path.basename(path)[:20])


# ---- the log ----

class Tree:
    def __init__(self):
        self.leaves = []

    def root(self, n=None):
        def mth(v):
            if len(v) == 1:
                return v[0]
            k = 1 << (len(v) - 1).bit_length() - 1
            return sha(b"\1" + mth(v[:k]) + mth(v[k:]))
        v = self.leaves[:n]
        return mth(v) if v else sha(b"")

    def frontier(self):
        out, at, n = [], 0, len(self.leaves)
        for h in range(62, -1, -1):
            if n >> h & 1:
                sub = Tree()
                sub.leaves = self.leaves[at:at + (1 << h)]
                out.append(sub.root())
                at += 1 << h
        return out


class Identity:
    def __init__(self, path):
        name, keyid, key = open(path).read().strip()[len("PRIVATE+KEY+"):].split("+", 2)
        self.name, self.keyid = name, bytes.fromhex(keyid)
        self.key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key)[1:])

    def checkpoint(self, size, root):
        text = "%s\n%d\n%s\n" % (self.name, size, base64.b64encode(root).decode())
        sig = base64.b64encode(self.keyid + self.key.sign(text.encode())).decode()
        return (text + "\n\u2014 %s %s\n" % (self.name, sig)).encode()


class Segment:
    """A segment that this file writes, signed with the log's own key."""

    def __init__(self, identity, tree, epoch):
        self.id, self.tree, self.epoch = identity, tree, epoch
        self.first, self.entries = len(tree.leaves), 0
        self.data = header(self.first, epoch, identity.name)

    def add(self, kind, payload):
        self.data += frame(self.first, kind, len(self.tree.leaves), payload)
        self.tree.leaves.append(d_of(kind, payload))
        self.entries += 1
        return self

    def checkpoint(self):
        n = len(self.tree.leaves)
        self.note = self.id.checkpoint(n, self.tree.root())
        self.data += frame(self.first, CHECKPOINT, n, self.note)
        return self

    def close(self):
        self.checkpoint()
        body = cbor2.dumps({1: self.entries, 2: self.tree.root(), 3: self.tree.frontier()})
        self.data += frame(self.first, TRAILER, len(self.tree.leaves), body)
        return self

    def write(self, root):
        with open("%s/seg/%020d.amb" % (root, self.first), "wb") as f:
            f.write(self.data)
        with open(root + "/checkpoint", "wb") as f:
            f.write(self.note)


def emptied(src, dst):
    """An archive of the same log without segments."""
    copy(src, dst)
    for path in segments(dst):
        os.unlink(path)
    os.unlink(dst + "/checkpoint")
    return dst


# ---- records ----

def expand(key, info):
    return HKDFExpand(hashes.SHA256(), 32, info).derive(key)


def padme(n):
    e = n.bit_length() - 1
    bits = e - e.bit_length()
    return n + (1 << bits) - 1 >> bits << bits


def seal(capture, key, puzzle, origin, salt, commit=None, pad=0, size=None):
    rs = expand(key, b"amber/1 record" + salt)
    if size is None:
        size = max(1024, padme(8 + len(capture)))
    plain = struct.pack(">Q", len(capture)) + capture
    plain += bytes([pad]) * (size - len(plain))
    protect = cbor2.dumps({1: 24, 4: puzzle, 5: bytes(12), -65537: salt,
                           -65538: commit or expand(rs, b"amber/1 commit" + puzzle)})
    cipher = ChaCha20Poly1305(expand(rs, b"amber/1 key" + puzzle)).encrypt(
        bytes(12), plain, cbor2.dumps(["Encrypt0", protect, origin.encode()]))
    return cbor2.dumps([protect, {}, cipher])


def unseal(payload, key, origin):
    """The capture's bytes; for tests that change them."""
    protect, _, cipher = cbor2.loads(payload)
    p = cbor2.loads(protect)
    rs = expand(key, b"amber/1 record" + p[-65537])
    plain = ChaCha20Poly1305(expand(rs, b"amber/1 key" + p[4])).decrypt(
        bytes(12), cipher, cbor2.dumps(["Encrypt0", protect, origin.encode()]))
    n = struct.unpack(">Q", plain[:8])[0]
    return plain[8:8 + n], p[4]


def prune(path, indices):
    """What retention does: type 5 for type 1, the same leaf."""
    first, data = first_of(path), open(path, "rb").read()
    out = data[:64]
    for f in frames(path):
        if f.kind == RECORD and f.index in indices:
            v = cbor2.loads(f.payload)
            body = cbor2.dumps({1: v[0], 2: sha(v[2]), 3: len(v[2])})
            assert d_of(PRUNED, body) == d_of(RECORD, f.payload)
            out += frame(first, PRUNED, f.index, body)
        else:
            out += data[f.offset:f.end]
    with open(path, "wb") as f:
        f.write(out)


class Exchanges:
    """make_exchanges' archive and what lies beside it."""

    def __init__(self, folder, name="a"):
        self.folder, self.root = folder, folder + "/" + name
        subprocess.run([TESTS + "/make_exchanges", self.root], check=True, timeout=120)
        self.id = Identity(self.root + ".identity")
        self.pin = self.root + ".identity.vkey"
        self.keys, self.args = {}, []
        for line in open(self.root + ".keys"):
            n, k = line.split()
            path = "%s.key%s" % (self.root, n)
            open(path, "w").write(k + "\n")
            self.keys[int(n)] = bytes.fromhex(k)
            self.args += ["--key", path]
        self.rs, self.index = {}, {}
        for line in open(self.root + ".rs"):
            i, name, k = line.split()
            path = "%s.rs%s" % (self.root, i)
            open(path, "w").write(k + "\n")
            self.rs[int(i)] = path
            self.index.setdefault(name, int(i))
        with open(self.root + ".receipts", "rb") as f:
            self.receipts = [r + b"\n" for r in f.read().split(b"\n=\n")[:-1]]

    def records(self):
        return [f for s in segments(self.root) for f in frames(s) if f.kind == RECORD]

    def manifests(self):
        return [f for s in segments(self.root) for f in frames(s) if f.kind == MANIFEST]
