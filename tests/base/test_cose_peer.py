"""An independent reading of base/cose, base/identity and base/cbor_*.

Written from RFC 9052, RFC 8949 and the C2SP signed-note page with cbor2 and
cryptography, and run against our side, the program cose_peer.
"""
import base64
import hashlib
import os
import random
import subprocess
import tempfile
import unittest

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PEER = os.path.join(os.environ["AMBER_TESTS_BIN"], "cose_peer")
AAD = "amber/1 manifest"
NAMES = ["a", "relay.example", "example.com/log-1", "z" * 128]


def peer(*args, want=0):
    done = subprocess.run([PEER, *args], capture_output=True, timeout=60)
    if done.returncode != want:
        raise AssertionError(f"{args[0]}: exit {done.returncode}, not {want}: "
                             f"{done.stderr.decode()}")
    return done.stdout.decode().strip(), done.stderr.decode()


def public(private):
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def key_id(name, pub):
    return hashlib.sha256(name.encode() + b"\n\x01" + pub).digest()[:4]


def vkey_text(name, pub):
    key = base64.b64encode(b"\x01" + pub).decode()
    return f"{name}+{key_id(name, pub).hex()}+{key}"


def sig_structure(protected, payload, aad=AAD):
    return cbor2.dumps(["Signature1", protected, aad.encode(), payload])


def sign1(private, name, payload, aad=AAD):
    protected = cbor2.dumps({1: -8, 4: key_id(name, public(private))})
    signature = private.sign(sig_structure(protected, payload, aad))
    return cbor2.dumps([protected, {}, payload, signature])


def open_sign1(name, pub, envelope, aad=AAD):
    protected, unprotected, payload, signature = cbor2.loads(envelope)
    if cbor2.loads(protected) != {1: -8, 4: key_id(name, pub)}:
        raise ValueError("protected header")
    if unprotected != {}:
        raise ValueError("unprotected header")
    Ed25519PublicKey.from_public_bytes(pub).verify(
        signature, sig_structure(protected, payload, aad))
    return payload


