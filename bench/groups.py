"""Bytes and milliseconds of a member of a group, one thread: python bench/groups.py [RESULTS].

2 of 3, BFV and CKKS at N = 2^14: relinearization and ten rotations made in two rounds, a result opened to all
and to a receiver. Processor time, the best of five. RESULTS: a JSON file that is written.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import hemera as hm
from hemera import _core
from results_file import write_results

T = TypeVar("T")


def timed(work: Callable[[], T], times: int = 5) -> tuple[T, float]:
    """The result, and the milliseconds of the fastest."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return result, 1e3 * best


def measured(scheme: str) -> tuple[dict[str, Any], str]:
    """The rows of a scheme, and the backend."""
    access = _core.FederationAccess(3, 2)
    openings = _core.Openings(access.pieces, 100, 40)
    params: Any = (
        hm.bfv.Parameters.for_circuit(
            depth=3, plain_bits=30, slots=2**14, terms=2048, degree=2**14, openings=openings
        )
        if scheme == "bfv"
        else hm.ckks.Parameters.for_circuit(3, scale_bits=40, slots=2**13, degree=2**14, openings=openings)
    )
    context = hm.Context(params, threads=1)
    native = context._native
    terms = _core.GroupTerms(access, openings, os.urandom(32))
    pieces = [_core.FederationPiece.fresh(piece) for piece in range(access.pieces)]
    level = params._native.highest_user_level
    needs = [_core.key_need(params._native, 1, native.galois_element(1 << k), level) for k in range(10)]
    needs.append(_core.key_need(params._native, 2, 1, level))

    def setup(member: int) -> _core.KeyMessages:
        held = [pieces[piece] for piece in access.held_by(member)]
        return _core.KeyMessages(native, terms, hashlib.sha256(b"attempt").digest(), member, held, needs)

    of, sent = [setup(member) for member in range(3)], {}
    sender = {piece: member for member in range(3) for piece in terms.sent_by(member)}
    for number in (1, 2):
        digests = {piece: of[member].digest(number, piece) for piece, member in sender.items()}
        for each in of:
            for piece, digest in digests.items():
                each.accept_digest(number, piece, digest)
        for piece, member in sender.items():
            sent[number, piece] = of[member].message(number, piece)
        for each in of:
            for piece in sender:
                each.accept(number, piece, sent[number, piece])

    def party() -> Any:
        """All that a member does, from its pieces to the keys."""
        mine = setup(0)
        for number in (1, 2):
            for piece in sender:
                own = sender[piece] == 0
                said = hashlib.sha256(sent[number, piece]).digest()
                mine.accept_digest(number, piece, mine.digest(number, piece) if own else said)
            for piece in sender:
                data = mine.message(number, piece) if sender[piece] == 0 else sent[number, piece]
                mine.accept(number, piece, data)
        return mine.keys()

    native_keys, keys_ms = timed(party, 3)
    keys = hm.Keys(native_keys, context)
    ev = context.bind(keys)
    values = np.arange(2**14) if scheme == "bfv" else np.linspace(-1, 1, 2**13)
    x = ev.encrypt(values)
    result = (x * x).shrink()
    names: set[bytes] = set()

    def note(name: bytes) -> int:
        names.add(name)
        return len(names)

    opener = _core.Opening(native, terms, 0, [pieces[piece] for piece in access.held_by(0)], note)
    other = _core.Opening(native, terms, 1, [pieces[piece] for piece in access.held_by(1)], note)
    secret = context.generate_secret_key()
    receiver = context.generate_keys(secret, relinearization=False)
    bound = result.noise_bits
    if scheme == "ckks":
        noise = context.noise_bound(depth=1, largest=1)
        bound = _core.coefficient_noise_log2(native, noise, result.scale)
    share, share_ms = timed(lambda: opener.share(result._native, bound, 1))
    _, receiver_ms = timed(lambda: opener.share_for(result._native, bound, 1, receiver._native))
    shares = [other.share(result._native, bound, 0), share, opener.share(result._native, bound, 2)]
    plain, combined_ms = timed(lambda: _core.opened(native, terms, result._native, bound, shares))
    found = context.decode(context._wrap(plain))
    if scheme == "bfv":
        t = params.plain_modulus
        assert np.array_equal(found.astype(object) % t, values.astype(object) ** 2 % t)
    flooding = openings.flooding_log2(params.degree, bound)
    rows: dict[str, Any] = {
        "scheme": scheme,
        "degree": params.degree,
        "log2 of QP": round(params.log_modulus, 1),
        "keys": "relinearization and 10 rotations",
        "members": 3,
        "threshold": 2,
        "set-up of a party, all its work (ms)": round(keys_ms, 1),
        "bytes up, both rounds of a piece": len(sent[1, 0]) + len(sent[2, 0]),
        "level of the result, bits": round(params.level_bits(result.level), 1),
        "log2 of the flooding": flooding,
        "share of a piece, computed twice (ms)": round(share_ms, 2),
        "share of a piece to a receiver (ms)": round(receiver_ms, 2),
        "combination of three shares (ms)": round(combined_ms, 2),
        "bytes of a share": len(share),
    }
    if scheme == "ckks":
        rows["scale, bits"] = round(math.log2(result.scale), 1)
        rows["bits after the point, worst slot"] = round(hm.ckks.precision(found, values**2).worst_bits, 1)
    return rows, context.description


def main() -> None:
    found = [measured(scheme) for scheme in ("bfv", "ckks")]
    rows, backend = [each for each, _ in found], found[0][1]
    print(json.dumps(rows, indent=1))
    if len(sys.argv) > 1:
        write_results(sys.argv[1], backend, rows)


if __name__ == "__main__":
    main()
