"""Stage 4: the records and their payloads, encrypted share by share, by all threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import workload

import hemera as hm

work = workload.parse()
# Each share is one thread's work.
ctx = hm.Context(work.parameters, "cpu", threads=1)
secret_key = ctx.load(work.secret / "secret_key.bin")
work.up.mkdir(parents=True, exist_ok=True)
rows = np.memmap(work.data / "db.bin", np.float32, "r").reshape(-1, work.dims)
payloads = np.memmap(work.data / "payloads.bin", np.int16, "r").reshape(-1, workload.PAYLOAD)


def records(group: range, share: range) -> None:
    """One file of columns."""
    columns = ctx.encode(
        work.columns_of(rows, group, share), encoding="coefficients", level=0, scale=work.record_scale
    )
    ctx.encrypt(columns, secret_key).save(work.up / f"records{group.start:04d}-{share.start:03d}.bin")


def payload(group: range) -> None:
    """One file of payloads; the indicator comes out at level 1."""
    values = ctx.encode(work.payload_of(payloads, group), level=1)
    ctx.encrypt(values, secret_key).save(work.up / f"payloads{group.start:04d}.bin")


with ThreadPoolExecutor(workload.threads()) as pool:
    tasks = [] if work.count_only else [pool.submit(payload, group) for group in work.groups]
    tasks += [pool.submit(records, group, share) for group in work.groups for share in work.shares]
    for task in tasks:
        task.result()