class Peer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="amber-test-")
        self.addCleanup(self.folder.cleanup)
        self.random = random.Random(9052)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def put(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def get(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def identity(self, name):
        """An identity of ours, its file written here."""
        seed = self.random.randbytes(32)
        private = Ed25519PrivateKey.from_private_bytes(seed)
        kid = key_id(name, public(private)).hex()
        line = base64.b64encode(b"\x01" + seed).decode()
        path = self.put("id", f"PRIVATE+KEY+{name}+{kid}+{line}\n".encode())
        os.chmod(path, 0o600)
        return private, path

    def payloads(self):
        for n in (0, 1, 23, 24, 255, 256, 65535, 65536, 1 << 20):
            yield self.random.randbytes(n)

    def test_vkey(self):
        for name in NAMES:
            private, path = self.identity(name)
            self.assertEqual(peer("vkey", path)[0],
                             vkey_text(name, public(private)))

    def test_created_identity(self):
        for i, name in enumerate(NAMES):
            path = self.path(f"new{i}")
            vkey = peer("create", path, name)[0]
            self.assertEqual(self.get(f"new{i}.vkey").decode(), vkey + "\n")
            word, kid, key = self.get(f"new{i}").decode()[12:].split("+", 2)
            self.assertEqual(word, name)
            raw = base64.b64decode(key, validate=False)
            self.assertEqual((len(raw), raw[0]), (33, 1))
            pub = public(Ed25519PrivateKey.from_private_bytes(raw[1:]))
            self.assertEqual(kid, key_id(name, pub).hex())
            self.assertEqual(vkey, vkey_text(name, pub))

    def test_python_opens_ours(self):
        private, path = self.identity("relay.example")
        for payload in self.payloads():
            peer("sign", path, AAD, self.put("in", payload), self.path("out"))
            envelope = self.get("out")
            self.assertEqual(
                open_sign1("relay.example", public(private), envelope),
                payload)
            # Ed25519 has one signature: the same bytes as Python's.
            self.assertEqual(envelope,
                             sign1(private, "relay.example", payload))
            with self.assertRaises(InvalidSignature):
                open_sign1("relay.example", public(private), envelope, "")

    def test_we_open_pythons(self):
        for name in NAMES + ["C2SP", "\u00fc\u4f8b"]:
            private = Ed25519PrivateKey.from_private_bytes(
                self.random.randbytes(32))
            vkey = vkey_text(name, public(private))
            for payload in self.payloads():
                path = self.put("in", sign1(private, name, payload))
                peer("open", vkey, AAD, path, self.path("out"))
                self.assertEqual(self.get("out"), payload)
                _, why = peer("open", vkey, AAD + "x", path, self.path("no"),
                              want=1)
                self.assertIn("signature", why)

    def test_we_refuse(self):
        """Signed well, but not as cose.h says."""
        private = Ed25519PrivateKey.from_private_bytes(
            self.random.randbytes(32))
        kid = key_id("r.example", public(private))
        vkey = vkey_text("r.example", public(private))

        def envelope(header, unprotected=None, tag=None):
            protected = header if isinstance(header, bytes) else \
                cbor2.dumps(header)
            parts = [protected, unprotected or {}, b"p",
                     private.sign(sig_structure(protected, b"p"))]
            return cbor2.dumps(cbor2.CBORTag(tag, parts) if tag else parts)

        peer("open", vkey, AAD, self.put("in", envelope({1: -8, 4: kid})),
             self.path("out"))
        for data in (
            envelope({1: -8, 4: kid}, tag=18),
            envelope({1: -8}, {4: kid}),
            envelope({1: -8, 4: kid}, {5: b"iv"}),
            envelope({4: kid, 1: -8}),
            envelope({1: -8, 4: kid, 2: [4]}),
            envelope({1: -7, 4: kid}),
            envelope({1: -19, 4: kid}),
            envelope({1: -8, 4: kid + b"\0"}),
            envelope({1: -8, 4: bytes(4)}),
            envelope(b""),
            envelope(b"\xbf\x01\x27\x04\x44" + kid + b"\xff"),
            envelope(b"\xa2\x18\x01\x27\x04\x44" + kid),
            envelope({1: -8, 4: kid}) + b"\0",
            envelope({1: -8, 4: kid})[:-1],
        ):
            peer("open", vkey, AAD, self.put("in", data), self.path("out"),
                 want=1)

    def test_bit_flips(self):
        private = Ed25519PrivateKey.from_private_bytes(
            self.random.randbytes(32))
        vkey = vkey_text("r.example", public(private))
        good = sign1(private, "r.example", b"payload")
        for bit in self.random.sample(range(8 * len(good)), 48):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            peer("open", vkey, AAD, self.put("in", bad), self.path("out"),
                 want=1)

    def test_encrypt0_aad(self):
        protected = cbor2.dumps({1: 24, 4: bytes(32), 5: bytes(12),
                                 -65537: bytes(32), -65538: bytes(32)})
        for p in (protected, b"", b"\xa0", self.random.randbytes(300)):
            for aad in (b"", b"relay.example", b"z" * 128):
                self.assertEqual(peer("aad", p.hex(), aad.hex())[0],
                                 cbor2.dumps(["Encrypt0", p, aad]).hex())

    def item(self, depth):
        kind = self.random.randrange(8 if depth < 7 else 6)
        if kind == 0:
            return self.random.getrandbits(self.random.randrange(65))
        if kind == 1:
            return -1 - self.random.getrandbits(self.random.randrange(65))
        if kind == 2:
            return self.random.randbytes(self.random.randrange(300))
        if kind == 3:
            return "".join(self.random.choice("a\u00fc\u4f8b\U0001f511")
                           for _ in range(self.random.randrange(100)))
        if kind == 4:
            return self.random.choice([True, False])
        if kind == 5:
            return None
        if kind == 6:
            return [self.item(depth + 1)
                    for _ in range(self.random.randrange(6))]
        keys = [self.random.getrandbits(40), "k", b"k", -7, "longer"]
        return {k: self.item(depth + 1) for k in
                self.random.sample(keys, self.random.randrange(6))}

    def test_cbor_echo(self):
        """RFC 8949 section 4.2.1 order, written here."""
        def encode(item):
            if isinstance(item, list):
                return head(4, len(item)) + b"".join(map(encode, item))
            if isinstance(item, dict):
                pairs = sorted((encode(k), encode(v))
                               for k, v in item.items())
                return head(5, len(item)) + b"".join(k + v for k, v in pairs)
            return cbor2.dumps(item)

        def head(major, n):
            first = cbor2.dumps(n)
            return bytes([first[0] | major << 5]) + first[1:]

        for _ in range(60):
            data = encode([self.item(1) for _ in range(8)])
            peer("echo", self.put("in", data), self.path("out"))
            self.assertEqual(self.get("out"), data)
            self.assertEqual(cbor2.loads(data), cbor2.loads(self.get("out")))


if __name__ == "__main__":
    unittest.main()
