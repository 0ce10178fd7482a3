"""Encodings of matrices for products of an encrypted matrix with a plain vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compat.tenseal.context import Context
from hemera.compat.tenseal.plain_tensor import as_array
from hemera.compat.tenseal.vectors import CKKSVector
from hemera.errors import ParameterError
from hemera.inputs.encoding import power_of_two


def im2col_encoding(
    context: Context, tensor: Any, kernel_n_rows: int, kernel_n_cols: int, stride: int
) -> tuple[CKKSVector, int]:
    """Encrypt an image for `CKKSVector.conv2d_im2col`: the windows that a kernel sees, as a matrix's rows.

    Args:
        context: of SCHEME_TYPE.CKKS.
        tensor: the image, a matrix.
        kernel_n_rows: the rows of the kernel.
        kernel_n_cols: its columns.
        stride: the distance of windows along both axes.

    Returns:
        The vector, and the number of windows.

    Raises:
        ParameterError: (a ValueError) if the image is no matrix, or smaller than the kernel.
    """
    image = _matrix(tensor)
    if not (0 < kernel_n_rows <= len(image) and 0 < kernel_n_cols <= image.shape[1] and stride > 0):
        raise ParameterError(
            f"an image of shape {image.shape} has no windows of {kernel_n_rows} x {kernel_n_cols}, {stride} "
            "apart"
        )
    windows = np.lib.stride_tricks.sliding_window_view(image, (kernel_n_rows, kernel_n_cols))
    rows = windows[::stride, ::stride].reshape(-1, kernel_n_rows * kernel_n_cols)
    return enc_matmul_encoding(context, rows), len(rows)


def enc_matmul_encoding(context: Context, tensor: Any) -> CKKSVector:
    """Encrypt a matrix for `CKKSVector.enc_matmul_plain`: column after column, and columns of zeros up to a
    power of two. ParameterError (a ValueError) if it is no matrix."""
    if not isinstance(context, Context):
        raise TypeError("context must be of type tenseal.Context")
    matrix = _matrix(tensor)
    padded = np.zeros((len(matrix), power_of_two(matrix.shape[1])))
    padded[:, : matrix.shape[1]] = matrix
    return CKKSVector(context, padded.T.ravel())


def _matrix(tensor: Any) -> NDArray[Any]:
    matrix = as_array(tensor, "float")
    if matrix.ndim != 2 or matrix.size == 0:
        raise ParameterError(f"tensor must be a matrix, and has shape {matrix.shape}")
    return matrix
