"""Logical arrays of any shape over slots: linear maps between them, programs on them, and their layouts."""

from hemera.arrays.array import Array
from hemera.arrays.convolution import average_pool, conv

__all__ = ["Array", "average_pool", "conv"]
