"""The two parts of a packaged model's file, taken apart and joined again."""

import hashlib
import json

from hemera.package import container


def parts(data):
    """The header, and the arrays' bytes."""
    begin = len(container.MAGIC) + 8
    length = int.from_bytes(data[begin - 8 : begin], "little")
    return json.loads(data[begin : begin + length]), data[begin + length : -32]


def joined(header, arrays):
    """A file with a right checksum of other content."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = container.MAGIC + len(text).to_bytes(8, "little") + text + arrays
    return whole + hashlib.sha256(whole).digest()
