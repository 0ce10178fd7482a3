"""Stage 8: the query, again and again in all slots."""

import numpy as np
import workload

import hemera as hm

work = workload.parse()
ctx = hm.Context(work.parameters, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
query = np.fromfile(work.data / "query.bin", np.float32)
work.up.mkdir(parents=True, exist_ok=True)
slots = np.tile(query, work.slots // work.dims)
ctx.encrypt(ctx.encode(slots), secret_key).save(work.up / "query.bin")
