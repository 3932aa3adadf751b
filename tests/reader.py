#!/usr/bin/python3
"""reader.py ARCHIVE VKEY-FILE [KEYS-FILE]: verify an Amber archive and open its records; from docs/FORMAT.md alone."""
import base64, hashlib, hmac, os, sys, cbor2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

H = lambda *x: hashlib.sha256(b"".join(x)).digest()
expand, u64 = lambda key, label, x: hmac.new(key, label + x + b"\1", hashlib.sha256).digest(), lambda b: int.from_bytes(b, "big")
def need(ok, what):
    if not ok: sys.exit("FAILED: " + what)
def decode(b):  # deterministic CBOR only: it must encode to itself
    x = cbor2.loads(b)
    need(cbor2.dumps(x, canonical=True) == b, "CBOR not deterministic"); return x

def root(stack):
    r = None if stack else H()
    for _, h in reversed(stack): r = h if r is None else H(b"\1", h, r)
    return r

def note(text):  # a checkpoint's size and root, its signature checked
    body, sig = text.decode().rsplit("\n\n", 1)
    o, size, b64 = body.split("\n"); raw = base64.b64decode(sig.removeprefix(f"\u2014 {origin} ").removesuffix("\n"), validate=True)
    need(o == origin and raw[:4] == keyid and sig == f"\u2014 {origin} {base64.b64encode(raw).decode()}\n", "checkpoint's key")
    pub.verify(raw[4:], body.encode() + b"\n"); need(size == str(int(size)), "size"); return int(size), base64.b64decode(b64, validate=True)

def open_record(P, m, cipher):
    rs = expand(keys[m[4]], b"amber/1 record", m[-65537])
    need(expand(rs, b"amber/1 commit", m[4]) == m[-65538], "commitment")
    p = ChaCha20Poly1305(expand(rs, b"amber/1 key", m[4])).decrypt(bytes(12), cipher, cbor2.dumps(["Encrypt0", P, origin.encode()]))
    n = u64(p[:8]); L = 8 + n; E = L.bit_length() - 1; step = 1 << (E - E.bit_length()) if E > 3 else 1
    need(len(p) == max(1024, -(-L // step) * step) and not any(p[L:]), "padding")
    c = decode(p[8:L]); need(c[1] == 1 and {1, 2, 3, 4, 7, 15, 17, 18} <= set(c) <= set(range(1, 19)), "capture"); return c

path, vkey, keyfile = (sys.argv + [None])[1:4]
origin, hexid, b64 = open(vkey).read().strip().split("+", 2); raw = base64.b64decode(b64); keyid = bytes.fromhex(hexid)
need(keyid == H(origin.encode(), b"\n", raw)[:4] and open(path + "/FORMAT").read() == "amber archive 1\n" and open(path + "/log.vkey").read() == open(vkey).read(), "log.vkey or FORMAT")
pub = Ed25519PublicKey.from_public_bytes(raw[1:]); known = dict(l.split() for l in open(keyfile)) if keyfile else {}
stack, size, keys, allowed, epoch, opened, last = [], 0, {}, [], 0, 0, 0
segments = sorted(os.listdir(path + "/seg"))
for name in segments:
    b = open(f"{path}/seg/{name}", "rb").read(); at = 64; first = size; kind = 0
    need(b[:8] == b"AMBSEG01" and name == f"{u64(b[8:16]):020}.amb" and u64(b[8:16]) == size and b[24:60] == H(origin.encode()) + bytes(4) and b[60:64] == H(b[:60])[:4], "header")
    while at < len(b):
        head, before = b[at:at + 32], kind; kind, n = head[4], u64(head[16:24]); p = b[at + 32:at + 32 + n]
        need(head[:4] == b"\xa5AMB" and head[5:8] == bytes(3) and len(p) == n and u64(head[8:16]) == size and before != 4, f"frame {at} of {name}"); at += 32 + n
        if kind == 1: P, e, cipher = decode(p); m = decode(P); need(e == {} and m[1] == 24 and m[5] == bytes(12) and len(m) == 5 and m[4] in allowed[-2:], "record"); data = [1, P, H(cipher)]
        if kind == 5: q = decode(p); P = q[1]; m = decode(P); need(len(q) == 3 and type(q[3]) is int and m[1] == 24 and m[5] == bytes(12) and len(m) == 5 and m[4] in allowed[-2:], "pruned record"); data = [1, P, q[2]]
        if kind == 2: prot, e, pay, sig = decode(p); pub.verify(sig, cbor2.dumps(["Signature1", prot, b"amber/1 manifest", pay])); m = decode(pay); data = [2, H(p)]; need(decode(prot) == {1: -8, 4: keyid} and e == {} and size == first and m[2] == origin and m[3] == u64(b[16:24]) > epoch and open(f"{path}/epoch/{m[3]}.cose", "rb").read() == p, "manifest"); epoch = m[3]; allowed.append(H(pay)); keys[H(pay)] = k = bytes.fromhex(known.get(str(epoch), "")); need(not k or expand(k, b"amber/1 epoch commit", H(cbor2.dumps({i: m[i] for i in (1, 2, 3, 6, 7, 8, 9, 10)}))) == m[13], "epoch key")
        if kind == 3: need(note(p) == (size, root(stack)), "checkpoint"); last = size
        if kind == 4: need(before == 3 and decode(p) == {1: size - first, 2: root(stack), 3: [h for _, h in stack]}, "trailer")
        d = H(b"\0", cbor2.dumps(data)) if kind in (1, 2, 5) else H(p)
        need(kind in (1, 2, 3, 4, 5) and head[24:] == H(b"amber/1 frame", b[8:16], head[:24], d)[:8] and u64(b[16:24]) == epoch, "frame's check")
        if kind == 1 and keys[m[4]]: open_record(P, m, cipher); opened += 1
        if kind in (1, 2, 5):
            stack.append((1, d)); size += 1
            while len(stack) > 1 and stack[-1][0] == stack[-2][0]: n, r = stack.pop(); stack[-1] = (2 * n, H(b"\1", stack[-1][1], r))
    need(kind == 4 or name == segments[-1], "segment not closed")
need(last == size == note(open(path + "/checkpoint", "rb").read())[0] and note(open(path + "/checkpoint", "rb").read())[1] == root(stack), "unsigned tail, or entries missing")
print(f"{size} entries, {size - len(allowed)} records, {len(allowed)} epochs, {opened} opened, root {root(stack).hex()}")
