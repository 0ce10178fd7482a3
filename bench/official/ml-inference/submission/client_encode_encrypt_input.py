"""Stage 6: the images, encrypted: one in a ciphertext, or 2,048 in 512 of them."""

import numpy as np
import workload

import hemera as hm

work = workload.Workload.parse()
interface = work.interface()
ctx = hm.Context(interface.params, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
(requests,) = interface.encode(np.load(work.images))
for number, request in enumerate(requests) if requests.ndim == 3 else [(0, requests)]:
    ctx.encrypt(request, secret_key).save(work.up / f"images{number:04d}.bin")
