"""What the kernels of each GPU architecture take of a CUDA library: python tools/cuda_sizes.py FILE.

Reads the section .nv_fatbin: containers, each with an entry for the machine code (cubin) or the PTX of one
architecture. NVIDIA documents neither; cuobjdump shows the same entries.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from pathlib import Path

CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes that follow
ENTRY = struct.Struct("<HHIQ12xI")  # kind, version, bytes of this header, bytes that follow, architecture
MAGIC = 0xBA55ED50
KINDS = {1: "PTX", 2: "cubin"}


def section(file: bytes, name: bytes) -> bytes:
    """A section of an ELF file of 64 bits."""
    if file[:5] != b"\x7fELF\x02":
        raise SystemExit("this is no ELF file of 64 bits")
    (table,) = struct.unpack_from("<Q", file, 40)
    size, count, names = struct.unpack_from("<HHH", file, 58)
    headers = [struct.unpack_from("<IIQQQQ", file, table + size * index) for index in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if file[start : file.index(b"\0", start)] == name:
            return file[header[4] : header[4] + header[5]]
    raise SystemExit(f"there is no section {name.decode()}")


def sizes(fatbin: bytes) -> Counter[str]:
    """The bytes of each architecture, "sm_90 cubin", as they are in the file (compressed)."""
    found: Counter[str] = Counter()
    at = 0
    while at + CONTAINER.size <= len(fatbin):
        magic, _, own, rest = CONTAINER.unpack_from(fatbin, at)
        if magic != MAGIC:
            at += 8  # containers are aligned
            continue
        at += own
        end = at + rest
        while at < end:
            kind, _, own, rest, architecture = ENTRY.unpack_from(fatbin, at)
            found[f"sm_{architecture} {KINDS.get(kind, kind)}"] += own + rest
            at += own + rest
    return found


def main(arguments: list[str]) -> int:
    file = Path(arguments[0])
    data = file.read_bytes()
    print(f"{file.name}: {len(data) / 1e6:.1f} MB")
    for name, size in sorted(sizes(section(data, b".nv_fatbin")).items(), key=lambda each: each[0].rjust(20)):
        print(f"  {name:14} {size / 1e6:5.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
