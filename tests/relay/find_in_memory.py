#!/usr/bin/python3
"""How often is an identity's private key in a process's memory?

Usage: find_in_memory.py PID IDENTITY-FILE

Reads all that is mapped and readable there, and counts the seed as bytes and
as the base64 text of its file.  Prints the count; exit 1 when it could read
next to nothing.
"""
import base64
import sys

LEAST = 1 << 20			# bytes; any process of ours has more
HOLES = 1 << 32			# a sanitizer's shadow


def regions(pid):
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            span, perm = line.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if perm[0] == "r" and "[vvar]" not in line and \
                    end - start < HOLES:
                yield start, end


def main():
    pid, path = sys.argv[1:3]
    with open(path) as f:
        text = f.read().strip().split("+", 4)[4]   # base64 has "+" too
    needles = [base64.b64decode(text)[1:], text.encode()]
    read = found = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for start, end in regions(pid):
            try:
                mem.seek(start)
                data = mem.read(end - start)
            except OSError:		# a guard page
                continue
            read += len(data)
            found += sum(data.count(n) for n in needles)
    print(found)
    return 0 if read >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
