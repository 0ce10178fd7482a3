"""FLINT's integer product, for comparison, if the system has FLINT (Debian: libflint17)."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np
from numpy.typing import NDArray


class FlintProduct:
    """fmpz_mul of two natural numbers given as 64-bit words; a call multiplies."""

    @classmethod
    def make(cls, a: NDArray[np.uint64], b: NDArray[np.uint64]) -> FlintProduct | None:
        """The product by FLINT; None if there is no FLINT of version 2.6 to 2.9 or newer."""
        name = ctypes.util.find_library("flint")
        if name is None:
            return None
        library = ctypes.CDLL(name)
        if not hasattr(library, "fmpz_set_ui_array") or not hasattr(library, "fmpz_get_ui_array"):
            return None
        return cls(library, a, b)

    def __init__(self, library: ctypes.CDLL, a: NDArray[np.uint64], b: NDArray[np.uint64]) -> None:
        self._library = library
        self._words = a.size + b.size
        # An fmpz_t is an array of one signed word.
        self._a, self._b, self._product = ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0)
        for integer, words in ((self._a, a), (self._b, b)):
            library.fmpz_set_ui_array(
                ctypes.byref(integer), words.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(words.size)
            )

    def __call__(self) -> None:
        self._library.fmpz_mul(ctypes.byref(self._product), ctypes.byref(self._a), ctypes.byref(self._b))

    def words(self) -> NDArray[np.uint64]:
        """The product as words, the lowest first."""
        self()
        out = np.empty(self._words, dtype=np.uint64)
        self._library.fmpz_get_ui_array(
            out.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(out.size), ctypes.byref(self._product)
        )
        return out

    def __del__(self) -> None:
        for integer in (self._a, self._b, self._product):
            self._library.fmpz_clear(ctypes.byref(integer))
