"""A network of a convolution and two dense layers, with squares between, on an encrypted image of 28 x 28."""

from typing import Any

import numpy as np

import hemera.compat.tenseal as ts

rng = np.random.default_rng(4)
values = rng.uniform(0, 1, (28, 28))
kernels, biases = rng.normal(size=(4, 7, 7)) / 7, rng.normal(size=4) / 7
first, second = rng.normal(size=(256, 64)) / 16, rng.normal(size=(64, 10)) / 8
first_bias, second_bias = rng.normal(size=64) / 8, rng.normal(size=10) / 8
windows = np.lib.stride_tricks.sliding_window_view(values, (7, 7))[::3, ::3].reshape(64, 49)
channels = windows @ kernels.reshape(4, 49).T + biases
expected = ((channels.T.ravel() ** 2) @ first + first_bias) ** 2 @ second + second_bias
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [31, 26, 26, 26, 26, 26, 26, 31])
context.global_scale = 2**26
context.generate_galois_keys()


def run(image: Any) -> Any:
    """Encrypted, classified and decrypted."""
    x, count = ts.im2col_encoding(context, image.tolist(), 7, 7, 3)
    parts = [
        x.conv2d_im2col(kernel.tolist(), count) + bias for kernel, bias in zip(kernels, biases, strict=True)
    ]
    x = ts.CKKSVector.pack_vectors(parts)
    x.square_()
    x = x.mm(first.tolist()) + first_bias.tolist()
    x.square_()
    return np.array((x.mm(second.tolist()) + second_bias.tolist()).decrypt())


print(np.abs(run(values) - expected).max())
