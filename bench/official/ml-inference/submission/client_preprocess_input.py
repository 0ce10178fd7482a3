"""Stage 5: reads the pixels that the network takes."""

import numpy as np
import workload

work = workload.Workload.parse()
np.save(work.images, np.loadtxt(work.pixels, ndmin=2)[:, work.kept])
