"""Ring multiplication beyond the NTT: products of polynomials and of integers by other methods.

Three methods, each also as an engine of ciphertext products (`Context(..., multiplier="dgt")`):

- the discrete Galois transform (DGT): half the length, on Gaussian integers modulo a prime,
- Kronecker substitution: a polynomial as one integer, its value at a power of two,
- Schonhage-Strassen: products of such integers, over the DGT.

docs/multiplication.md explains them, with operation counts, bounds and measurements.

Examples:
    >>> import hemera as hm
    >>> hm.multiply.IntegerMultiplier().multiply(3**50000, -(7**40000)) == -(3**50000 * 7**40000)
    True
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core

__all__ = [
    "GaloisTransform",
    "IntegerMultiplier",
    "RingMultiplier",
    "engines",
    "inert_prime_below",
    "kronecker_exponent",
]


def engines() -> list[str]:
    """The names of the engines: "ntt", "dgt", "kronecker_ss", "schoolbook"."""
    return _core.engine_names()


def missing() -> list[str]:
    """Deprecated: the libraries that this build lacks; `hemera bench multiply` reports them."""
    warnings.warn(
        "hemera.multiply.missing is deprecated: `hemera bench multiply` reports a build without GMP",
        DeprecationWarning,
        stacklevel=2,
    )
    if _core.built_with_gmp():
        return []
    return [
        "GMP: integers as mpz_t in C++, and products to compare with. On Debian or Ubuntu: "
        "apt-get install libgmp-dev, then build Hemera again with HEMERA_GMP=ON"
    ]


def kronecker_exponent(largest_a: int, largest_b: int, terms: int, *, signed: bool = False) -> int:
    """The smallest exponent e for which packed products can be unpacked.

    Args:
        largest_a: a bound on the absolute values of the coefficients of one factor, below 2^64.
        largest_b: the same for the other factor.
        terms: the most products in a coefficient's sum: the smaller number of coefficients.
        signed: whether coefficients may be negative.

    Raises:
        ParameterError: if e would be above 192.

    Examples:
        >>> hm.multiply.kronecker_exponent(100, 100, 16)
        18
    """
    return _core.kronecker_exponent(largest_a, largest_b, terms, signed)


def inert_prime_below(bound: int, degree: int) -> int:
    """The largest prime below `bound` (at most 2^61) that is 3 modulo 4 and -1 modulo `degree`, as a
    `GaloisTransform` of that degree takes it.

    Raises:
        ParameterError: if there is none, or the degree is no power of two.
    """
    return _core.inert_prime_below(bound, degree)


class RingMultiplier:
    """Products in Z_q[X]/(X^N + 1) for RNS bases, by one of the engines. All give the same residues.

    Args:
        engine: one of `engines()`.
        threads: the number of threads; None: as many as the process may run on.

    Raises:
        ParameterError: if there is no such engine.
    """

    def __init__(self, engine: str = "dgt", *, threads: int | None = None) -> None:
        self._native = _core.RingMultiplier(engine, _threads(threads))

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self._native.name

    def multiply(self, a: ArrayLike, b: ArrayLike, moduli: Sequence[int]) -> NDArray[np.uint64]:
        """The products of polynomials modulo X^N + 1 and modulo each of the moduli.

        Args:
            a: residues in [0, q), of shape (..., limbs, N): coefficients, one row for each modulus; N a power
                of two from 2^10 to 2^17.
            b: residues in the same form; the leading axes are equal, or missing in one of the two.
            moduli: a modulus below 2^61 for each limb. "ntt" needs primes that are 1 modulo 2N; "dgt" needs
                such primes, or primes that are 3 modulo 4 and -1 modulo N; the other engines take any.

        Returns:
            An array of shape (..., limbs, N).

        Raises:
            MismatchError: if shapes do not fit.
            ParameterError: if a degree or a modulus is out of range, or a residue is not below its modulus.

        Examples:
            >>> a = np.zeros((1, 1024), np.uint64)
            >>> a[0, 1023] = 1  # X^1023
            >>> b = np.zeros((1, 1024), np.uint64)
            >>> b[0, 1] = 1  # X, so that the product is -1
            >>> int(hm.multiply.RingMultiplier("dgt").multiply(a, b, [12289])[0, 0])
            12288
        """
        left, right = _rows(a), _rows(b)
        of_a, of_b = np.shape(a)[:-2], np.shape(b)[:-2]
        leading = of_a or of_b
        if of_b not in ((), leading):
            raise _core.MismatchError(
                f"leading axes of {of_a} and {of_b}: they are equal, or missing in one of the two"
            )
        product = self._native.tensor_product(left, right, list(moduli))
        shaped: NDArray[np.uint64] = product.reshape(*leading, *product.shape[-2:])
        return shaped


class GaloisTransform:
    """Stand-alone negacyclic products modulo one prime p by a discrete Galois transform of length N/2.

    Args:
        degree: N, a power of two from 2 on.
        modulus: a prime p < 2^61 that is 1 modulo 2N (p splits in the Gaussian integers), or 3 modulo 4 and
            -1 modulo N (p is inert: the transform is over the field of p^2 elements).

    Raises:
        ParameterError: if the degree or the modulus is another one.
    """

    def __init__(self, degree: int, modulus: int) -> None:
        self._native = _core.GaloisTransform(degree, modulus)

    @property
    def form(self) -> str:
        """ "split" or "inert"."""
        return "split" if self._native.is_split else "inert"

    def multiply(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.uint64]:
        """The product modulo X^N + 1 and p of two rows of N coefficients in [0, p).

        Raises:
            MismatchError: if a row has not N coefficients.
            ParameterError: if a coefficient is not below p.
        """
        return self._native.multiply(_words(a), _words(b))


class IntegerMultiplier:
    """Integer products by Schonhage-Strassen over the DGT, and Kronecker substitution.

    Keeps tables of twiddle factors for later products.

    Args:
        threads: the number of threads; None: as many as the process may run on.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        self._native = _core.IntegerMultiplier(_threads(threads))

    def multiply(self, a: int, b: int) -> int:
        """a * b, of any size and sign.

        Raises:
            OutOfMemoryError: if the product has more than 2^38 bits, or needs more memory than there is.
        """
        product = _to_int(self._native.multiply(_magnitude(a), _magnitude(b)))
        return -product if (a < 0) != (b < 0) else product

    def multiply_words(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.uint64]:
        """The product of two natural numbers, as len(a) + len(b) words.

        Args:
            a: 64-bit words, the lowest first.
            b: 64-bit words, the lowest first.
        """
        return self._native.multiply(_words(a), _words(b))

    def pack(self, coefficients: ArrayLike, exponent: int, *, signed: bool = False) -> int:
        """The polynomial's value at 2^exponent: sum of coefficients[j] 2^(j exponent).

        Args:
            coefficients: a row of integers of at most 64 bits, below 2^exponent, or in
                [-2^(exponent-1), 2^(exponent-1)) if signed.
            exponent: from 1 to 192.
            signed: whether coefficients may be negative.

        Raises:
            ParameterError: if the exponent is out of range, or a coefficient does not fit it.
        """
        if not signed:
            return _to_int(self._native.pack(_words(coefficients), exponent))
        row = np.ascontiguousarray(coefficients)
        if row.dtype != np.int64:
            row = row.astype(np.int64, casting="safe")
        magnitude, negative = self._native.pack_signed(row, exponent)
        return -_to_int(magnitude) if negative else _to_int(magnitude)

    def unpack(self, integer: int, count: int, exponent: int, *, signed: bool = False) -> NDArray[Any]:
        """The coefficients of a polynomial from its value at 2^exponent.

        Returns:
            `count` coefficients: int64 or uint64 if they have at most 64 bits, Python integers otherwise.

        Raises:
            ParameterError: if the exponent is out of range, the integer has more coefficients, or it is
                negative and coefficients are unsigned.
        """
        if integer < 0 and not signed:
            raise _core.ParameterError("a negative integer has no unsigned coefficients; pass signed=True")
        words = self._native.unpack(_magnitude(integer), integer < 0, count, exponent, signed)
        if words.shape[1] == 1:
            return words[:, 0].view(np.int64) if signed else words[:, 0]
        data, width = words.tobytes(), 8 * words.shape[1]
        return np.array(
            [
                int.from_bytes(data[at : at + width], "little", signed=signed)
                for at in range(0, len(data), width)
            ],
            dtype=object,
        )


