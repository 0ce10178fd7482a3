"""Stage 8: the query, each of its entries as a constant."""

import numpy as np
import workload

import hemera as hm

work = workload.parse()
ctx = hm.Context(work.parameters, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
query = np.fromfile(work.data / "query.bin", np.float32)
work.up.mkdir(parents=True, exist_ok=True)
entries = ctx.encode(
    query[:, None].astype(np.float64), encoding="coefficients", level=0, scale=work.query_scale
)
ctx.encrypt(entries, secret_key).save(work.up / "query.bin")
