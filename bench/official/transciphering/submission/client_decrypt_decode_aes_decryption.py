"""Stage 9: decrypts the records."""

import numpy as np
import workload

work = workload.parse()
client = work.client()
np.save(work.secret / "records.npy", client.decrypt(client.load(work.aes_down / "records.bin")))
