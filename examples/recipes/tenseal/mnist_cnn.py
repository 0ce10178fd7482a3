"""A convolution, two dense layers and squares between, on an encrypted image of 28 x 28, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

from hemera.arrays import conv

rng = np.random.default_rng(4)
kernels = rng.normal(size=(4, 1, 7, 7)) / 7
first, second = rng.normal(size=(256, 64)) / 16, rng.normal(size=(64, 10)) / 8
values = rng.uniform(0, 1, (20, 1, 28, 28))[0]
expected = ((conv(values, kernels, stride=3) ** 2).reshape(256) @ first) ** 2 @ second
bits = [31, 26, 26, 26, 26, 26, 26, 31]
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, bits, symmetric, 2)
context.global_scale = 2**26
context.generate_galois_keys()


def run(image: Any) -> Any:
    """Encrypted, computed and decrypted."""
    x, windows = ts.im2col_encoding(context, image[0].tolist(), 7, 7, 3)
    channels = [x.conv2d_im2col(kernel[0].tolist(), windows) for kernel in kernels]
    x = ts.CKKSVector.pack_vectors(channels)
    x.square_()
    x = x.mm(first.tolist())
    x.square_()
    return np.array(x.mm(second.tolist()).decrypt())


print(np.abs(run(values) - expected).max())
