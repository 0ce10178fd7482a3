"""A context: the parameters on a device, and the client's side of encryption."""

from __future__ import annotations

import functools
import math
import numbers
import threading
import warnings
import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hemera import _core
from hemera.circuits import Bootstrap, IntegerBootstrap
from hemera.circuits.needs import Needs
from hemera.inputs.arguments import described, in_own_words, require_type
from hemera.inputs.device import DeviceArray
from hemera.inputs.source import Source, read
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.codec import Codec, make_codec, require_level
from hemera.objects.devices import DeviceOptions, memory_limit_of, open_device
from hemera.objects.evaluator import Evaluator, Relinearization
from hemera.objects.keys import Keys, SecretKey, SwitchingKey
from hemera.objects.rotations import all_steps, rotations_for_sum
from hemera.objects.stored import Stored
from hemera.parameters import Parameters, require_naturals

__all__ = ["Context"]


@in_own_words
class Context:
    """Parameters on a device. Immutable: any number of contexts may live at once, and any thread may use
    them.

    Args:
        params: `hemera.ckks.Parameters`, `hemera.bfv.Parameters` or `hemera.bgv.Parameters`.
        device: "cpu", "cuda", "cuda:1", ..., or "auto" for the best device there is. On "ledger", operations
            are counted and not computed (`hemera.cost`).
        threads: the number of threads of the CPU; with a GPU, those for copies from and to it. None: as many
            as the process may run on, or as help such copies.
        memory_limit: bytes of the device's memory that the context may take, with those kept for reuse;
            None: all of them.
        stream: the CUDA stream that all operations run in: an object of PyTorch, CuPy or any library with
            `__cuda_stream__`, or its handle as an integer. None: each thread has a stream of its own, and
            waits for the results of other threads that it uses.
        multiplier: the engine that multiplies the polynomials of ciphertext products, all with the same bits:
            "ntt" (the device's own transforms), or one of `hemera.multiply` on the CPU ("dgt",
            "kronecker_ss", "schoolbook").
        storage: the form of switching keys (of relinearization, rotations, bootstrapping) in a GPU's memory:
            "eight-byte"; "packed" in 50 bits a residue, with 22 % less memory and traffic, for ciphertext,
            special and key primes below 2^50; or "auto": keys of the matrices of bootstraps packed. Files
            and results have the same bits. On the CPU keys have eight bytes, and "packed" gives a
            UserWarning.
        keys: where switching keys of a GPU's context are: on the "device", or on the "host", in pinned memory
            that kernels read over the bus. That leaves the device's memory to ciphertexts, plaintexts and
            scratch, and operations wait for the bus (docs/gpu.md). Results have the same bits. On the CPU
            there is one memory, and "host" changes nothing.

    Raises:
        DeviceError: if there is no such device; the message has the reason and the devices that there are.
            Also if the device is a GPU and the multiplier is not "ntt".
        ParameterError: if a stream is given for the CPU, if the multiplier, the storage or the place of keys
            is unknown, or if, on any device, the storage is "packed" and a prime is above 2^50.
        TypeError: if `stream` is no stream.

    Examples:
        >>> ctx = hm.Context(hm.bfv.Parameters.for_circuit(depth=1, slots=4))
        >>> sk = ctx.generate_secret_key()  # stays with the client
        >>> ev = ctx.bind(ctx.generate_keys(sk))  # these keys can not decrypt
        >>> ctx.decrypt(ev.encrypt([1, 2, 3, 4]) * [10, 20, 30, 40], sk).tolist()
        [10, 40, 90, 160]
    """

    _rotates_as_openfhe = False
    _times_operations = False

    def __init__(
        self,
        params: Parameters,
        device: str = "auto",
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
        stream: object | None = None,
        multiplier: str = "ntt",
        storage: str = "auto",
        keys: str = "device",
    ) -> None:
        if type(params) is Parameters or not isinstance(params, Parameters):
            raise TypeError(
                "Context takes parameters, as hemera.ckks.Parameters.for_circuit(depth=...) makes them, not "
                f"{described(params)}"
            )
        self._params = params
        # As they were given, for contexts like this one. They keep the stream alive.
        self._options = DeviceOptions(device, threads, memory_limit, stream, multiplier, storage, keys)
        self._native = open_device(
            params,
            self._options,
            rotates_as_openfhe=self._rotates_as_openfhe,
            times_operations=self._times_operations,
        )
        if self._options.storage == "packed" and self.storage != "packed":
            warnings.warn(
                f"storage='packed' is of GPUs: on {self.device!r} keys are kept as {self.storage!r}",
                stacklevel=3,
            )
        self._lock = threading.Lock()
        # The contexts of all devices by name, held weakly; each context holds those that it made.
        self._family: weakref.WeakValueDictionary[str, Context] = weakref.WeakValueDictionary()
        self._family[self.device] = self
        self._made: list[Context] = []

    @property
    def params(self) -> Parameters:
        """The parameters."""
        return self._params

    @property
    def device(self) -> str:
        """The name of the context's device: "cpu", "cuda:0", ..."""
        return self._native.device

    @property
    def multiplier(self) -> str:
        """The engine that multiplies the polynomials of ciphertext products: "ntt", "dgt", ..."""
        return self._options.multiplier

    @property
    def storage(self) -> str:
        """The form of switching keys in this context's memory: "eight-byte" (always on a CPU), "packed", or
        "packed-matrices" where only the keys of circuits' matrices are."""
        if self._native.packs_keys:
            return "packed"
        return "packed-matrices" if self._native.packs_matrix_keys else "eight-byte"

    @property
    def keys(self) -> str:
        """Where switching keys are: on the "device", or on the "host" of a GPU."""
        return "host" if self._native.keys_on_host else "device"

    @property
    def description(self) -> str:
        """A line of text for people: the device, its instruction set and its number of threads."""
        return self._native.description

    @property
    def memory_used(self) -> int:
        """Bytes of device memory that objects of this context hold now."""
        return self._native.memory_used

    @property
    def host_memory_used(self) -> int:
        """Bytes of pinned host memory that keys of this context hold now: 0 unless `keys` is "host" on a
        GPU."""
        return self._native.host_memory_used

    @property
    def memory_limit(self) -> int | None:
        """Bytes of device memory that the context may take: as it was made with, and no more than a GPU has.
        None: on a CPU without a limit."""
        return memory_limit_of(self.device, self._options.memory_limit)

    def synchronize(self) -> None:
        """Wait until the device has run all operations of this thread so far. Results need no such call: it
        serves to measure time, and to meet errors of the device here.

        Raises:
            DeviceError: if an operation has failed on the device.
        """
        self._native.synchronize()

    def __repr__(self) -> str:
        return f"<Context of {self._params!r} on {self.device}>"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from hemera import _html

        return _html.table(
            "Context",
            {
                "parameters": repr(self._params),
                "device": self.description,
                "multiplier": self.multiplier,
                "storage of keys": self.storage,
                "bytes of memory used": self.memory_used,
            },
        )

    # --- Keys. ---

    def generate_secret_key(self) -> SecretKey:
        """A fresh secret key, drawn from the operating system's randomness."""
        return SecretKey(_core.generate_secret_key(self._native), self)

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
        plan: Needs | Iterable[Needs] = (),
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
            slots = self._params.max_slots if sum_slots is True else int(sum_slots)
            steps |= set(rotations_for_sum(self._params, slots))
            # BFV and BGV sum over both rows.
            swap_rows = swap_rows or not ckks
        if galois_level is not None:
            require_level(self._params, galois_level)
        self._require_secret(secret_key, "generate_keys")
        plans = list(plan) if isinstance(plan, Iterable) else [plan]
        for circuit in plans:
            if not isinstance(circuit, Needs):
                raise TypeError(
                    "generate_keys takes circuits of hemera.circuits, or what hemera.cost counted, as plan, "
                    f"not {described(circuit)}"
                )
        core = _core.generate_keys(
            secret_key._native,
            public_key=public_key,
            relinearization=relinearization,
            rotations=sorted(steps),
            conjugation=conjugation or swap_rows,
            galois_level=galois_level,
        )
        for circuit in plans:
            core = core.merged(circuit._generate_keys(secret_key._native))
        return Keys(core, self)

    def generate_switching_key(
        self, source: SecretKey, target: SecretKey, *, level: int | None = None
    ) -> SwitchingKey:
        """A key that turns ciphertexts under `source` into ciphertexts under `target`, up to `level` (None:
        the top)."""
        self._require_secret(source, "generate_switching_key")
        self._require_secret(target, "generate_switching_key")
        chosen = self._params.levels - 1 if level is None else level
        require_level(self._params, chosen)
        return SwitchingKey(_core.generate_switching_key(source._native, target._native, chosen), self)

    def bind(
        self,
        keys: Keys,
        *,
        relinearization: Relinearization = "eager",
        bootstrap: Bootstrap | IntegerBootstrap | None = None,
        automatic: bool = False,
        magnitude: float | None = None,
    ) -> Evaluator:
        """An evaluator with these keys.

        Args:
            keys: keys of this context.
            relinearization: "eager": each product is relinearized to size 2; "lazy": a product is
                relinearized only when an operation needs size 2.
            bootstrap: the plan of `Ciphertext.bootstrap`; `keys` must have been generated for it.
            automatic: whether an operation first bootstraps operands that have too few levels left for it
                (docs/bootstrapping.md). BFV and BGV: whether a product first bootstraps operands, where its
                result would have too little budget for the next bootstrap (docs/exact-bootstrapping.md).
            magnitude: CKKS: a bound on the magnitude of bootstrapped values that declare none
                (`Ciphertext.largest`). Bootstraps divide and multiply by it; with the order "slots first"
                this takes no level. None: such values are taken to be from -1 to 1, and the evaluator gives
                one RangeWarning.

        Raises:
            MismatchError: if the keys, or the plan, belong to other parameters.
            ParameterError: if `automatic` or `magnitude` is given without a plan, the magnitude is not finite
                and positive, or the plan's bootstraps give exponentials, or parts that are not joined.
            RangeError: if the magnitude is too large for the plan's matrices.
        """
        if isinstance(keys, SecretKey):
            raise TypeError(
                "bind takes the keys that a server evaluates with, ctx.generate_keys(secret_key), not the "
                "SecretKey, which stays with the client"
            )
        require_type(keys, Keys, "bind", "the keys of ctx.generate_keys(secret_key)")
        if keys.context.params != self._params:
            raise _core.MismatchError(f"bind: the keys belong to {keys.context!r}, not to {self!r}")
        if automatic and bootstrap is None:
            raise _core.ParameterError(
                "automatic=True needs a plan: bind(keys, bootstrap=plan, automatic=True)"
            )
        if isinstance(bootstrap, Bootstrap) and bootstrap.exponential:
            raise _core.ParameterError(
                "bind: this plan's bootstraps give exponentials in the values' place, so no evaluator "
                "refreshes values with it; bind the keys alone and call the plan, plan(x)"
            )
        if isinstance(bootstrap, Bootstrap) and bootstrap.order == "from-coefficients":
            raise _core.ParameterError(
                "bind: this plan's bootstraps give coefficients in the slots' place; bind the keys alone and "
                "call the plan, plan(x)"
            )
        if isinstance(bootstrap, Bootstrap) and not bootstrap.join_parts:
            raise _core.ParameterError(
                "bind: this plan's bootstraps leave real and imaginary parts side by side, in twice the "
                "slots; bind the keys alone and call the plan, plan(x)"
            )
        if magnitude is not None:
            magnitude = _as_magnitude(magnitude, bootstrap)
        return Evaluator(
            self, keys, relinearization, bootstrap=bootstrap, automatic=automatic, magnitude=magnitude
        )

    # --- Encoding. ---

    def encode(
        self,
        values: ArrayLike,
        *,
        encoding: str = "slots",
        level: int | None = None,
        scale: float | None = None,
        largest: float | None = None,
    ) -> Plaintext:
        """Encode values without encrypting them, for example for operands of several products.

        Args:
            values: an array of shape (..., slots). CKKS: real or complex numbers, filled up with zeros to a
                power of two (`Plaintext.filled` is the number of values). BFV and BGV: integers in (-t, t).
                An array on the context's GPU (of PyTorch, CuPy, JAX, or any with `__dlpack__` or
                `__cuda_array_interface__`) is read there: float64 or complex128 for CKKS; int64, taken
                modulo t, for BFV and BGV. Values on a GPU are not checked: a check would need the host.
            encoding: "slots", or "coefficients" (BFV and BGV: any plaintext modulus). CKKS: up to N real
                numbers, at a level that is named, make the polynomial that has them, times the scale and
                rounded, as its coefficients. It is a plaintext of N/2 slots like others; bootstraps "from
                coefficients" bring them to slots.
            level: CKKS: the level of the plaintext; None: the top. BFV and BGV: the level of the ciphertexts
                that the plaintext will multiply or be added to. It is then made ready for them once, and
                takes as much memory as one of them (BGV: half as much). None: each product and each sum
                makes it ready.
            scale: CKKS: the factor between values and polynomial; None: the level's.
            largest: CKKS: a bound on the magnitude of the values; None: `params.largest`. Operations carry
                the bound along (`Ciphertext.largest`), functions check it, and bootstraps scale by it.
                Whoever has the ciphertext can read the bound: declare one for all data, not for these values.

        Returns:
            A plaintext of shape (...).

        Raises:
            LevelError: if the parameters have no such level.
            ParameterError: if values are too large (or above their declared bound), too many or not finite.
            TypeError: if values are no numbers of the scheme.

        Examples:
            >>> ctx = hm.Context(hm.bfv.Parameters.for_circuit(depth=1, slots=4))
            >>> ctx.decode(ctx.encode([[1, 2], [3, -4]])).tolist()
            [[1, 2], [3, -4]]
        """
        return Plaintext(self._codec.encode(values, encoding, level, scale, largest), self)

    def decode(
        self, plaintext: Plaintext, *, dtype: DTypeLike | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """The values of a plaintext, of shape (..., filled slots); for `dtype` and `out` see `decrypt`."""
        require_type(plaintext, Plaintext, "decode", "a plaintext (a ciphertext decrypts: ctx.decrypt)")
        return self._codec.decode(plaintext._native, dtype, plaintext.filled, out)

    def decode_on_device(self, plaintext: Plaintext, *, dtype: DTypeLike | None = None) -> DeviceArray:
        """The values of a plaintext as an array on the context's GPU, of shape (..., slots), for PyTorch,
        CuPy and JAX; for `dtype` see `decrypt`.

        Raises:
            DeviceError: if the context is on the CPU, where `decode` gives an array of the device.
        """
        require_type(plaintext, Plaintext, "decode_on_device", "a plaintext")
        return self._codec.decode_on_device(plaintext._native, dtype)

    # --- The client. ---

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
        return self._encrypt(values, key, encoding, self._keyless, largest)

    def decrypt(
        self,
        ciphertext: Ciphertext,
        secret_key: SecretKey,
        *,
        dtype: DTypeLike | None = None,
        errors: Literal["raise", "mask"] = "raise",
        out: NDArray[Any] | None = None,
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

        Raises:
            MismatchError: if ciphertext or key belong to other parameters, or `out` has another shape.
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
            return self._codec.decode(plain, dtype, ciphertext.filled, out)
        values, doubtful = self._codec.decode_certain(plain, dtype, ciphertext.filled, out)
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
            dtype: as for `decrypt`.

        Raises:
            NoiseError: if no precision, or too small a budget, would be left; and as `decrypt`.
            ParameterError: if `noise_bound` is missing (CKKS) or given (BFV and BGV), or if bits or shares
                are out of range.
        """
        native = self._require_pair(ciphertext, secret_key, "decrypt_for_sharing")
        require_naturals(shares=shares)
        plain = _core.decrypt_for_sharing(native, secret_key._native, noise_bound, statistical_bits, shares)
        return self._codec.decode(plain, dtype, ciphertext.filled)

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

    # --- Files. ---

    def load(self, source: Source) -> Any:
        """A ciphertext, plaintext or key from its bytes or a file's path, as `bytes(x)` and `x.save` write
        them.

        Returns:
            Ciphertext (bound to no keys: `Evaluator.load` binds), Plaintext, SecretKey, Keys or SwitchingKey.

        Raises:
            FormatError: if the bytes are damaged.
            MismatchError: if the object belongs to other parameters.
            FileError: if the file can not be read.

        Examples:
            >>> ctx = hm.Context(hm.bgv.Parameters.for_circuit(depth=1, slots=4))
            >>> sk = ctx.generate_secret_key()
            >>> data = bytes(ctx.encrypt([1, 2], sk))
            >>> ctx.decrypt(ctx.load(data), sk).tolist()
            [1, 2]
        """
        core: object = read(
            source,
            functools.partial(_core.load_object, self._native),
            functools.partial(_core.load_object_file, self._native),
        )
        return self._wrap(core)

    def __reduce__(self) -> Any:
        raise TypeError("a Context does not pickle: pickle its params, and make a context of them elsewhere")

    # --- Other devices. ---

    def on(self, device: str) -> Context:
        """The context of the same parameters on another device. For its own device this is the context
        itself; another one is made at the first call, and lives as long as this context. Objects go there
        by their `to`.

        Raises:
            DeviceError: if there is no such device.
        """
        name = device if device == "cpu" or ":" in device else f"{device}:0"
        with self._lock:
            found = self._family.get(name)
            if found is None:
                own = DeviceOptions(name, storage=self._options.storage, keys=self._options.keys)
                found = self._like(self._params, own)
                found._family, found._lock = self._family, self._lock
                self._family[name] = found
                self._made.append(found)
            return found

    # --- For the other classes. ---

    def _with_rules(self, params: Parameters) -> Context:
        """A context like this one with the rescaling rules of `params`; itself if they are its own."""
        if params.rescaling == self._params.rescaling:
            return self
        return self._like(params, replace(self._options, device=self.device))

    def _like(self, params: Parameters, options: DeviceOptions) -> Context:
        """A context of this class with these options. Of storage on a CPU this context's user got the
        warning."""
        storage = "auto" if options.device == "cpu" else options.storage
        found = type(self)(params, **replace(options, storage=storage).arguments)
        found._options = options
        return found

    def _copy_of(self, stored: Stored) -> Any:
        core = _core.copy_to(self._native, stored._native)
        if isinstance(stored, Ciphertext):
            return stored._holding(core, self._keyless)
        if isinstance(stored, Plaintext):
            return Plaintext(core, self)
        return self._wrap(core)

    def _wrap(self, core: object) -> Any:
        """The user's object of one of the core."""
        if isinstance(core, _core.Ciphertext):
            return Ciphertext(core, self._keyless)
        if isinstance(core, _core.Plaintext):
            return Plaintext(core, self)
        if isinstance(core, _core.SecretKey):
            return SecretKey(core, self)
        if isinstance(core, _core.EvaluationKeys):
            return Keys(core, self)
        assert isinstance(core, _core.SwitchingKey)
        return SwitchingKey(core, self)

    # Objects hold their context. So the context holds no such objects, only those of the core: otherwise both
    # would wait for the garbage collector to find the circle.

    @property
    def _keyless(self) -> Evaluator:
        """An evaluator without keys, for ciphertexts that are bound to none."""
        keys, native = self._keyless_natives
        return Evaluator(self, Keys(keys, self), native=native)

    @functools.cached_property
    def _keyless_natives(self) -> tuple[_core.EvaluationKeys, _core.Evaluator]:
        keys = _core.EvaluationKeys(self._native)
        return keys, _core.make_evaluator(keys, False)

    @functools.cached_property
    def _codec(self) -> Codec:
        return make_codec(self._native, self._params)

    def _require_secret(self, key: SecretKey, operation: str) -> None:
        if not isinstance(key, SecretKey):
            raise TypeError(f"{operation} needs a SecretKey, not {type(key).__name__}")
        if key.context.params != self._params:
            raise _core.MismatchError(f"{operation}: the key belongs to {key.context!r}, not to {self!r}")

    def _require_pair(self, ciphertext: Ciphertext, key: SecretKey, operation: str) -> _core.Ciphertext:
        """The core's object of the ciphertext. Raises if a decryption can not take both."""
        self._require_secret(key, operation)
        return require_type(ciphertext, Ciphertext, operation, "a ciphertext")._native

    def _encrypt(
        self,
        values: ArrayLike | Plaintext,
        key: SecretKey | Keys,
        encoding: str,
        evaluator: Evaluator,
        largest: float | None = None,
    ) -> Ciphertext:
        if isinstance(values, Plaintext):
            if largest is not None:
                raise _core.ParameterError("encrypt: a plaintext has its bound; give largest= to encode")
            plaintext = values
        else:
            plaintext = self.encode(values, encoding=encoding, largest=largest)
        plain = plaintext._native
        if isinstance(key, SecretKey):
            self._require_secret(key, "encrypt")
            core = _core.encrypt_with_secret(plain, key._native)
        elif isinstance(key, Keys):
            core = _core.encrypt_with_keys(plain, key._native)
        else:
            raise TypeError(f"encrypt needs a SecretKey or Keys, not {type(key).__name__}")
        return Ciphertext(core, evaluator)


def _as_magnitude(magnitude: object, bootstrap: Bootstrap | IntegerBootstrap | None) -> float:
    if bootstrap is None:
        raise _core.ParameterError(
            "magnitude= needs a plan: bind(keys, bootstrap=plan, automatic=True, magnitude=100)"
        )
    if isinstance(bootstrap, IntegerBootstrap):
        raise _core.ParameterError("magnitude= is of CKKS; integers of BFV and BGV are exact")
    if not isinstance(magnitude, numbers.Real) or isinstance(magnitude, bool):
        raise TypeError(f"bind: the magnitude must be a number, not {described(magnitude)}")
    number = float(magnitude)
    if not (number > 0 and math.isfinite(number)):
        raise _core.ParameterError(f"bind: the magnitude must be finite and positive, not {magnitude!r}")
    return number
