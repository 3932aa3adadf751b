#!/usr/bin/python3
"""amber-load transport: options, the summary's keys, and what must hold on
any machine however busy."""
import json
import os
import subprocess
import sys

LOAD = os.path.join(os.environ["AMBER_BIN"], "amber-load")
KEYS = {"message_type", "direction", "size", "window", "streams", "repeat",
        "delay_ms", "rate_bits_per_s", "bytes", "exchanges", "empty_polls",
        "retries", "connections", "seconds", "bytes_per_s", "share_of_line",
        "exchange_ms", "cpu_ms_per_mib", "peak_rss_kib", "verified"}
MIB = 1024 * 1024


def run(*args, code=0):
    p = subprocess.run([LOAD, "transport", *args], capture_output=True,
                       text=True, timeout=100)
    assert p.returncode == code, (args, p.returncode, p.stdout, p.stderr)
    return p


def summary(*args):
    lines = run("--json", *args).stdout.splitlines()
    last = json.loads(lines[-1])
    assert set(last) == KEYS, set(last) ^ KEYS
    assert last["message_type"] == "summary" and last["verified"] is True
    assert set(last["exchange_ms"]) == {"p50", "p90", "p99", "mean"}
    return last


def test_window_one():
    s = summary("--size", "1MiB", "--window", "1", "--repeat", "3")
    assert s["exchanges"] == 3 * 32, s
    assert s["bytes"] == 3 * MIB and s["empty_polls"] == 0, s
    assert s["retries"] == 0 and s["connections"] == 3, s
    assert s["share_of_line"] is None and s["cpu_ms_per_mib"] > 0, s


def test_delay():
    s = summary("--size", "256KiB", "--window", "1", "--delay", "20ms",
                "--rate", "1Gbit")
    assert s["exchanges"] == 8 and s["delay_ms"] == 20, s
    assert s["exchange_ms"]["p50"] >= 20, s     # never faster than the line
    assert s["seconds"] >= 7 * 0.020 and 0 < s["share_of_line"] <= 1, s


def test_rate():
    s = summary("--size", "2MiB", "--rate", "50Mbit", "--delay", "10ms")
    # a client that is scheduled late sees the first bytes late
    assert s["bytes_per_s"] <= 1.25 * 50e6 / 8, s
    assert s["exchanges"] == 64, s


def test_slow():
    # the answers of all polls share the line for seconds: nothing is late,
    # and nothing is asked for twice
    s = summary("--size", "448KiB", "--rate", "256kbit")
    assert s["exchanges"] == 14 and s["retries"] <= 2, s
    assert s["seconds"] >= 12 and s["share_of_line"] > 0.7, s
    s = summary("--up", "--size", "192KiB", "--rate", "512kbit")
    # 4 characters for 3 bytes, and a head each
    assert s["retries"] <= 10 and s["share_of_line"] > 0.45, s


def test_many_short():
    # more sessions than a server remembers of one minute by default
    s = summary("--streams", "128", "--repeat", "66", "--size", "1")
    assert s["exchanges"] == 128 * 66 > 8192 + 128, s


def test_up():
    s = summary("--up", "--size", "1MiB", "--delay", "10ms")
    assert s["direction"] == "up" and s["bytes"] == MIB, s
    # what fits 4,096 bytes with the stream's head in front of it
    assert s["exchanges"] == 257, s


def test_streams():
    s = summary("--streams", "16", "--size", "128KiB")
    assert s["bytes"] == 16 * 128 * 1024 and s["exchanges"] == 16 * 4, s


def test_matrix():
    lines = run("--matrix", "--json", "--size", "64KiB").stdout.splitlines()
    cells = [json.loads(x) for x in lines]
    assert [c["message_type"] for c in cells] == ["cell"] * 24 + ["summary"]
    assert {(c["delay_ms"], c["window"]) for c in cells[:-1]} == {
        (d, w) for d in (0, 10, 25, 50, 100, 200) for w in (1, 4, 16, 56)}
    assert all(c["exchanges"] == 2 for c in cells[:-1]), cells
    assert cells[-1]["bytes"] == 24 * 65536
    text = run("--matrix", "--size", "32KiB").stdout.splitlines()
    assert text[1].split() == ["ms", "1", "4", "16", "56"], text
    assert [x.split()[0] for x in text[2:]] == [
        "0", "10", "25", "50", "100", "200"], text


def test_text():
    out = run("--size", "64KiB").stdout
    assert "every byte verified" in out and "64 KiB down" in out, out


BAD = [["--window", "0"], ["--window", "57"], ["--uploads", "65"],
       ["--streams", "129"], ["--streams", "0"], ["--repeat", "1001"],
       ["--size", "0"], ["--size", "65GiB"], ["--size", "x"],
       ["--delay", "10001ms"], ["--delay", "5"+"0"*20], ["--rate", "fast"],
       ["--rate", "0"], ["--rate", "100"], ["--rate", "63999bit"],
       ["--rate", "100000000001"], ["--rate", "1"+"0"*19],
       ["--seed", "-1"], ["--no-such"], ["extra"],
       ["--matrix", "--delay", "1ms"], ["--matrix", "--window", "4"]]
GOOD = [["--window", "56"], ["--uploads", "64"], ["--size", "1"],
        ["--rate", "64kbit"], ["--rate", "100Gbit"],
        ["--delay", "0ms"], ["--seed", str(2**64 - 1)]]


def test_options():
    for args in BAD:
        p = run(*args, code=2)
        assert p.stdout == "" and p.stderr, args
    for args in ["--rate", "0"], ["--rate", "100"]:
        assert "64kbit to 100Gbit" in run(*args, code=2).stderr
    for args in ["--size"], ["--no-such"], ["-Z"]:
        said = run(*args, code=2).stderr
        assert said.startswith("amber-load transport: "), said
    for args in GOOD:
        run("--size", "1KiB", *args)
    assert "--matrix" in run("--help").stdout
    p = subprocess.run([LOAD], capture_output=True, text=True)
    assert p.returncode == 2 and "transport" in p.stderr
    p = subprocess.run([LOAD, "nothing"], capture_output=True, text=True)
    assert p.returncode == 2 and "no such command" in p.stderr
    p = subprocess.run([LOAD, "--version"], capture_output=True, text=True)
    assert p.returncode == 0 and p.stdout.startswith("amber-load ")


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)
    return 0


sys.exit(main())
