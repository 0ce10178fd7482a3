"""Stage 9: cosines of the query with all records, which of them match, and the payloads of these."""

import json
import time
import warnings

import workload

import hemera as hm

began = time.perf_counter()
work = workload.parse()
# Constants of the program. Cosines are from -1 to 1: records and query have the norm 1.
warnings.simplefilter("ignore", hm.errors.RangeWarning)
indicator = hm.circuits.Polynomial(workload.indicator(), basis="chebyshev", interval=(-1, 1))
steeper = hm.circuits.Polynomial([0, 0, 3, -2])
ctx = hm.Context(work.parameters, work.device)
ev = ctx.bind(ctx.load(work.keys / "keys.bin"))
query = ev.load(work.up / "query.bin")
ctx.synchronize()
computing, reading = time.perf_counter(), 0.0


def read(name: str) -> hm.Ciphertext:
    """A file of the client's. Its time is not that of computing."""
    global reading
    ctx.synchronize()
    start = time.perf_counter()
    found = ev.load(work.up / name)
    ctx.synchronize()
    reading += time.perf_counter() - start
    return found


# All rotations of the query, once, by the keys of few of them.
rotated = {}
for baby, turned in zip(work.babies, query.rotate_many(work.babies), strict=True):
    for giant, further in zip(work.giants, turned.rotate_many(work.giants), strict=True):
        rotated[baby + giant] = further
rotations = [rotated[step] for step in range(work.dims)]

results = []
for batch in range(work.batches):
    scores = ev.dot(rotations, list(read(f"records{batch:04d}.bin")))
    matches = scores.polyval(indicator)
    if work.count_only:
        results.append(matches.polyval(steeper))
        continue
    results.append((read(f"payloads{batch:04d}.bin") * matches).shrink())
found = ev.add_many(results).sum().shrink() if work.count_only else hm.stack(results)
work.down.mkdir(parents=True, exist_ok=True)
ctx.synchronize()
end = time.perf_counter()
found.save(work.down / "results.bin")
steps = {
    "Encrypted computation": round(end - computing - reading, 3),
    "Total": round(time.perf_counter() - began, 3),
}
(work.io / "server_reported_steps.json").write_text(json.dumps(steps))
