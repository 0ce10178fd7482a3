"""A context: the parameters on a device."""

from __future__ import annotations

import functools
import math
import numbers
import warnings
import weakref
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike, DTypeLike, NDArray

from hemera import _core
from hemera._process import Lock, cached_property
from hemera.circuits import Bootstrap, IntegerBootstrap
from hemera.inputs.arguments import described, in_own_words, require_type
from hemera.inputs.device import DeviceArray
from hemera.inputs.source import Source, read
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.client import ClientContext
from hemera.objects.devices import DeviceOptions, memory_limit_of, open_device
from hemera.objects.evaluator import Evaluator, Relinearization
from hemera.objects.keys import Keys, SecretKey, SwitchingKey
from hemera.objects.stored import Stored
from hemera.parameters import Parameters


@in_own_words
class Context(ClientContext):
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
        self._lock = Lock()
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

    # --- Evaluation. ---

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
                this takes no level. None: such values are taken to be from -1 to 1, and each bootstrap
                of them gives a RangeWarning.

        Raises:
            MismatchError: if the keys, or the plan, belong to other parameters.
            ParameterError: if `automatic` or `magnitude` is given without a plan, the magnitude is not finite
                and positive, or the plan's bootstraps give exponentials, or parts that are not joined.
            RangeError: if the magnitude is too large for the plan's matrices; without `automatic` the first
                bootstrap raises it.
        """
        if isinstance(keys, SecretKey):
            raise TypeError(
                "bind takes the keys that a server evaluates with, ctx.generate_keys(secret_key), not the "
                "SecretKey, which stays with the client"
            )
        require_type(keys, Keys, "bind", "the keys of ctx.generate_keys(secret_key)")
        if keys.context.params != self._params:
            raise _core.MismatchError(f"bind: the keys belong to {keys.context!r}, not to {self!r}")
        if not isinstance(bootstrap, (Bootstrap, IntegerBootstrap, type(None))):
            raise TypeError(f"bind takes a bootstrap of hm.circuits, not {described(bootstrap)}")
        if automatic and bootstrap is None:
            raise _core.ParameterError(
                "automatic=True needs a plan: bind(keys, bootstrap=plan, automatic=True)"
            )
        if isinstance(bootstrap, Bootstrap) and bootstrap.exponential:
            raise _core.ParameterError(
                "bind: this plan's bootstraps give exponentials in the values' place, so no evaluator "
                "refreshes values with it; bind the keys alone and call the plan, plan(x)"
            )
        if isinstance(bootstrap, Bootstrap) and bootstrap.gives_sine:
            raise _core.ParameterError(
                "bind: this plan's bootstraps give a sine in the values' place; bind the keys alone and call "
                "the plan, plan(x), or make parameters with a ratio_bits of 3 or more"
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
                rounded, as its coefficients. It is a plaintext of N/2 slots like others. `decode` and
                `decrypt` with this encoding give them back; bootstraps "from coefficients" bring them to
                slots.
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
        self,
        plaintext: Plaintext,
        *,
        dtype: DTypeLike | None = None,
        out: NDArray[Any] | None = None,
        encoding: str | None = None,
    ) -> NDArray[Any]:
        """The values of a plaintext, of shape (..., filled slots); for `dtype`, `out` and `encoding` see
        `decrypt`."""
        require_type(plaintext, Plaintext, "decode", "a plaintext (a ciphertext decrypts: ctx.decrypt)")
        return self._codec.decode(plaintext._native, dtype, plaintext.filled, out, encoding)

    def decode_on_device(self, plaintext: Plaintext, *, dtype: DTypeLike | None = None) -> DeviceArray:
        """The values of a plaintext as an array on the context's GPU, of shape (..., slots), for PyTorch,
        CuPy and JAX; for `dtype` see `decrypt`.

        Raises:
            DeviceError: if the context is on the CPU, where `decode` gives an array of the device.
        """
        require_type(plaintext, Plaintext, "decode_on_device", "a plaintext")
        return self._codec.decode_on_device(plaintext._native, dtype)

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
        """A context of this class with these options. This context's user was warned of
        storage on a CPU."""
        storage = "auto" if options.device == "cpu" else options.storage
        found = type(self)(params, **replace(options, storage=storage).arguments)
        found._options = options
        return found

    def _copy_of(self, stored: Stored) -> Any:
        core = _core.copy_to(self._native, stored._native)
        if isinstance(stored, Ciphertext):
            return Ciphertext(core, self._keyless)
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

    @cached_property
    def _keyless_natives(self) -> tuple[_core.EvaluationKeys, _core.Evaluator]:
        keys = _core.EvaluationKeys(self._native)
        return keys, _core.make_evaluator(keys, False)

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
