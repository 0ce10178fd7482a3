"""The context of encrypted integers: parameters, the plan of refreshes and keys."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hemera import _core
from hemera._process import cached_property
from hemera.ckks import Parameters
from hemera.inputs.arguments import as_integer, described
from hemera.inputs.fields import as_base64
from hemera.inputs.source import Source, read_bytes
from hemera.integers import conversion, files, operations
from hemera.integers.array import Booleans, Integers
from hemera.integers.bounded import Bounded, Risk, finished_level
from hemera.integers.encrypted import Encrypted, held_by
from hemera.integers.engine import Engine, Work
from hemera.integers.graph import Function, Graph
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.margins import fresh_error
from hemera.integers.needs import Needs, asked, needs, require_room
from hemera.integers.points import Points
from hemera.integers.refreshes import deviations, refreshes
from hemera.integers.report import report
from hemera.integers.types import WIDTHS, as_words, digits_of, from_words, integer_type, plain_values
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context as CkksContext
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys, SecretKey

KeyT = TypeVar("KeyT", Keys, SecretKey)


class Context:
    """Encrypted integers: arrays of uint8 to uint64 and int8 to int64, which wrap around as NumPy's.

        ints = hm.integers.Context(bits=64)
        a, b = ints.encrypt(np.arange(5, dtype=np.uint64)), ints.encrypt(np.full(5, 3, np.uint64))
        ints.decrypt((a + b) * a - 7)
        np.where(a < b, a, b)

    A context makes a secret key, and with the first operation the keys: of n16-exact 8.1 GB, and 16 GB and a
    minute of two cores to make them (`needs()`). A server has the same without the secret key:
    `Context(bits=64, keys=client.keys)`. Both are saved, and loaded from their files:

        client.save_keys("keys.hemera"), client.secret_key.save("secret.hemera")
        server = hm.integers.Context(bits=64, keys="keys.hemera")
        client = hm.integers.Context(bits=64, keys="keys.hemera", secret_key="secret.hemera")

    Args:
        bits: of the widest type: 8, 16, 32 or 64. The fewer, the more values a ciphertext holds.
        values: that a ciphertext holds, a power of two; None: as many as fit. A server's context takes the
            same number as its client's.
        preset: of `hemera.ckks.Parameters.for_bootstrapping`: "n16-exact"; "n16-exact-few", whose refreshes
            are by roots of unity and take less time and fewer bytes of keys, for up to 32 values of 64 bits
            or 256 of 8 (docs/security.md has the judgement in their security); or "test-exact" and
            "test-exact-few", which are not secure. None: that of the keys, else "n16-exact".
        device, memory_limit: those of `hemera.Context`; keys that are no files stay where they are.
        keys: of another context, or their bytes or file. Without a secret key the context may decrypt
            nothing.
        secret_key: of another context, or its bytes or file. Without keys, they are made at their first use.

    Raises:
        ParameterError: if there are no integers of this width, or the preset gives no exponentials.
        MismatchError: if keys have other parameters than the preset, or belong to two contexts.
        FormatError, FileError: if files are damaged, or can not be read.
    """

    def __init__(
        self,
        bits: int = 64,
        *,
        values: int | None = None,
        preset: str | None = None,
        device: str = "auto",
        memory_limit: int | None = None,
        keys: Keys | Source | None = None,
        secret_key: SecretKey | Source | None = None,
    ) -> None:
        if bits not in WIDTHS:
            raise _core.ParameterError(f"integers of {bits!r} bits; there are those of 8, 16, 32 and 64")
        given = [key for key in (keys, secret_key) if isinstance(key, (Keys, SecretKey))]
        if given:
            self._ckks = given[0].context
            if preset is not None and Parameters.for_bootstrapping(preset) != self._ckks.params:
                raise _core.MismatchError(f'the keys have other parameters than the preset "{preset}"')
        else:
            self._ckks = CkksContext(
                Parameters.for_bootstrapping(preset or "n16-exact"), device, memory_limit=memory_limit
            )
        params = self._ckks.params
        if not isinstance(params, Parameters):
            raise _core.MismatchError(f"integers stand in ciphertexts of CKKS, and the keys are of {params}")
        self._bits, self._params = bits, params
        values = None if values is None else as_integer(values, "Context", "values")
        with ThreadPoolExecutor(4) as threads:  # a server reads GB, while its refreshes are made ready
            reading = threads.submit(self._key_of, "keys", keys, Keys)
            self._layout, self._whole, self._real = refreshes(params, values, bits // DIGIT_BITS)
            self._points = Points(params, self._layout)
            if not (keys is None or isinstance(keys, Keys)) and secret_key is None:
                preparing = threads.map(lambda plan: plan.prepare(self._ckks), {self._whole, self._real})
                deviations(self._whole)
                list(preparing)
            self._given = reading.result()
        self._of_thread = threading.local()
        self._secret = self._key_of("secret_key", secret_key, SecretKey)
        if keys is None and secret_key is None:
            self._secret = self._ckks.generate_secret_key()

    def _key_of(self, name: str, key: KeyT | Source | None, kind: type[KeyT]) -> KeyT | None:
        """The key of an argument, loaded if it is a file."""
        if key is None:
            return None
        found = key if isinstance(key, (Keys, SecretKey)) else self._ckks.load(key)
        if not isinstance(found, kind):
            raise _core.MismatchError(f"{name}= takes {kind.__name__}, and this is a {type(found).__name__}")
        if found.context is not self._ckks:
            raise _core.MismatchError(
                f"{name}: keys= and secret_key= belong to two contexts; load one's bytes"
            )
        return found

    # --- Keys. ---

    @cached_property
    def keys(self) -> Keys:
        """The keys that a server computes with; made at their first use.

        Raises:
            OutOfMemoryError: if the device has less memory than they need (`needs()`), before any is taken.
        """
        if self._given is not None:
            return self._given
        assert self._secret is not None
        require_room(self._ckks, self._secret, self._layout)
        return self._ckks.generate_keys(self._secret, **self._asked_keys)

    @property
    def _asked_keys(self) -> dict[str, Any]:
        return asked(self._layout, self._points, self._whole, self._real)

    def save_keys(self, path: str | os.PathLike[str]) -> None:
        """Write the keys that a server computes with to a file. Keys that were not made yet are written while
        they are made, one at a time, and are not kept: a client that computes nothing has no room for all.

        Raises:
            FileError: if the file can not be written. An older file of that name is then untouched.
        """
        if self._given is not None or "keys" in self.__dict__:
            self.keys.save(path)
        else:
            assert self._secret is not None
            self._ckks.save_keys(path, self._secret, **self._asked_keys)

    def needs(self) -> Needs:
        """The memory and the time that keys take, before they are made: the first operation makes them.
        Memory is counted, in some seconds; the time is that of a key, times their number.

            print(hm.integers.Context(64).needs())
            # keys of 8.1 GB, 14.9 GB while they are made, in about 54 s

        A context whose keys were given makes none.
        """
        if self._given is not None:
            return Needs(self._given.memory_bytes, self._given.memory_bytes, 0.0)
        assert self._secret is not None
        return needs(self._ckks, self._secret, self._layout)

    @property
    def secret_key(self) -> SecretKey:
        """The key that decrypts: save it where nobody else reads it.

        Raises:
            TypeError: if the context has none.
        """
        if self._secret is None:
            raise TypeError("this context has the keys of a server; the client's has the secret key")
        return self._secret

    @cached_property
    def _engine(self) -> Engine:
        evaluator = self._ckks.bind(self.keys)
        return Engine(evaluator, self._layout, self._whole, self._real, self._points)

    def _levels_of(self, held: Bounded) -> int:
        """The levels that are left, after the rescale that a product waits for."""
        return finished_level(held.value) - self._whole.input_level

    def _with_levels(self, held: Bounded, levels: int) -> Bounded:
        """The same with `levels` levels, if it has more."""
        left = min(self._levels_of(held), self._as_levels(levels, "shrink"))
        return replace(held, value=held.value.at_level(self._whole.input_level + left))

    def _bound(self, held: Bounded) -> Bounded:
        """The same with the keys for its operations."""
        evaluator = self._engine.evaluator
        return held if held.value.evaluator is evaluator else replace(held, value=evaluator.bind(held.value))

    # --- Facts. ---

    @property
    def bits(self) -> int:
        """The bits of the widest type."""
        return self._bits

    @property
    def params(self) -> Parameters:
        """The parameters of the ciphertexts."""
        return self._params

    @property
    def values(self) -> int:
        """The number of integers in a ciphertext; a refresh takes two ciphertexts at once."""
        return self._layout.values

    @property
    def levels(self) -> int:
        """The levels of values that were encrypted or refreshed just now, at most."""
        return self._whole.levels_left

    @property
    def product_levels(self) -> int:
        """The levels of operands of a product, of any type, that need no refresh before it."""
        return operations.product_levels(self._layout.digits)

    @property
    def maps(self) -> dict[str, Any]:
        """All that clients without this package need to encrypt and decrypt (docs/javascript.md), as JSON
        takes it: the parameters' file in base64, and numbers of ciphertexts. `level` has no levels left."""
        return {
            "parameters": as_base64(self._params),
            "bits": self._bits,
            "slots": self._layout.slots,
            "level": self._whole.input_level,
            "levels": self.levels,
            "product_levels": self.product_levels,
            "error": fresh_error(self._params, self._whole.result_scale),
        }

    @property
    def work(self) -> Work:
        """The work so far: refreshes and tables."""
        return self._engine.work

    def report(self, device: str | None = None) -> str:
        """Values of a ciphertext, and of each operation its refreshes and its probability of failure. The
        operations are counted, which takes some seconds.

        Args:
            device: the name of a table of measured times, as that of `hemera.cost`: also about the time of
                each operation there.

        Raises:
            DeviceError: if there is no such table.
        """
        return report(self._params, self._layout, self._whole, self._real, device)

    # --- Values. ---

    @overload
    def encrypt(self, values: NDArray[np.bool_], *, levels: int | None = None) -> Booleans: ...
    @overload
    def encrypt(self, values: ArrayLike, *, levels: int | None = None) -> Integers: ...
    def encrypt(self, values: ArrayLike, *, levels: int | None = None) -> Integers | Booleans:
        """Encrypt integers of NumPy's types, or booleans: with the secret key, if the context has it, and
        then a file of them takes half the bytes; else with the public key.

        Args:
            values: an array of uint8 to uint64 or int8 to int64, up to the context's bits, or of booleans.
                Python's integers, in lists too, are of NumPy's default type, int64, or of the widest signed
                one of a context of fewer bits.
            levels: what they have left, from 0 to `levels` (None). The fewer, the fewer bytes are to be sent:
                `product_levels` are enough for operands of a product; sums and comparisons need none.

        Raises:
            TypeError: if they are of another type.
            OverflowError: if Python's integers are out of their type's range.
            LevelError: if there are fewer levels.
        """
        left = self.levels if levels is None else self._as_levels(levels, "encrypt")
        plain = plain_values("encrypt", values, self._bits)
        shape, given = plain.shape, np.ascontiguousarray(plain)
        is_boolean = given.dtype.kind == "b"
        dtype = given.dtype if is_boolean else integer_type(given.dtype, self._bits)
        constants = getattr(self._of_thread, "constants", None)
        place = None if constants is None else (given.tobytes(), shape, dtype, left)
        if constants is not None and place in constants:
            value = constants[place]
        else:
            if is_boolean:
                digits = self._layout.from_truths(given)
            else:
                digits = self._layout.from_integers(as_words(given), digits_of(dtype))
            encoded = self._ckks.encode(digits, level=self._whole.input_level + left)
            value = self._ckks.encrypt(encoded, self.keys if self._secret is None else self._secret)
        if constants is not None:
            constants[place] = value
        return self._array(value, shape, dtype, Risk.encrypted(None if place is None else hash(place)))

    def _array(
        self,
        value: Ciphertext,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        risk: Risk,
        error: float | None = None,
    ) -> Integers | Booleans:
        """The array of digits or bits with this error; None: that of an encryption."""
        error = fresh_error(self._params, self._whole.result_scale) if error is None else error
        if np.dtype(dtype).kind == "b":
            return Booleans(self, Bounded(value, 1, error, risk), shape, np.dtype(dtype))
        return Integers(self, Bounded(value, BASE - 1, error, risk), shape, integer_type(dtype, self._bits))

    def _as_levels(self, levels: int, what: str) -> int:
        found = as_integer(levels, what, "levels")
        if not 0 <= found <= self.levels:
            raise _core.LevelError(f"{what}: levels={found}; values have from 0 to {self.levels}")
        return found

    @overload
    def decrypt(self, x: Integers) -> NDArray[Any]: ...
    @overload
    def decrypt(self, x: Booleans) -> NDArray[np.bool_]: ...
    def decrypt(self, x: Encrypted) -> NDArray[Any]:
        """The values. Digits are rounded here, so that nothing of the noise leaves.

        Raises:
            TypeError: if the context has no secret key.
            MismatchError: if the values are of a context of other bits, or values in a ciphertext.
            NoiseError: if a digit is no digit: the keys are others, or the ciphertext is damaged.
        """
        if not isinstance(x, Encrypted):
            raise TypeError(f"decrypt: takes encrypted integers or booleans, not {described(x)}")
        value = x._stored.value
        if (x.context.bits, value.slots) != (self._bits, self._layout.slots):
            raise _core.MismatchError(f"decrypt: the values are of {x.context}, and this one has {self}")
        slots: NDArray[Any] = self._ckks.decrypt(value, self.secret_key, dtype=float)
        digits = np.rint(slots).astype(np.int64)
        is_boolean = isinstance(x, Booleans)
        if digits.min() < 0 or digits.max() > (1 if is_boolean else 15):
            raise _core.NoiseError(
                "decrypt: there are no digits; the values were made with other keys, or damaged"
            )
        words = self._layout.to_integers(digits, x.size, 1 if is_boolean else digits_of(x.dtype))
        found: NDArray[Any] = from_words(words, x.dtype).reshape(x.shape)
        return found

    # --- Digits of packaged functions. ---

    def of_digits(self, x: Ciphertext, dtype: DTypeLike, shape: tuple[int, ...]) -> Integers | Booleans:
        """The array of digits that a client encrypted, of shape (vectors,), bound to these keys."""
        return self._array(self._engine.evaluator.bind(x), shape, dtype, Risk.encrypted())

    def digits_of(self, x: Integers | Booleans) -> Ciphertext:
        """The digits of an array, without levels: of shape (vectors,)."""
        return held_by(x.shrink()).value

    # --- Graphs. ---

    def capture(self, function: Function, *examples: Encrypted) -> Graph:
        """Capture a function of encrypted arrays as a graph, which runs many times at little cost for the
        host: as `hemera.Evaluator.capture` does. The function is called twice on a GPU. On the CPU, which has
        no graphs, it is called once now and at each call of the graph.

        Clear operands of the function, and arrays that it encrypts, are constants of the graph.

        Args:
            function: takes as many arrays as there are examples; returns one, or a sequence of them.
            examples: inputs with the type, shape and levels of the later inputs, and at least their error.

        Returns:
            A `Graph` g: `g(*inputs)` has the values, and the failure, of `function(*inputs)`.

        Raises:
            DeviceError: if the function draws other randomness, or copies from or to the host.
            TypeError: if an example or a result is no encrypted array.
            MismatchError: if an example belongs to another context.
        """
        return Graph(self, function, examples)

    @contextmanager
    def _keeping(self, constants: MutableMapping[object, Ciphertext]) -> Iterator[None]:
        """Within it this thread encrypts the same values once."""
        outer = getattr(self._of_thread, "constants", None)
        self._of_thread.constants = constants
        try:
            yield
        finally:
            self._of_thread.constants = outer

    # --- Numbers of CKKS. ---

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator of CKKS with the context's keys: it encrypts numbers, and computes with those of
        `Integers.to_ckks`."""
        return self._engine.evaluator

    def from_ckks(self, y: Ciphertext, dtype: DTypeLike, *, error: float) -> Integers:
        """Integers of numbers of CKKS that are whole but for an error. Numbers beyond the type's range, by
        less than 2^bits, wrap around. Takes a refresh for each eight bits.

        Args:
            y: real numbers, of shape (...), in at most `values` slots each, as `evaluator.encrypt` and
                `Integers.to_ckks` give them.
            dtype: an integer type of 8 or 16 bits. Wider numbers would lose their last bits in a bootstrap.
            error: a bound on the deviation of the numbers from whole ones, for which whoever computed them
                answers.

        Returns:
            An array of shape (..., filled slots).

        Raises:
            NoiseError: if a number could be misread with a probability above 2^-128.
            LevelError: if there are too few levels.
            MismatchError: if the numbers are of another context, or have more slots.
            TypeError: if the type is another one, or wider.
        """
        found = integer_type(dtype, self._bits)
        if digits_of(found) > conversion.MOST_DIGITS:
            raise TypeError(
                f"from_ckks: integers of 8 and 16 bits, not {found}: numbers of CKKS have too large an error "
                "for more; astype widens them"
            )
        conversion.require_numbers(y, self._ckks, self.values, error)
        flat = y.reshape(-1)
        held = conversion.from_numbers(self._engine, flat, digits_of(found), error)
        whole = Integers(self, held, (*flat.shape, self.values), found)
        return whole[:, : y.filled].reshape(*y.shape, y.filled)

    # --- Files. ---

    def load(self, source: Source) -> Any:
        """Encrypted integers or booleans of their bytes or file, as `x.save` writes them, in any context of
        the same bits and parameters. Who only decrypts them needs no keys but the secret one.

        Raises:
            FormatError: if the bytes are damaged, or no file of encrypted integers.
            MismatchError: if they belong to other bits, values in a ciphertext or parameters.
            FileError: if the file can not be read.
        """
        header, ciphertext = files.read(read_bytes(source))
        if header.bits != self._bits:
            raise _core.MismatchError(
                f"load: the values are of a context of {header.bits} bits, and this one has {self._bits}"
            )
        value = self._ckks.load(ciphertext)
        if not isinstance(value, Ciphertext):
            raise _core.MismatchError(
                f"load: a ciphertext is in the file, and this is a {type(value).__name__}"
            )
        if value.slots != self._layout.slots:
            raise _core.MismatchError(
                f"load: ciphertexts of {value.slots // self._layout.digits} values each, and this context "
                f"has {self.values} in one; make it with as many, Context(values=)"
            )
        vectors = self._layout.vectors(header.size)
        found = (value.shape, value.slots, value.filled, value.size)
        if found != ((vectors,), self._layout.slots, self._layout.slots, 2):
            raise _core.FormatError(
                f"load: values of shape {tuple(header.shape)} stand in {vectors} ciphertexts with all slots "
                f"filled, and there are {value}"
            )
        events = [] if header.failure_log2 is None else [header.failure_log2]
        risk = Risk.of(*events) | Risk.encrypted(hash(ciphertext))
        if not self._whole.input_level <= finished_level(value) <= self._whole.result_level:
            raise _core.FormatError(f"load: level {value.level} is none of the values'")
        return self._array(value, tuple(header.shape), header.type, risk, header.error)

    def __repr__(self) -> str:
        return f"<integers of {self._bits} bits, {self.values} in a ciphertext>"
