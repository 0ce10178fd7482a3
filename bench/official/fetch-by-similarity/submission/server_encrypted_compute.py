"""Stage 9: cosines of the query with all records, which of them match, and the payloads of these.

Before the query counts, a server has its keys, and has run its program once: here on zeros, which it encrypts
under a key of its own, while other threads read the files. A GPU then has its kernels, and its program as a
graph.
"""

import json
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import workload

import hemera as hm

_READERS = 4
_AHEAD = 2
"""Groups that are read while one is computed."""

began = time.perf_counter()
work = workload.parse()
# Cosines are from -1 to 1: records and query have the norm 1.
warnings.simplefilter("ignore", hm.errors.RangeWarning)
readers = ThreadPoolExecutor(_READERS)
planned = readers.submit(work.bootstrap)
ctx = hm.Context(work.parameters, work.device)
keys = readers.submit(ctx.load, work.keys / "keys.bin")
asked = readers.submit(ctx.load, work.up / "query.bin")


def read(group: range) -> list[Future[Any]]:
    """A group's files, columns first, in other threads."""
    names = [f"records{group.start:04d}-{share.start:03d}.bin" for share in work.shares]
    if not work.count_only:
        names.append(f"payloads{group.start:04d}.bin")
    return [readers.submit(ctx.load, work.up / name) for name in names]


ahead = [read(group) for group in work.groups[:_AHEAD]]
bootstrap = planned.result()
bootstrap.prepare(ctx)
exact = hm.circuits.Polynomial(workload.exact(), basis="chebyshev") if work.count_only else None
shift = ctx.encode(
    np.full(work.degree, workload.shift), encoding="coefficients", level=0, scale=work.score_scale
)
ev = ctx.bind(keys.result())
waited = 0.0


def groups() -> Iterator[list[hm.Ciphertext]]:
    """The groups' ciphertexts. Time that is spent on waiting for them is not that of computing."""
    global waited
    for place in range(len(work.groups)):
        start = time.perf_counter()
        found = [ev.bind(each.result()) for each in ahead.pop(0)]
        waited += time.perf_counter() - start
        ahead.extend(read(group) for group in work.groups[place + _AHEAD : place + _AHEAD + 1])
        yield found


def scores_of(query: list[hm.Ciphertext], shares: list[hm.Ciphertext]) -> hm.Ciphertext:
    """Of a group's records."""
    return ev.dot(query, [column for share in shares for column in share])


def matched(scores: hm.Ciphertext, *payloads: hm.Ciphertext) -> hm.Ciphertext:
    """Of a group: its payloads where records match, or the number of these."""
    found = workload.indicator(bootstrap(scores + shift)).rescale()
    if exact is None:
        return (payloads[0] * (found + found.conjugate())).shrink()
    exactly = (found + found - 1).polyval(exact)
    return ev.add_many([block for half in exactly for block in half]).sum()


def prepared(blocks: int) -> Callable[..., Any]:
    """`matched` for groups of so many blocks, as a graph where there are graphs."""
    if ctx.device == "cpu":
        return matched
    own = ctx.generate_secret_key()

    def of_zeros(shape: tuple[int, ...], level: int, **given: Any) -> hm.Ciphertext:
        return ev.bind(ctx.encrypt(ctx.encode(np.zeros(shape), level=level, **given), own))

    of_query, of_records = (
        of_zeros((*batch, work.degree), 0, encoding="coefficients", scale=scale)
        for batch, scale in (((), work.query_scale), ((1, blocks), work.record_scale))
    )
    scores = scores_of([of_query] * work.dims, [of_records] * work.dims)
    inputs = [scores] if work.count_only else [scores, of_zeros((4, 2, blocks, work.degree // 2), 1)]
    program = ev.capture(matched, *inputs)
    program(*inputs)
    return program


def results_of(query: list[hm.Ciphertext], files: list[hm.Ciphertext]) -> hm.Ciphertext:
    """Of a group's files."""
    shares, payloads = (files, []) if work.count_only else (files[:-1], files[-1:])
    return programs[len(files[0][0])](scores_of(query, shares), *payloads)


def counted(results: list[hm.Ciphertext]) -> list[hm.Ciphertext]:
    """Their sum, where only that is asked for."""
    return [ev.add_many(results).shrink()] if work.count_only else results


programs = {blocks: prepared(blocks) for blocks in {len(group) for group in work.groups}}
query = list(ev.bind(asked.result()))
ctx.synchronize()
computing = time.perf_counter()
results = []
for files in groups():
    results.append(results_of(query, files))
    ctx.synchronize()
results = counted(results)
ctx.synchronize()
end = time.perf_counter()
work.down.mkdir(parents=True, exist_ok=True)
for number, result in enumerate(results):
    result.save(work.down / f"results{number:04d}.bin")
steps = {
    "Encrypted computation": round(end - computing - waited, 5),
    "Waiting for files": round(waited, 5),
    "Total": round(time.perf_counter() - began, 3),
}
repeats = int(os.environ.get("HEMERA_REPEATS", "0"))
if repeats and len(work.groups) == 1:  # whose ciphertexts are still there
    again = []
    for _ in range(repeats):
        begin = time.perf_counter()
        counted([results_of(query, files)])
        ctx.synchronize()
        again.append(time.perf_counter() - begin)
    steps["Repeated computation"] = round(statistics.median(again), 5)
(work.io / "server_reported_steps.json").write_text(json.dumps(steps))
