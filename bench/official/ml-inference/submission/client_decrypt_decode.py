"""Stage 8: decrypts the scores [image, digit]."""

import numpy as np
import workload

import hemera as hm

work = workload.Workload.parse()
interface = work.interface()
ctx = hm.Context(interface.params, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
count = len(np.load(work.images, mmap_mode="r"))
paths = sorted(work.down.glob("scores*.bin"))
values = [ctx.decrypt(ctx.load(path), secret_key) for path in paths]
np.save(work.scores, interface.decode([np.stack(values)], count).reshape(count, -1))
