"""Stage 11: decrypts the result."""

import numpy as np
import workload

work = workload.parse()
client = work.client()
np.save(work.secret / "result.npy", client.decrypt(client.load(work.down / "result.bin")))
