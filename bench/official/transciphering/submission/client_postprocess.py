"""Stage 12: the result, as the harness reads it."""

import numpy as np
import workload

work = workload.parse()
np.savetxt(work.io / "result.txt", np.load(work.secret / "result.npy").reshape(1), fmt="%u")
