"""Stage 10, the first half: decrypts."""

import numpy as np
import workload

import hemera as hm

work = workload.parse()
ctx = hm.Context(work.parameters, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
values = ctx.decrypt(ctx.load(work.down / "results.bin"), secret_key)
np.save(work.secret / "decrypted.npy", values)
