"""Checksums by the library xxHash, whose header the core is built with."""

import ctypes
import ctypes.util
import functools

import pytest


@functools.cache
def _library():
    name = ctypes.util.find_library("xxhash")
    if name is None:
        pytest.skip("libxxhash, which makes checksums, is not installed: apt-get install libxxhash-dev")
    library = ctypes.CDLL(name)
    library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    return library


def checksum(data, seed=0):
    """XXH3-64."""
    return int(_library().XXH3_64bits_withSeed(data, len(data), seed % 2**64))
