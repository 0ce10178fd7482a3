"""Stage 5: the keys of AES' rounds, encrypted; each byte for all blocks of a ciphertext."""

import aes
import numpy as np
import workload

work = workload.parse()
client = work.client()
keys = np.load(work.secret / "round_keys.npy")[:, aes.IN_ROWS, None]
everywhere = np.repeat(keys, workload.width(client), axis=2)
client.encrypt(everywhere, levels=1).save(work.up / "round_keys.bin")
