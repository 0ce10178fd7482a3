"""Files of docs/file-format.md, read and written by the page: what an attacker has, and a sum of pieces."""

import struct

import numpy as np

from ..xxhash import checksum
from .federation_oracle import packed, unpacked


def sections(data):
    found, at = [], 64
    for _ in range(struct.unpack_from("<I", data, 48)[0]):
        (stored,) = struct.unpack_from("<Q", data, at + 8)
        found.append((data[at : at + 4], data[at + 32 : at + 32 + stored]))
        at += 32 + stored
    return found


def assembled(header, parts):
    """A whole file with the kind and the fingerprint of a header."""
    head = header[:48] + struct.pack("<II", len(parts), 0)
    check = checksum(head)
    out = [head, struct.pack("<Q", check)]
    for i, (tag, content) in enumerate(parts):
        h = tag + struct.pack("<IQQ", 0, len(content), len(content))
        out += [h, struct.pack("<Q", checksum(h + content, check + i)), content]
    return b"".join(out)


class Residues:
    """A section RESI: [batch][component][limb], each N integers in the form that it says."""

    def __init__(self, content):
        word, self.form, self.packed, _, self.n, batch, comps, limbs = struct.unpack_from(
            "<BBBBIQII", content, 0
        )
        self.head = content[: 24 + 8 * limbs]
        self.moduli = list(struct.unpack_from(f"<{limbs}Q", content, 24))
        at, self.rows = len(self.head), np.empty((batch, comps, limbs), object)
        for place in np.ndindex(batch, comps, limbs):
            bits = (self.moduli[place[2]] - 1).bit_length() if self.packed else 8 * word
            size = self.n * bits // 8
            self.rows[place] = unpacked(content[at : at + size], bits, self.n)
            at += size

    def content(self):
        out = [self.head]
        for place in np.ndindex(self.rows.shape):
            modulus = self.moduli[place[2]]
            bits = (modulus - 1).bit_length() if self.packed else 64
            out.append(packed([int(v) % modulus for v in self.rows[place]], bits))
        return b"".join(out)


def with_rows(data, change):
    """The file with residues that `change` was called with, in its last section."""
    parts = sections(data)
    found = Residues(parts[-1][1])
    change(found)
    return assembled(data[:64], [*parts[:-1], (parts[-1][0], found.content())])


def secret_file(any_secret, s):
    """The secret key with these coefficients, from the file of another."""

    def change(found):
        found.rows[0, 0, 0] = s

    return with_rows(any_secret, change)
