"""Stage 3: the keys of AES' rounds, in the clear."""

import aes
import numpy as np
import workload

work = workload.parse()
for folder in (work.keys, work.secret, work.up, work.aes_down, work.down):
    folder.mkdir(parents=True, exist_ok=True)
key = np.frombuffer(work.hexadecimal("aes_key.hex"), np.uint8)
keys = aes.round_keys(key)
np.save(work.secret / "round_keys.npy", aes.inverse_keys(keys) if work.is_single_block else keys)
