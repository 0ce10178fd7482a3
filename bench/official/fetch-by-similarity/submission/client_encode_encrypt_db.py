"""Stage 4: the records and their payloads, encrypted batch by batch."""

import numpy as np
import workload

import hemera as hm

work = workload.parse()
ctx = hm.Context(work.parameters, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
work.up.mkdir(parents=True, exist_ok=True)
rows = np.memmap(work.data / "db.bin", np.float32, "r").reshape(-1, work.dims)
payloads = np.memmap(work.data / "payloads.bin", np.int16, "r").reshape(-1, workload.PAYLOAD)
for batch in range(work.batches):
    columns = ctx.encode(work.batch_of(rows, batch))
    ctx.encrypt(columns, secret_key).save(work.up / f"records{batch:04d}.bin")
    if not work.count_only:  # the indicator comes out at level 1
        values = ctx.encode(work.payload_of(payloads, batch), level=1)
        ctx.encrypt(values, secret_key).save(work.up / f"payloads{batch:04d}.bin")
