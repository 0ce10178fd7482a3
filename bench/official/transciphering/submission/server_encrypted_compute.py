"""Stage 8: the largest record, or the inner product of the records' halves modulo 2^16."""

import numpy as np
import workload

import hemera as hm

work = workload.parse()
server, steps = work.server()
with steps.of("Reading"):
    records = server.load(work.aes_down / "records.bin")


def maximum() -> hm.integers.Integers:
    return np.max(records)


def inner() -> hm.integers.Integers:
    first, second = workload.halves(records)
    return (first * second).sum()


found = steps.compute({"maximum": maximum, "inner": inner}[work.method])
with steps.of("Writing"):
    found.shrink().save(work.down / "result.bin")
work.report(steps, work.method, "aes")
