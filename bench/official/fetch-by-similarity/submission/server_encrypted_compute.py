"""Stage 9: cosines of the query with all records, which of them match, and the payloads of these."""

import json
import os
import statistics
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

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
planned = readers.submit(work.bootstrap)  # and the constants of the program, while keys are read
indicator = readers.submit(lambda: hm.circuits.Polynomial(workload.indicator(), basis="chebyshev"))
ctx = hm.Context(work.parameters, work.device)
keys = readers.submit(ctx.load, work.keys / "keys.bin")
bootstrap = planned.result()
bootstrap.prepare(ctx)
threshold = indicator.result()
steeper = hm.circuits.Polynomial([0, 0, 3, -2])
ev = ctx.bind(keys.result())
query = list(ev.load(work.up / "query.bin"))
ctx.synchronize()
reading = 0.0


def read(group: range) -> list[Future[Any]]:
    """A group's files, columns first, in other threads."""
    names = [f"records{group.start:04d}-{share.start:03d}.bin" for share in work.shares]
    if not work.count_only:
        names.append(f"payloads{group.start:04d}.bin")
    return [readers.submit(ev.load, work.up / name) for name in names]


def groups() -> Iterator[list[hm.Ciphertext]]:
    """The groups' ciphertexts. Time that is spent on waiting for them is not that of computing."""
    global reading
    ahead = [read(group) for group in work.groups[:_AHEAD]]
    for place in range(len(work.groups)):
        start = time.perf_counter()
        found = [each.result() for each in ahead.pop(0)]
        reading += time.perf_counter() - start
        ahead += [read(group) for group in work.groups[place + _AHEAD : place + _AHEAD + 1]]
        yield found


def matched(files: list[Any]) -> list[hm.Ciphertext]:
    """Of a group: its payloads where records match, or the matches themselves, still apart."""
    shares = files if work.count_only else files[:-1]
    scores = ev.dot(query, [column for share in shares for column in share])
    matches = bootstrap(scores).polyval(threshold)
    if work.count_only:
        return [block for half in matches.polyval(steeper) for block in half]
    return [(files[-1] * matches).shrink()]


def counted(blocks: list[hm.Ciphertext]) -> list[hm.Ciphertext]:
    """Their sum, where only that is asked for."""
    return [ev.add_many(blocks).sum().shrink()] if work.count_only else blocks


computing = time.perf_counter()
results = []
for files in groups():
    results += matched(files)
    ctx.synchronize()
results = counted(results)
work.down.mkdir(parents=True, exist_ok=True)
ctx.synchronize()
end = time.perf_counter()
for number, result in enumerate(results):
    result.save(work.down / f"results{number:04d}.bin")
steps = {
    "Encrypted computation": round(end - computing - reading, 3),
    "Waiting for files": round(reading, 3),
    "Total": round(time.perf_counter() - began, 3),
}
repeats = int(os.environ.get("HEMERA_REPEATS", "0"))
if repeats and len(work.groups) == 1:  # whose ciphertexts are still there
    again = []
    for _ in range(repeats):
        begin = time.perf_counter()
        counted(matched(files))
        ctx.synchronize()
        again.append(time.perf_counter() - begin)
    steps["Repeated computation"] = round(statistics.median(again), 5)
(work.io / "server_reported_steps.json").write_text(json.dumps(steps))
