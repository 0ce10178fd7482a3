"""Stage 5: reads the images [image, 3, rows, columns]."""

import math

import numpy as np
import workload

work = workload.Workload.parse()
pixels = np.loadtxt(work.pixels, ndmin=2)
side = math.isqrt(pixels.shape[1] // 3)
np.save(work.images, pixels.reshape(-1, 3, side, side))
