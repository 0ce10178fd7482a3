"""Digests and parts of messages."""

import hashlib
import json

import numpy as np
import pytest

from hemera import _core
from hemera.errors import FormatError, ParameterError
from hemera.search import Client, Index, wire

from ..refusals import raises
from ..xxhash import checksum
from .search_cases import floats


def pieces_digest(*parts):
    """SHA-256 of XXH3-64 of each 64 KiB of each part."""
    pieces = [part[at : at + 2**16] for part in parts for at in range(0, len(part), 2**16)]
    return hashlib.sha256(np.array([checksum(piece) for piece in pieces], "<u8").tobytes()).digest()


@pytest.mark.parametrize(
    "sizes",
    [
        (0,),
        (1,),
        (2**16 - 1, 1),
        (2**16, 5),
        (2**16 + 1, 0, 9),
        (3 * 2**16 + 7, 2**17 - 1, 3),
        (5 * 2**20, 8),
    ],
)
def test_digests_of_answers_are_those_of_the_checksums_of_their_pieces(sizes):
    parts = [np.random.default_rng(i).bytes(size) for i, size in enumerate(sizes)]
    data = b"".join(parts)
    assert _core.digest_of_pieces(np.frombuffer(data, np.uint8), list(sizes)) == pieces_digest(*parts)
    answer = wire.pack("answer", {"a": 1}, *parts)
    head = answer[: -32 - len(data)]
    assert answer == head + data + pieces_digest(head, *parts)
    assert json.loads(head[24:]) == {"version": 3, "kind": "answer", "a": 1, "parts": list(sizes)}
    header, body = wire.unpack("answer", answer, {"a": int, "parts": list})
    assert (header, body) == ({"a": 1, "parts": list(sizes)}, data)
    raises(FormatError, "longer", _core.digest_of_pieces, np.frombuffer(data, np.uint8), [len(data), 1])


def test_every_damaged_byte_of_an_answer_is_found():
    index = Index(floats(9, 4, 33), "l2", ids=range(1, 10))
    client = Client(index.settings)
    tickets = index.prepare(client.prepare(1), client.keys)
    x = floats(1, 4, 34)[0]
    for answer in (
        index.query(client.query(x), client.keys),
        index.query(client.query(x, prepared=True), tickets),
    ):
        parts = len(answer) - 2 * 16384 - 9 * 12 - 32
        ends = (parts, parts + 16384, parts + 32768, parts + 32768 + 72, parts + 32768 + 108)
        places = {*range(parts), *ends, *(end - 1 for end in ends), *range(parts, len(answer), 997)}
        for at in places:
            damaged = bytearray(answer)
            damaged[at] ^= 1 << at % 8
            raises(FormatError, "", client.decrypt, bytes(damaged))
        client.decrypt(answer)


def test_parts_that_do_not_fit_an_answer_are_refused():
    right = wire.pack("answer", {}, b"abc", b"de")
    for parts in (b"[4,2]", b"[3,]]"):
        raises(FormatError, "", wire.unpack, "answer", right.replace(b"[3,2]", parts), {"parts": list})
    # Other parts of the same bytes have another digest.
    raises(FormatError, "checksum", wire.unpack, "answer", right.replace(b"[3,2]", b"[2,3]"), {"parts": list})
    for parts in (b"[5.0]", b"{   }", b"[-5 ]", b"[tru]"):
        raises(FormatError, "", wire.unpack, "answer", right.replace(b"[3,2]", parts), {"parts": list})
    # Bytes that no part has, and no digest.
    head = right[:-37].replace(b"[3,2]", b"[3,1]")
    with pytest.raises(FormatError, match="5 bytes of numbers, not 4"):
        wire.unpack("answer", head + b"abcde" + pieces_digest(head, b"abc", b"d"), {"parts": list})
    lacking = json.dumps({"version": 3, "kind": "answer"}).encode()
    message = wire.MAGIC + len(lacking).to_bytes(8, "little") + lacking
    raises(FormatError, "no sizes of parts", wire.unpack, "answer", message + pieces_digest(message), {})


def test_drafts_are_written_in_their_places_once():
    draft = wire.Draft("answer", {"a": 1}, 3, 0, 2)
    draft.part(1)[:] = 0
    draft.part(2)[:] = np.frombuffer(b"de", np.uint8)
    draft.settle(1, 2)
    draft.part(0)[:] = np.frombuffer(b"abc", np.uint8)
    draft.rename(a=2)
    assert draft.finish() == wire.pack("answer", {"a": 2}, b"abc", b"", b"de")
    # What is settled is not looked at again.
    draft = wire.Draft("answer", {"a": 1}, 3)
    draft.part(0)[:] = 1
    draft.settle(0)
    draft.part(0)[:] = 2
    raises(FormatError, "damaged", wire.unpack, "answer", draft.finish(), {"a": int, "parts": list})
    raises(ParameterError, "no such part", wire.Draft("answer", {}, 3).part, 1)
    raises(ParameterError, "finished", draft.part, 0)
