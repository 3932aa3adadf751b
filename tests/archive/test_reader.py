#!/usr/bin/python3
"""test_reader.py [FLIPS]: tests/reader.py, written from docs/FORMAT.md alone, against archives that the library wrote.

It must verify 3 epochs and 1,000 records and open them all, with pruned records among them too, and must refuse the archive when one bit is flipped anywhere:
places in every file's beginning and end, and FLIPS (default 50) places over all files.
"""
import os
import random
import runpy
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_kit as kit   # noqa: E402

BIN, SOURCE = os.environ["AMBER_TESTS_BIN"], os.environ["AMBER_SOURCE"]
READER = SOURCE + "/tests/reader.py"
FLIPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50


def read(path, with_keys=True):
    """What reader.py says in this process: None, or the failure."""
    argv, sys.argv = sys.argv, [READER, path, path + ".vkey"] + [path + ".keys"] * with_keys
    out, sys.stdout = sys.stdout, open(os.devnull, "w")
    try:
        runpy.run_path(READER)
        return None
    except SystemExit as e:
        return str(e)
    except Exception as e:
        return repr(e)
    finally:
        sys.argv, sys.stdout = argv, out


def make(path, epochs, records, entries):
    subprocess.run([BIN + "/make_archive", path, str(epochs), str(records), str(entries)], check=True)


def check_large(folder):
    path = folder + "/large"
    make(path, 3, 1000, 100)
    said = subprocess.run(["/usr/bin/python3", READER, path, path + ".vkey", path + ".keys"],
                          check=True, capture_output=True, text=True).stdout
    assert said.startswith("1003 entries, 1000 records, 3 epochs, 1000 opened, root "), said
    said = subprocess.run(["/usr/bin/python3", READER, path, path + ".vkey"],
                          check=True, capture_output=True, text=True).stdout
    assert said.startswith("1003 entries, 1000 records, 3 epochs, 0 opened, "), said
    print(said, end="")


def flip(path, at, bit):
    with open(path, "r+b") as f:
        f.seek(at)
        c = f.read(1)[0]
        f.seek(at)
        f.write(bytes([c ^ 1 << bit]))


def check_flips(folder):
    path = folder + "/small"
    make(path, 3, 14, 5)
    assert read(path) is None
    files = [os.path.join(d, n) for d, _, names in os.walk(path) for n in names if n != "LOCK"]
    rng = random.Random(1)
    places = []
    step = 40 if FLIPS < 1000 else 5
    for f in files:
        size = os.path.getsize(f)
        # The first frames and the closing are where the structure is.
        places += [(f, at) for at in range(0, min(size, 200), step)]
        places += [(f, at) for at in range(max(0, size - 500), size, step)]
    places += [(f, rng.randrange(os.path.getsize(f))) for f in rng.choices(files, k=FLIPS)]
    for f, at in places:
        bit = rng.randrange(8)
        flip(f, at, bit)
        for with_keys in (True, False):
            assert read(path, with_keys) is not None, (f, at, bit, with_keys)
        flip(f, at, bit)
    assert read(path) is None
    # Cut, or lacking a file.
    last = sorted(f for f in files if "/seg/" in f)[-1]
    whole = open(last, "rb").read()
    for n in (0, 40, len(whole) - 1, len(whole) // 2):
        open(last, "wb").write(whole[:n])
        assert read(path) is not None, n
    os.unlink(last)
    assert read(path) is not None
    print(f"{len(places)} flipped bits noticed, with the keys and without")


def check_pruned(folder):
    """Records without their ciphertexts: the log is whole, and what is left of them is bound by it."""
    path = folder + "/pruned"
    make(path, 3, 14, 5)
    seg = kit.segments(path)[1]
    gone = {f.index for f in kit.frames(seg) if f.kind == kit.RECORD}
    kit.prune(seg, gone)
    said = subprocess.run(["/usr/bin/python3", READER, path, path + ".vkey", path + ".keys"],
                          check=True, capture_output=True, text=True).stdout
    assert gone and said.startswith("17 entries, 14 records, 3 epochs, %d opened, " % (14 - len(gone))), said
    subprocess.run([kit.PROGRAM, "verify", "-r", path, "--pin", path + ".vkey"], check=True, stdout=subprocess.DEVNULL)
    for f in kit.frames(seg):
        if f.kind == kit.PRUNED:
            for at in range(f.offset, f.end - 3, 7):    # the length, at its end, is bound by nothing
                flip(seg, at, at % 8)
                assert read(path) is not None, at
                flip(seg, at, at % 8)
    assert read(path) is None
    print("%d pruned records verified" % len(gone))


with tempfile.TemporaryDirectory() as folder:
    check_large(folder)
    check_pruned(folder)
    check_flips(folder)
