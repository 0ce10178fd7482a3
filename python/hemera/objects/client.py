"""The client's half of a context: keys, encryption and decryption."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hemera import _core
from hemera._process import cached_property
from hemera.circuits.needs import KeyNeeds
from hemera.inputs.arguments import Progress, described, in_own_words, require_type
from hemera.inputs.device import DeviceArray
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.codec import Codec, require_level
from hemera.objects.keys import Keys, SecretKey, SwitchingKey, all_steps, rotations_for_sum
from hemera.objects.scheme_codecs import make_codec
from hemera.parameters import Parameters, require_naturals

if TYPE_CHECKING:
    from hemera.objects.context import Context


@in_own_words
class ClientContext:
    """The half of `hemera.Context` that makes secret keys or takes one. `Context` is the only class with this
    base."""

    _params: Parameters
    _native: _core.Context

    # --- Keys. ---

    def generate_secret_key(self) -> SecretKey:
        """A fresh secret key, drawn from the operating system's randomness."""
        return SecretKey(_core.generate_secret_key(self._native), self._whole)

    def generate_keys(
        self,
        secret_key: SecretKey,
        *,
        public_key: bool = True,
        relinearization: bool = True,
        rotations: Iterable[int] = (),
        sum_slots: bool | int = False,
        conjugation: bool = False,
        swap_rows: bool = False,
        galois_level: int | None = None,
        plan: KeyNeeds | Iterable[KeyNeeds] = (),
        progress: Progress = None,
    ) -> Keys:
        """Keys for a server: they encrypt and evaluate, and can not decrypt.

        Args:
            secret_key: a secret key of this context.
            public_key: whether the keys can encrypt.
            relinearization: whether the keys can relinearize products.
            rotations: steps of slot rotations (to the left if positive).
            sum_slots: True: also the keys of `Ciphertext.sum` for all slots; a number: those for ciphertexts
                of this many slots.
            conjugation: CKKS: also the key of `Ciphertext.conjugate`.
            swap_rows: BFV and BGV: also the key of `Ciphertext.swap_rows`.
            galois_level: the highest level that rotation keys work at; None: the top. Keys of lower levels
                are smaller.
            plan: one or several circuits of `hemera.circuits` or costs of `hemera.cost`: also the keys that
                they need, each for its level.
            progress: called with "keys", the number of keys that are made, and the number of all. An
                exception that it raises ends the work.

        Raises:
            LevelError: if the parameters have no level `galois_level`.
            MismatchError: if the secret key belongs to other parameters.
            ParameterError: if the scheme has no such key.

        Examples:
            >>> params = hm.ckks.Parameters.for_circuit(depth=1, slots=8)
            >>> ctx = hm.Context(params)
            >>> keys = ctx.generate_keys(ctx.generate_secret_key(), rotations=[1, -2])
            >>> keys.has_rotation(-2), keys.has_rotation(3)
            (True, False)
        """
        ckks = self._params.scheme == "ckks"
        if conjugation and not ckks:
            raise _core.ParameterError("conjugation is of CKKS; BFV and BGV take swap_rows=True")
        if swap_rows and ckks:
            raise _core.ParameterError("swap_rows is of BFV and BGV; CKKS takes conjugation=True")
        steps = set(all_steps(self._params, "generate_keys(rotations=)", rotations))
        if sum_slots:
            steps |= set(rotations_for_sum(self._params, None if sum_slots is True else sum_slots))
            # BFV and BGV sum over both rows.
            swap_rows = swap_rows or not ckks
        if galois_level is not None:
            require_level(self._params, galois_level, "generate_keys")
        self._require_secret(secret_key, "generate_keys")
        plans = list(plan) if isinstance(plan, Iterable) else [plan]
        for circuit in plans:
            if not isinstance(circuit, KeyNeeds):
                raise TypeError(
                    "generate_keys takes circuits of hemera.circuits, or what hemera.cost counted, as plan, "
                    f"not {described(circuit)}"
                )
        native = secret_key._native

        def own(rotations: Sequence[int], *, first: bool = True) -> _core.EvaluationKeys:
            return _core.generate_keys(
                native,
                public_key=public_key and first,
                relinearization=relinearization and first,
                rotations=rotations,
                conjugation=(conjugation or swap_rows) and first,
                galois_level=galois_level,
            )

        if progress is None:
            core = own(sorted(steps))
            for circuit in plans:
                core = core.merged(circuit._generate_keys(native))
            return Keys(core, self._whole)
        # The same keys, a few at a time.
        turns = [turn for circuit in plans for turn in circuit._in_turns()]
        single = [public_key, relinearization, conjugation or swap_rows].count(True)
        total = single + len(steps) + sum(map(len, turns))
        progress("keys", 0, total)
        core, done = own([]), single
        for step in sorted(steps):
            progress("keys", done, total)
            core, done = core.merged(own([step], first=False)), done + 1
        for turn in turns:
            progress("keys", done, total)
            core, done = core.merged(_core.generate_needed_keys(native, turn)), done + len(turn)
        progress("keys", total, total)
        return Keys(core, self._whole)

    def save_keys(
        self, path: str | os.PathLike[str], secret_key: SecretKey, *, progress: Progress = None, **asked: Any
    ) -> None:
        """Write keys for a server to a file, each made while it is written: whoever evaluates nothing holds
        one at a time. The file appears under its name only when it is complete.

        Args:
            path: the file, which `load` of a context reads.
            secret_key: a secret key of this context.
            progress: called with "keys", the number of keys that are written, and the number of all. An
                exception that it raises ends the work.
            asked: which keys, as in `generate_keys`, whose defaults and errors are the same.

        Raises:
            FileError: if the file can not be written. An older file of that name is then untouched.
            MismatchError: if the secret key belongs to other parameters.
        """
        self._require_secret(secret_key, "save_keys")
        # Keys of a ledger are names alone.
        ledger = type(self._whole)(self._params, "ledger")
        listed = ledger.generate_keys(ledger.generate_secret_key(), **asked)._native

        def told(done: int, count: int) -> None:
            if progress is not None:
                progress("keys", done, count)

        _core.save_listed_keys(os.fsencode(path), secret_key._native, listed, told)

    def generate_switching_key(
        self, source: SecretKey, target: SecretKey, *, level: int | None = None
    ) -> SwitchingKey:
        """A key that turns ciphertexts under `source` into ciphertexts under `target`, up to `level` (None:
        the top)."""
        self._require_secret(source, "generate_switching_key")
        self._require_secret(target, "generate_switching_key")
        chosen = self._params.levels - 1 if level is None else level
        require_level(self._params, chosen, "generate_switching_key")
        core = _core.generate_switching_key(source._native, target._native, chosen)
        return SwitchingKey(core, self._whole)

    # --- Encryption and decryption. ---

    def encrypt(
        self,
        values: ArrayLike | Plaintext,
        key: SecretKey | Keys,
        *,
        encoding: str = "slots",
        largest: float | None = None,
    ) -> Ciphertext:
        """Encrypt an array.

        Args:
            values: an array of shape (..., slots) as for `encode`, or a plaintext.
            key: the secret key (a file of the result then takes half the bytes), or keys with a public key.
            encoding: "slots", or "coefficients" (BFV and BGV).
            largest: CKKS: as for `encode`.

        Returns:
            A ciphertext of shape (...), bound to no keys; `Evaluator.bind` binds it.

        Raises:
            MissingKeyError: if `key` has no public key.
            ParameterError: if values are too large for the lowest level (or above `params.largest`), too
                many or not finite.
            TypeError: if values are no numbers of the scheme, or are a table (data frame), whose rows would
                each be a ciphertext.

        Examples:
            >>> ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=1024))
            >>> sk = ctx.generate_secret_key()
            >>> ctx.encrypt(np.ones((8, 1000)), sk)  # a batch of eight
            <CKKS Ciphertext of shape (8,), 1000 of 1024 slots, level 1>
        """
        whole = self._whole
        return whole._encrypt(values, key, encoding, whole._keyless, largest)

    def decrypt(
        self,
        ciphertext: Ciphertext,
        secret_key: SecretKey,
        *,
        dtype: DTypeLike | None = None,
        errors: Literal["raise", "mask"] = "raise",
        out: NDArray[Any] | None = None,
        encoding: str | None = None,
    ) -> NDArray[Any]:
        """The values of a ciphertext, as an array of shape (..., filled slots) (docs/python.md).

        CKKS results are approximate, and their error reveals something of the secret key. Show them to nobody
        who may know the ciphertext, or use `decrypt_for_sharing`.

        Args:
            ciphertext: a ciphertext of this context.
            secret_key: the secret key that the ciphertext was encrypted for.
            dtype: CKKS: float64 (the imaginary parts are left out) or complex128; None: `ciphertext.dtype`,
                which is complex if an operand was encrypted or encoded from complex numbers. BFV and BGV:
                int64 (None; values in [-(t-1)/2, t/2]) or uint64 (values in [0, t)).
            errors: "raise": a wrong row of a batch raises NoiseError, which names the rows; "mask": the
                result is a `numpy.ma.MaskedArray` whose mask covers the wrong rows (NaN for CKKS, 0 for BFV
                and BGV).
            out: an array of the result's shape and type, which is filled and returned (masked: as its data),
                as NumPy's functions do. If `dtype` is None its type is that of the values; those of
                `ciphertext.dtype` complex128 need complex128. A contiguous one is written to directly. After
                an error its contents are not specified.
            encoding: CKKS: "coefficients" for those of the polynomial over the scale: (..., N) of float64.
                None: slots. BFV and BGV know the encoding of their values.

        Raises:
            MismatchError: if ciphertext or key belong to other parameters, `out` has another shape, or BFV
                or BGV values another encoding.
            NoiseError: BFV and BGV: if less than one bit of the noise budget is left. CKKS, with
                `params.checks_range`: if a coefficient exceeds a quarter of the modulus, so that values
                wrapped or nearly did. The check is a net, not a guarantee (docs/ckks.md lists its reach); it
                also notices a wrong secret key. Whoever evaluates must not learn of this error.
            ParameterError: if `dtype` or `errors` has another value, or `out` another type, or is read-only.

        Examples:
            >>> ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
            >>> sk = ctx.generate_secret_key()
            >>> ctx.decrypt(ctx.encrypt([0.5, 1.5], sk) + 1, sk).round(6).tolist()
            [1.5, 2.5]
        """
        if errors not in ("raise", "mask"):
            raise _core.ParameterError(f"errors must be 'raise' or 'mask', not {errors!r}")
        native = self._require_pair(ciphertext, secret_key, "decrypt")
        plain = _core.decrypt(native, secret_key._native)
        if errors == "raise":
            return self._codec.decode(plain, dtype, ciphertext.filled, out, encoding)
        values, doubtful = self._codec.decode_certain(plain, dtype, ciphertext.filled, out, encoding)
        wrong = np.zeros(math.prod(values.shape[:-1]), dtype=bool)
        wrong[doubtful] = True
        mask = np.broadcast_to(wrong.reshape(*values.shape[:-1], 1), values.shape)
        return np.ma.MaskedArray(values, mask=mask)

    def decrypt_on_device(
        self, ciphertext: Ciphertext, secret_key: SecretKey, *, dtype: DTypeLike | None = None
    ) -> DeviceArray:
        """As `decrypt`, but to an array of all slots on the context's GPU: see `decode_on_device`. The host
        reads nothing back, so wrapped values and spent noise budgets go unnoticed."""
        native = self._require_pair(ciphertext, secret_key, "decrypt_on_device")
        return self._codec.decode_on_device(_core.decrypt(native, secret_key._native), dtype)

    def decrypt_for_sharing(
        self,
        ciphertext: Ciphertext,
        secret_key: SecretKey,
        *,
        noise_bound: float | None = None,
        statistical_bits: int = 40,
        shares: int = 1,
        dtype: DTypeLike | None = None,
        encoding: str | None = None,
    ) -> NDArray[Any]:
        """Decrypt to a result that may be shown to others (docs/ckks.md).

        CKKS: Gaussian noise is added that hides the error of the result, since the error reveals something of
        the secret key (B. Li, D. Micciancio, ePrint 2020/1533; with M. Schultz and J. Sorrell, 2022/816).
        The same ciphertext, bound, bits and shares give the same values. BFV and BGV: results are exact, and
        are given out if their noise bound and their true noise leave `statistical_bits` of budget.

        Args:
            ciphertext: a ciphertext of this context, best with parameters of
                `for_circuit(sharing_bits=, shares=)`.
            secret_key: the secret key that the ciphertext was encrypted for.
            noise_bound: CKKS: a worst-case bound of the circuit on the error of a slot, never a measured one:
                `noise_bound()`.
            statistical_bits: bits of security of the shown result; 1 to 64 for CKKS.
            shares: CKKS: the number of results that will be shown in all, this one included.
            dtype, encoding: as for `decrypt`.

        Raises:
            NoiseError: if no precision, or too small a budget, would be left; and as `decrypt`.
            ParameterError: if `noise_bound` is missing (CKKS) or given (BFV and BGV), or if bits or shares
                are out of range.
        """
        native = self._require_pair(ciphertext, secret_key, "decrypt_for_sharing")
        require_naturals(shares=shares)
        plain = _core.decrypt_for_sharing(native, secret_key._native, noise_bound, statistical_bits, shares)
        return self._codec.decode(plain, dtype, ciphertext.filled, encoding=encoding)

    # --- Noise. ---

    def noise_bound(self, *, depth: int, largest: float | None = None, terms: int = 1) -> float:
        """CKKS: a worst-case bound on the noise in the slots of a circuit's result (its root mean square),
        for `decrypt_for_sharing`. The bound follows from the parameters and these numbers alone. The rounding
        of doubles, about 2^-47 of the values, is not in it.

        Args:
            depth: multiplications one after the other.
            largest: a bound on the magnitude of all values, intermediate ones too; None: `params.largest`.
            terms: the most products that a step adds up; at depth 0, the most encryptions (n for a sum of n
                slots). Each may be rotated once.

        Raises:
            LevelError: if the parameters have less depth.
            MismatchError: if the scheme is BFV or BGV, whose ciphertexts carry their own bound.
            ParameterError: if no bound on the values is given or declared.
        """
        require_naturals(depth=depth, terms=terms)
        if largest is not None and not largest > 0:
            raise _core.ParameterError(f"largest must be above 0, not {largest}")
        return _core.noise_bound(self._native, depth, largest or 0.0, terms)

    def noise_budget(self, ciphertext: Ciphertext, secret_key: SecretKey) -> float:
        """BFV and BGV: the bits by which the noise of the worst ciphertext of the batch may still grow before
        decryption fails. This number reveals something of the secret key: keep it to yourself.

        Raises:
            ParameterError: if the scheme is CKKS, which has no budget.
        """
        native = self._require_pair(ciphertext, secret_key, "noise_budget")
        return _core.noise_budget(native, secret_key._native)

    # --- For both halves. ---

    @cached_property
    def _codec(self) -> Codec:
        return make_codec(self._native, self._params)

    @property
    def _whole(self) -> Context:
        return cast("Context", self)

    def _require_secret(self, key: SecretKey, operation: str) -> None:
        if not isinstance(key, SecretKey):
            raise TypeError(f"{operation} needs a SecretKey, not {type(key).__name__}")
        if key.context.params != self._params:
            raise _core.MismatchError(f"{operation}: the key belongs to {key.context!r}, not to {self!r}")

    def _require_pair(self, ciphertext: Ciphertext, key: SecretKey, operation: str) -> _core.Ciphertext:
        """The core's object of the ciphertext. Raises if a decryption can not take both."""
        self._require_secret(key, operation)
        return require_type(ciphertext, Ciphertext, operation, "a ciphertext")._native
