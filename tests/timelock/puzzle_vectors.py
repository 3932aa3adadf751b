#!/usr/bin/python3
"""Tags, wrapped keys and commitments of docs/PUZZLE.md, written from its text
alone with Python's standard library and python3-cryptography.  Run by itself
it prints the vectors of test_chain.c."""

import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305


def expand(key, info):
    """HKDF-Expand (RFC 5869), 32 bytes: one block."""
    return hmac.new(key, info + b"\x01", hashlib.sha256).digest()


def tag(dataset_key, i, j, x):
    return hashlib.sha256(b"amber/1 milestone" + dataset_key
                          + struct.pack("<IQ", i, j) + x).digest()[:16]


def segment_key(end, salt, i):
    return expand(end, b"amber/1 segment" + salt + struct.pack("<I", i))


def seal(key, salt, i, plain):
    return ChaCha20Poly1305(key).encrypt(
        bytes(12), plain, salt + struct.pack("<I", i))


def unseal(key, salt, i, wrapped):
    return ChaCha20Poly1305(key).decrypt(
        bytes(12), wrapped, salt + struct.pack("<I", i))


def commit(epoch_key, salt):
    return expand(epoch_key, b"amber/1 epoch commit" + salt)


if __name__ == "__main__":
    K, X, SALT, PLAIN = (bytes(range(b, b + 32))
                         for b in (0, 0x40, 0x80, 0xc0))
    k3 = segment_key(X, SALT, 3)
    print("TAG", tag(K, 3, 0x0102030405, X).hex())
    print("K", k3.hex())
    print("W", seal(k3, SALT, 3, PLAIN).hex())
    print("COMMIT", commit(PLAIN, SALT).hex())
