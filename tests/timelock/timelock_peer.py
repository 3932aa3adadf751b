"""A puzzle's reader, solver and signer, and a supervisor's end of the frames,
written from docs/PUZZLE.md with Python's cbor2 and cryptography and, for the
hash alone, the RandomX library through ctypes.  Shares no code with what it
checks."""

import base64
import ctypes
import hashlib
import socket
import struct

import cbor2
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey, Ed25519PublicKey)

from puzzle_vectors import commit, segment_key, tag, unseal

AAD = b"amber/1 manifest"
HEADER = (1, 2, 3, 6, 7, 8, 9, 10)


def to_be_signed(protected, payload):
    return cbor2.dumps(["Signature1", protected, AAD, payload])


def vkey_public(text):
    name, key_id, b64 = text.strip().split("+", 2)
    raw = base64.b64decode(b64)
    assert raw[0] == 1 and len(raw) == 33
    want = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
    assert want.hex() == key_id
    return name, bytes.fromhex(key_id), raw[1:]


def open_manifest(file, vkey):
    """The map of a signed manifest whose signature holds, and its id."""
    protected, unprotected, payload, sig = cbor2.loads(file)
    name, key_id, public = vkey_public(vkey)
    assert cbor2.loads(protected) == {1: -8, 4: key_id}
    assert unprotected == {}
    Ed25519PublicKey.from_public_bytes(public).verify(
        sig, to_be_signed(protected, payload))
    m = cbor2.loads(payload)
    assert list(m) == list(range(1, 16)), list(m)
    assert m[2] == name
    assert cbor2.dumps(m) == payload, "not deterministic"
    return m, hashlib.sha256(payload).digest()


def sign_payload(payload, identity_line):
    """A signed manifest of any bytes, by an identity's file."""
    parts = identity_line.strip().split("+")
    assert parts[:2] == ["PRIVATE", "KEY"]
    seed = base64.b64decode("+".join(parts[4:]))[1:]
    protected = cbor2.dumps({1: -8, 4: bytes.fromhex(parts[3])})
    sig = Ed25519PrivateKey.from_private_bytes(seed).sign(
        to_be_signed(protected, payload))
    return cbor2.dumps([protected, {}, payload, sig])


def salt_of(m):
    return hashlib.sha256(cbor2.dumps({k: m[k] for k in HEADER})).digest()


class RandomX:
    """rx/0 in light mode."""

    def __init__(self, key):
        lib = ctypes.CDLL("librandomx.so.0")
        for name in ("randomx_alloc_cache", "randomx_create_vm"):
            getattr(lib, name).restype = ctypes.c_void_p
        lib.randomx_get_flags.restype = ctypes.c_int
        flags = lib.randomx_get_flags()
        self.lib = lib
        self.cache = ctypes.c_void_p(lib.randomx_alloc_cache(flags))
        lib.randomx_init_cache(self.cache, key, ctypes.c_size_t(len(key)))
        self.vm = ctypes.c_void_p(
            lib.randomx_create_vm(flags, self.cache, None))
        self.out = ctypes.create_string_buffer(32)

    def hash(self, data):
        self.lib.randomx_calculate_hash(
            self.vm, data, ctypes.c_size_t(len(data)), self.out)
        return self.out.raw

    def close(self):
        self.lib.randomx_destroy_vm(self.vm)
        self.lib.randomx_release_cache(self.cache)


def solve(m):
    """The epoch key, every tag and the commitment checked on the way."""
    rx = RandomX(m[7])
    salt = salt_of(m)
    x = m[11]
    for i in range(1, m[8] + 1):
        at = 0
        for j in range(1, m[9] + 1):
            x = rx.hash(x + struct.pack("<IQ", i, j))
            if j % m[10] == 0 or j == m[9]:
                assert m[14][i - 1][at:at + 16] == tag(m[7], i, j, x)
                at += 16
        assert at == len(m[14][i - 1])
        x = unseal(segment_key(x, salt, i), salt, i, m[12][i - 1])
    rx.close()
    assert commit(x, salt) == m[13]
    return x


class Supervisor:
    """The other end of --fd: length-prefixed CBOR frames."""
    PROGRESS, NOTE, RESULT, FAILED, STOP = 1, 2, 3, 4, 16

    def __init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.ours.settimeout(90)

    def receive(self):
        """(type, body) or None at the end."""
        head = self._read(4)
        if head is None:
            return None
        frame = cbor2.loads(self._read(struct.unpack(">I", head)[0]))
        assert frame[1] == 1
        return frame[2], cbor2.loads(frame[4])

    def stop(self):
        body = cbor2.dumps({1: 1, 2: self.STOP, 3: 0, 4: b"\xa0"})
        self.ours.sendall(struct.pack(">I", len(body)) + body)

    def _read(self, n):
        data = b""
        while len(data) < n:
            more = self.ours.recv(n - len(data))
            if not more:
                return None
            data += more
        return data