def _threads(threads: int | None) -> int:
    if threads is not None and threads < 1:
        raise _core.ParameterError(f"threads must be 1 or more, or None for all processors, not {threads}")
    return threads or 0


def _words(values: ArrayLike) -> NDArray[np.uint64]:
    """A row of 64-bit words. TypeError if the values are none."""
    row = np.ascontiguousarray(values)
    if row.dtype == np.uint64:
        return row
    if row.dtype.kind not in "iu" and row.size:
        raise TypeError(f"residues and words are unsigned 64-bit integers, not {row.dtype}")
    if row.size and row.min() < 0:
        raise _core.ParameterError("a residue is negative; reduce the values modulo q first")
    return row.astype(np.uint64)


def _rows(values: ArrayLike) -> NDArray[np.uint64]:
    """[batch, 1, limb, N]."""
    rows = _words(values)
    if rows.ndim < 2:
        raise _core.MismatchError(f"residues have the shape (..., limbs, N), not {rows.shape}")
    return rows.reshape(-1, 1, *rows.shape[-2:])


def _magnitude(value: int) -> NDArray[np.uint64]:
    magnitude = abs(value)
    size = (magnitude.bit_length() + 63) // 64
    return np.frombuffer(magnitude.to_bytes(8 * size, "little"), dtype="<u8").astype(np.uint64, copy=False)


def _to_int(words: NDArray[np.uint64]) -> int:
    return int.from_bytes(words.astype("<u8", copy=False).tobytes(), "little")
