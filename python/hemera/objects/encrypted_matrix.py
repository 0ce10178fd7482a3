"""`EncryptedMatrix`: a matrix whose rows are ciphertexts, with NumPy's operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.inputs.arguments import described, in_own_words, require_type
from hemera.inputs.operators import NotAnArray
from hemera.inputs.plain import Numbers, plain_array
from hemera.objects.ciphertext import Ciphertext

if TYPE_CHECKING:
    from hemera.objects.evaluator import Evaluator
    from hemera.objects.keys import SecretKey

Operand = Union["EncryptedMatrix", Numbers]

_TRANSPOSED = "its rows are ciphertexts, which no operation turns into columns; encrypt the transposed matrix"


@in_own_words
class EncryptedMatrix(NotAnArray):
    """An encrypted matrix, of shape (rows, columns). Each row lies in the slots of ciphertexts, as many as it
    needs: the batch of ciphertexts has shape (rows, ciphertexts of a row).

    `W @ X` with a plain matrix sums rows: it needs no key and no rotation, and is the fast one
    (`hemera.circuits.PlainMatrixProduct`). `X @ W` mixes the columns of each row by rotations. `+ - *` take
    other encrypted matrices, numbers, and arrays that broadcast, as in NumPy; functions of `hemera.circuits`
    are applied to each element.

    Examples:
        >>> ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, slots=4))
        >>> sk = ctx.generate_secret_key()
        >>> ev = ctx.bind(ctx.generate_keys(sk))
        >>> x = hm.EncryptedMatrix.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], ev)
        >>> y = np.array([[1.0, -1.0], [0.5, 0.25], [0.0, 2.0]]) @ x + 1
        >>> y.shape
        (3, 3)
        >>> y.decrypt(sk).round(2).tolist()
        [[-2.0, -2.0, -2.0], [2.5, 3.25, 4.0], [9.0, 11.0, 13.0]]
    """

    __slots__ = ("_columns", "ciphertexts")

    _instead: ClassVar[Mapping[str, str]] = {"transpose": _TRANSPOSED, "T": _TRANSPOSED}
    _otherwise = "it has + - * with numbers and arrays, and W @ x; for the rest decrypt it: x.decrypt(sk)"

    ciphertexts: Ciphertext
    """The batch, of shape (rows, ciphertexts of a row)."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ciphertexts: Ciphertext, columns: int) -> None:
        self.ciphertexts = ciphertexts
        self._columns = columns

    @classmethod
    def encrypt(
        cls, values: ArrayLike, evaluator: Evaluator, *, largest: float | None = None
    ) -> EncryptedMatrix:
        """A matrix encrypted with an evaluator's public key.

        Args:
            values: an array of shape (rows, columns).
            largest: CKKS: a bound on the magnitude of the values: see `Context.encode`.

        Raises:
            MismatchError: if the array has other axes, or no element.
            MissingKeyError: if the keys have no public key.
            ParameterError: if values are too large.
            TypeError: if values are no numbers of the scheme.
        """
        given = plain_array(values, "a matrix")
        if given.ndim != 2 or given.size == 0:
            raise _core.MismatchError(
                f"a matrix has two axes and an element, and this array has shape {given.shape}"
            )
        parts = _in_parts(given, evaluator.context.params.max_slots)
        return cls(evaluator.encrypt(parts, largest=largest), given.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.ciphertexts), self._columns

    @property
    def level(self) -> int:
        """The level of the ciphertexts."""
        return self.ciphertexts.level

    def __len__(self) -> int:
        return len(self.ciphertexts)

    def __repr__(self) -> str:
        return f"<EncryptedMatrix of shape {self.shape}, level {self.level}>"

    if not TYPE_CHECKING:  # to type checkers it would have all that arrays have

        def __getattr__(self, name: str) -> NoReturn:
            """Called for unknown names only."""
            reason = f": {self._instead[name]}" if name in self._instead else ""
            raise AttributeError(f"an EncryptedMatrix has no attribute {name!r}{reason}", name=name, obj=self)

    def __getitem__(self, rows: Any) -> EncryptedMatrix:
        """Some rows, by an index of NumPy for one axis; one row stays a matrix. IndexError if there is no
        such row."""
        if isinstance(rows, tuple):
            raise IndexError("x[rows] takes rows; the columns of a row can not be taken out singly")
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        return self._with(self.ciphertexts[chosen])

    def decrypt(self, secret_key: SecretKey, **options: Any) -> NDArray[Any]:
        """The matrix, of shape (rows, columns): see `Context.decrypt`, which has the options and the
        errors."""
        values = self.ciphertexts.context.decrypt(self.ciphertexts, secret_key, **options)
        return values.reshape(len(self), -1)[:, : self._columns]

    # --- Products. ---

    def __rmatmul__(self, matrix: ArrayLike) -> EncryptedMatrix:
        """A plain matrix of shape (any, rows) times this one: see `Evaluator.multiply_rows`."""
        return self._with(self.ciphertexts.evaluator.multiply_rows(matrix, self.ciphertexts))

    def __matmul__(self, matrix: Operand) -> EncryptedMatrix:
        """Each row times a plain matrix of shape (columns, any), by rotations (CKKS): see
        `Evaluator.matmul`."""
        if isinstance(matrix, EncryptedMatrix):
            raise TypeError(
                "both matrices are encrypted, and their rows are ciphertexts: hm.array(x) @ hm.array(y) "
                "takes the best way, hm.circuits.MatrixBatchProduct many pairs, and MatrixProduct one"
            )
        given = plain_array(matrix, "a matrix")
        if given.ndim != 2 or given.shape[0] != self._columns:
            raise _core.MismatchError(
                f"matrices of shapes {self.shape} and {given.shape} do not fit; the second one needs "
                f"{self._columns} rows"
            )
        slots = self.ciphertexts.context.params.max_slots
        if max(given.shape) > slots:
            raise _core.MismatchError(
                f"x @ W mixes columns within one ciphertext of {slots} slots, and the matrix has shape "
                f"{given.shape}; encrypt the transposed matrix, of which W.T @ x.T sums rows"
            )
        # One ciphertext a row: the row's own values, filled up to the slots with zeros.
        whole = np.zeros((self.ciphertexts.filled, given.shape[1]), given.dtype)
        whole[: self._columns] = given
        found = self.ciphertexts.evaluator.matmul(self.ciphertexts, whole)
        return EncryptedMatrix(found, given.shape[1])

    # --- Element by element. ---

    def __add__(self, other: Operand) -> EncryptedMatrix:
        return self._with(self.ciphertexts + self._operand(other))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> EncryptedMatrix:
        return self._with(self.ciphertexts - self._operand(other))

    def __rsub__(self, other: Operand) -> EncryptedMatrix:
        return self._with(self._operand(other) - self.ciphertexts)

    def __mul__(self, other: Operand) -> EncryptedMatrix:
        return self._with(self.ciphertexts * self._operand(other))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(self._refusal("equal"))

    def __neg__(self) -> EncryptedMatrix:
        return self._with(-self.ciphertexts)

    def _evaluated(self, circuit: Any, others: Sequence[Any], out: Any) -> EncryptedMatrix:
        """The method of values that circuits call (`hemera.circuits.handles.Value`): functions of each
        element, and products with plain matrices."""
        if out is not None:
            raise TypeError("an encrypted matrix takes no out=")
        parts = [require_type(x, EncryptedMatrix, "a circuit", "encrypted matrices") for x in others]
        return self._with(self.ciphertexts._evaluated(circuit, [x.ciphertexts for x in parts], None))

    def _with(self, ciphertexts: Ciphertext) -> EncryptedMatrix:
        """Other rows of as many columns."""
        return EncryptedMatrix(ciphertexts, self._columns)

    def _operand(self, other: Operand) -> Any:
        """An operand of this matrix's, for the operators of the ciphertexts."""
        if isinstance(other, EncryptedMatrix):
            if other.shape != self.shape:
                raise _core.MismatchError(
                    f"encrypted matrices of shapes {self.shape} and {other.shape} do not fit"
                )
            return other.ciphertexts
        if isinstance(other, Ciphertext):
            raise TypeError("an encrypted matrix goes with encrypted matrices, numbers and arrays")
        given = plain_array(other, "array operand")
        if given.ndim == 0:
            return other
        try:
            whole = np.broadcast_to(given, self.shape)
        except ValueError:
            raise _core.MismatchError(
                f"an encrypted matrix of shape {self.shape} and an array of shape {given.shape} do not "
                f"broadcast ({described(other)})"
            ) from None
        return _in_parts(whole, self.ciphertexts.context.params.max_slots)


def _in_parts(values: NDArray[Any], slots: int) -> NDArray[Any]:
    """Rows as (rows, ciphertexts of a row, values of one): the last one is filled up with zeros."""
    rows, columns = values.shape
    if columns <= slots:
        return values.reshape(rows, 1, columns)
    parts = -(-columns // slots)
    whole = np.zeros((rows, parts * slots), values.dtype)
    whole[:, :columns] = values
    return whole.reshape(rows, parts, slots)
