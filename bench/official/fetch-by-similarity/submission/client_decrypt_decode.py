"""Stage 10, the first half: decrypts."""

import numpy as np
import workload

import hemera as hm

work = workload.parse()
ctx = hm.Context(work.parameters, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
values = [ctx.decrypt(ctx.load(path), secret_key) for path in sorted(work.down.glob("results*.bin"))]
np.save(work.secret / "decrypted.npy", np.concatenate(values, axis=-2) if values[0].ndim > 1 else values[0])
