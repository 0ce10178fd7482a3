"""Stage 6: the images, encrypted: one in a ciphertext, or four."""

import numpy as np
import workload

work = workload.Workload.parse()
interface = work.interface()
ctx, secret_key = work.client(interface)
(level,) = interface.input_levels(ctx.params)
(requests,) = interface.encode(np.load(work.images))
for number, request in enumerate(requests):
    ctx.encrypt(ctx.encode(request, level=level), secret_key).save(work.up / f"images{number:04d}.bin")
