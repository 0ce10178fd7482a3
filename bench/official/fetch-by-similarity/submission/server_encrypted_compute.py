"""Stage 9: cosines of the query with all records, which of them match, and the payloads of these.

Before the query counts, a server has its keys, and has run its program once: here on zeros, which it encrypts
under a key of its own, while other threads read the files. The device then has its memory, and a GPU its
kernels, and the program as a graph.
"""

import json
import os
import statistics
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import workload
from numpy.typing import NDArray

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


def columns_of(file: Path) -> list[hm.Ciphertext]:
    """The ciphertexts of a file, each by itself."""
    columns = list(ctx.load(file))
    ctx.synchronize()
    return columns


def read(group: range) -> list[Future[Any]]:
    """A group's files, columns first, in other threads."""
    names = [f"records{group.start:04d}-{share.start:03d}.bin" for share in work.shares]
    files = [readers.submit(columns_of, work.up / name) for name in names]
    if not work.count_only:
        files.append(readers.submit(ctx.load, work.up / f"payloads{group.start:04d}.bin"))
    return files


ahead = [read(group) for group in work.groups[:_AHEAD]]
bootstrap = planned.result()
bootstrap.prepare(ctx)
exact = hm.circuits.Polynomial(workload.exact(), basis="chebyshev") if work.count_only else None
shift = ctx.encode(
    np.full(work.degree, workload.shift), encoding="coefficients", level=0, scale=work.score_scale
)
ev = ctx.bind(keys.result())
ready = time.perf_counter()
waited = 0.0


def groups() -> Iterator[tuple[list[hm.Ciphertext], list[hm.Ciphertext]]]:
    """The groups' columns, and what goes with them: payloads. Time that is spent on waiting for them is not
    that of computing."""
    global waited
    for place in range(len(work.groups)):
        start = time.perf_counter()
        found = [each.result() for each in ahead.pop(0)]
        shares, others = found[: len(work.shares)], found[len(work.shares) :]
        columns = [ev.bind(column) for share in shares for column in share]
        payloads = [ev.bind(each) for each in others]
        waited += time.perf_counter() - start
        ahead.extend(read(group) for group in work.groups[place + _AHEAD : place + _AHEAD + 1])
        yield columns, payloads


def matched(scores: hm.Ciphertext, *payloads: hm.Ciphertext) -> hm.Ciphertext:
    """A group's payloads where records match, or the number of these."""
    found = workload.indicator(bootstrap(scores + shift)).rescale()
    if exact is None:
        return (payloads[0] * (found + found.conjugate())).shrink()
    exactly = (found + found - 1).polyval(exact)
    return ev.add_many([block for half in exactly for block in half]).sum()


def prepared(blocks: int) -> hm.Graph:
    """`matched` for groups of `blocks` blocks, which has run once."""
    own = ctx.generate_secret_key()

    def of_zeros(zeros: NDArray[Any], level: int, **given: Any) -> hm.Ciphertext:
        return ev.bind(ctx.encrypt(ctx.encode(zeros, level=level, **given), own))

    of_query, of_records = (
        of_zeros(np.zeros((*batch, work.degree)), 0, encoding="coefficients", scale=scale)
        for batch, scale in (((), work.query_scale), ((blocks,), work.record_scale))
    )
    inputs = [ev.dot([of_query] * work.dims, [of_records] * work.dims)]
    if not work.count_only:
        inputs.append(of_zeros(np.zeros((4, 2, blocks, work.degree // 2), np.complex128), 1))
    program = ev.capture(matched, *inputs)
    if program.is_recorded:  # or else it has run
        program(*inputs)
    return program


def counted(results: list[hm.Ciphertext]) -> list[hm.Ciphertext]:
    """Their sum, where only that is asked for."""
    return [ev.add_many(results).shrink()] if work.count_only else results


programs = {blocks: prepared(blocks) for blocks in {len(group) for group in work.groups}}
ctx.synchronize()
prepared_at = time.perf_counter()
query = list(ev.bind(asked.result()))
ctx.synchronize()
computing = time.perf_counter()
results = []
for columns, payloads in groups():
    results.append(programs[len(columns[0])](ev.dot(query, columns), *payloads))
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
    "Keys and constants": round(ready - began, 3),
    "A run of zeros": round(prepared_at - ready, 3),
    "Total": round(time.perf_counter() - began, 3),
}
repeats = int(os.environ.get("HEMERA_REPEATS", "0"))
if repeats and len(work.groups) == 1:  # whose ciphertexts are still there
    again = []
    for _ in range(repeats):
        begin = time.perf_counter()
        counted([programs[len(columns[0])](ev.dot(query, columns), *payloads)])
        ctx.synchronize()
        again.append(time.perf_counter() - begin)
    steps["Repeated computation"] = round(statistics.median(again), 5)
(work.io / "server_reported_steps.json").write_text(json.dumps(steps))
