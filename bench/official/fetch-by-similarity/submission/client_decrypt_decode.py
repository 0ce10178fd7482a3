"""Stage 10, the first half: decrypts, and finds the payloads of matches, or their number."""

import numpy as np
import workload

import hemera as hm

work = workload.parse()
ctx = hm.Context(work.parameters, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
values = [ctx.decrypt(ctx.load(path), secret_key) for path in sorted(work.down.glob("results*.bin"))]
if work.count_only:
    found = np.array([round(float(values[0].flat[0].real))], np.int_)
else:
    found = np.concatenate([work.matches_of(each) for each in values])
found.tofile(work.matches)
