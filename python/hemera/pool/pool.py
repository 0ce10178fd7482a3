"""A pool: one context on each of several devices of a host, with the interface of a context."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hemera import _core
from hemera.circuits import Bootstrap, IntegerBootstrap, LinearTransform, TransformGrid
from hemera.inputs.arguments import as_integer, described, require_type
from hemera.inputs.encoding import room_in
from hemera.inputs.source import Source
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.devices import DeviceOptions
from hemera.objects.evaluator import Relinearization
from hemera.objects.keys import Keys, SecretKey
from hemera.objects.stored import Belonging, Stored
from hemera.parameters import Parameters
from hemera.pool.calls import Call, parts_of, replicated, require_member
from hemera.pool.circuits import PoolCircuit, PoolGrid, SharedPlan, circuit_over
from hemera.pool.cuts import LinkTimes
from hemera.pool.evaluator import PoolEvaluator
from hemera.pool.members import Place, Team, places_of
from hemera.pool.parts import PoolCiphertext, PoolPlaintext, parts_in, whole_on
from hemera.pool.results import as_rows, joined

T = TypeVar("T")
BelongingT = TypeVar("BelongingT", bound=Belonging[Any])


class Pool(Context):
    """Contexts of the same parameters on several devices of one host, used as one: batches are cut into
    parts, and each member computes its own.

    A pool has the interface of a `Context`, and the evaluators of `bind` that of an `Evaluator`. Keys are
    those of one member until they are used: after `bind` another member copies each evaluation key at its
    first use. Secret keys are copied by `replicate` alone; methods that take one run on its member. Any
    number of threads may use a pool.

    Args:
        params: as of `Context`.
        devices: "cuda:*": all GPUs; "cpu:*": a member for each NUMA node, its threads bound to the node's
            processors, so that memory which they fill first lies there; "auto": all GPUs, or the CPU; or a
            list of devices, like ["cuda:0", "cuda:2"], in which one may stand more than once.
        threads: of each member, as of `Context`. None: members on the CPU share the processors.
        memory_limit: of each member, as of `Context`.
        multiplier: as of `Context`.
        storage: as of `Context`.
        keys: as of `Context`.
        in_flight: the calls that a member works on at the same time, each in a thread of its own. On a GPU
            the host then works for one call while the device works for another; see `map`.

    Raises:
        DeviceError: if there is no such device, or the system does not list its NUMA nodes.
        ParameterError: as of `Context`, or if there is no device, or `in_flight` is below 1.

    Examples:
        >>> params = hm.bfv.Parameters.for_circuit(depth=1, slots=4)
        >>> with hm.Pool(params, devices=["cpu", "cpu"]) as pool:
        ...     sk = pool.generate_secret_key()
        ...     ev = pool.bind(pool.generate_keys(sk))
        ...     x = ev.encrypt([[1, 2], [3, 4], [5, 6]])  # two rows on the first member, one on the second
        ...     pool.decrypt(x * x, sk).tolist()
        [[1, 4], [9, 16], [25, 36]]
    """

    def __init__(
        self,
        params: Parameters,
        devices: str | Sequence[str] = "auto",
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
        multiplier: str = "ntt",
        storage: str = "auto",
        keys: str = "device",
        in_flight: int = 1,
    ) -> None:
        if as_integer(in_flight, "Pool", "in_flight") < 1:
            raise _core.ParameterError(f"in_flight must be 1 or more, not {in_flight}")
        self._params = params
        options = DeviceOptions(
            threads=threads, memory_limit=memory_limit, multiplier=multiplier, storage=storage, keys=keys
        )
        self._options = replace(options, threads=None)

        def make(place: Place) -> Context:
            return Context(params, **place.options.arguments)

        self._team = Team(places_of(devices, options), make, in_flight)
        for own in self.contexts:  # x.to("cuda:1") on one member goes to the other, and makes no context
            own._family.update({other.device: other for other in self.contexts if other.device != own.device})

    @property
    def _native(self) -> Any:  # type: ignore[override]
        raise _core.MismatchError(
            "this is a pool, and a context of one device is needed: pool.contexts has those of the members"
        )

    # --- The members. ---

    def __len__(self) -> int:
        """The number of members."""
        return len(self._team)

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The context of each member."""
        return self._team.contexts

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of each member."""
        return tuple(context.device for context in self.contexts)

    @property
    def device(self) -> str:
        """The devices of the members, with commas."""
        return ",".join(self.devices)

    @property
    def storage(self) -> str:
        """The form of switching keys: see `Context.storage`."""
        return self.contexts[0].storage

    @property
    def keys(self) -> str:
        """Where switching keys are: see `Context.keys`."""
        return self.contexts[0].keys

    @property
    def description(self) -> str:
        """A line of text for people: the devices of the members."""
        return "; ".join(context.description for context in self.contexts)

    @property
    def memory_used(self) -> int:
        """Bytes of memory that objects of all members hold now."""
        return sum(context.memory_used for context in self.contexts)

    @property
    def host_memory_used(self) -> int:
        """Bytes of pinned host memory that keys of all members hold now."""
        return sum(context.host_memory_used for context in self.contexts)

    @property
    def memory_limit(self) -> int | None:
        """Bytes that all members together may take; None: at least one has no limit."""
        limits = [context.memory_limit for context in self.contexts]
        return None if None in limits else sum(limit for limit in limits if limit is not None)

    def synchronize(self) -> None:
        """Wait until every member's device has run all operations so far, those of other threads, too: see
        `Context.synchronize`."""
        self._team.run_on_all(lambda member: self.contexts[member]._native.synchronize_device())

    def on(self, device: str) -> Context:
        """The context of the first member on a device.

        Raises:
            DeviceError: if no member is on it.
        """
        name = device if device == "cpu" or ":" in device else f"{device}:0"
        found = next((context for context in self.contexts if context.device == name), None)
        if found is None:
            raise _core.DeviceError(f"no member of the pool is on {device!r}; there are {self.device}")
        return found

    def map(self, f: Callable[..., Any], *inputs: Any, batch: int | None = None) -> Any:
        """f(context, *parts) on each member, with its own context: see `PoolEvaluator.map`."""
        return self._keyless._mapped(f, inputs, receivers=self.contexts, batch=batch)

    def replicate(self, value: BelongingT) -> BelongingT:
        """The same keys or plaintext, with a copy on each member from now on; GPUs copy from each other. The
        copies live as long as the object, and `x.to(context)` gives them. Without copies of a secret key, its
        member alone decrypts.

        Raises:
            MismatchError: if it belongs to no member.
        """
        require_type(value, Belonging, "replicate", "keys or a plaintext")
        if not isinstance(value, PoolPlaintext):
            require_member(self._team, "replicate", value)
            replicated(self._team, value)
        return value

    def close(self) -> None:
        """Let the members end what they have been given, and then their threads. Values stay readable by
        their `parts`. May be called again."""
        self._team.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Pool of {self._params!r} on {self.device}>"

    # --- Keys: each on one member. ---

    def generate_secret_key(self) -> SecretKey:
        """A fresh secret key, on the first member: see `Context.generate_secret_key`. It stays there unless
        `replicate` copies it."""
        return self._team.run_on(0, self.contexts[0].generate_secret_key)

    def bind(
        self,
        keys: Keys,
        *,
        relinearization: Relinearization = "eager",
        bootstrap: Bootstrap | IntegerBootstrap | None = None,
        automatic: bool = False,
        magnitude: float | None = None,
    ) -> PoolEvaluator:
        """An evaluator with these keys, each of which a member copies when it first uses it: see
        `Context.bind`."""
        if isinstance(keys, Keys):
            require_member(self._team, "bind", keys)
            copies = replicated(self._team, keys)
        else:
            copies = [keys] * len(self)  # the members report the error
        evaluators = self._team.run_on_all(
            lambda member: self.contexts[member].bind(
                copies[member],
                relinearization=relinearization,
                bootstrap=bootstrap,
                automatic=automatic,
                magnitude=magnitude,
            )
        )
        return PoolEvaluator(self, self._team, evaluators, keys)

    @overload
    def circuit(
        self,
        plan: LinearTransform | Bootstrap,
        *,
        members: int | None = None,
        links: LinkTimes | None = None,
        magnitude: float | None = None,
    ) -> PoolCircuit: ...

    @overload
    def circuit(
        self, plan: TransformGrid, *, members: int | None = None, links: LinkTimes | None = None
    ) -> PoolGrid: ...

    def circuit(
        self,
        plan: SharedPlan,
        *,
        members: int | None = None,
        links: LinkTimes | None = None,
        magnitude: float | None = None,
    ) -> PoolCircuit | PoolGrid:
        """A linear transform, a grid of them or a bootstrap of single ciphertexts on several members at the
        same time. Its results have the bits of `plan(x)`.

        Args:
            plan: `LinearTransform(..., members=)` chooses its steps for that number of members.
            members: that compute, the first ones of the pool; None: as many as are fastest by the table of
                the device's times (`hemera calibrate`), or all of them without a table.
            links: the times of copies between members; None: of NVLink on GPUs, of memory on CPUs.
            magnitude: of a bootstrap, as of `Context.bind`. None: that of the evaluator, for its plan.

        Raises:
            TypeError: if the plan is another one.
            MismatchError: if the plan is of other parameters.
            OutOfMemoryError: if a member has no room for its plaintexts.
            ParameterError: if the pool has fewer members, or a transform is given a magnitude.
        """
        return circuit_over(self._team, plan, members, links, magnitude)

    # --- Encoding and the client. ---

    def encode(
        self,
        values: ArrayLike,
        *,
        encoding: str = "slots",
        level: int | None = None,
        scale: float | None = None,
        largest: float | None = None,
    ) -> Plaintext:
        """Encode values, each member its rows: see `Context.encode`."""
        options = {"encoding": encoding, "level": level, "scale": scale, "largest": largest}
        found: Plaintext = self._call(Context.encode, (as_rows(values),), options)
        return found

    def encrypt(
        self,
        values: ArrayLike | Plaintext,
        key: SecretKey | Keys,
        *,
        encoding: str = "slots",
        largest: float | None = None,
    ) -> Ciphertext:
        """Encrypt an array, each member its rows: see `Context.encrypt`. With a secret key that was not
        replicated, its member encrypts all of them."""
        options: dict[str, Any] = {"encoding": encoding, "largest": largest}
        if isinstance(key, SecretKey) and not self._is_replicated(key):
            whole = self._on_member_of(key, "encrypt", lambda own: _encrypted(own, values, key, options))
            return self._keyless.bind(whole)
        if isinstance(key, Keys):
            require_member(self._team, "encrypt", key)
            replicated(self._team, key)
        found: Ciphertext = self._call(Context.encrypt, (as_rows(values), key), options)
        return found

    def decode(
        self,
        plaintext: Plaintext,
        *,
        dtype: DTypeLike | None = None,
        out: NDArray[Any] | None = None,
        encoding: str | None = None,
    ) -> NDArray[Any]:
        """The values of a plaintext: see `Context.decode`."""
        require_type(plaintext, Plaintext, "decode", "a plaintext (a ciphertext decrypts: pool.decrypt)")
        room = _room(plaintext, dtype, out, encoding)
        options = {"dtype": dtype, "encoding": encoding}
        found: NDArray[Any] = self._call(Context.decode, (plaintext,), options, room)
        return found

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
        """The values of a ciphertext: see `Context.decrypt`. If the secret key was replicated, each member
        decrypts its part, to its rows of the result; otherwise all parts go to the key's member."""
        if self._decrypts_in_parts(ciphertext, secret_key):
            options = {"dtype": dtype, "errors": errors, "encoding": encoding}
            room = _room(ciphertext, dtype, out, encoding)
            try:
                found: NDArray[Any] = self._call(Context.decrypt, (ciphertext, secret_key), options, room)
            except _core.NoiseError:
                pass  # it names rows of a part
            else:
                return found
        options = {"dtype": dtype, "errors": errors, "out": out, "encoding": encoding}
        of_one: NDArray[Any] = self._at_secret("decrypt", ciphertext, secret_key, **options)
        return of_one

    def noise_bound(self, *, depth: int, largest: float | None = None, terms: int = 1) -> float:
        """See `Context.noise_bound`."""
        return self.contexts[0].noise_bound(depth=depth, largest=largest, terms=terms)

    def decode_on_device(self, plaintext: Plaintext, *, dtype: DTypeLike | None = None) -> NoReturn:
        """DeviceError: an array lies on one GPU. `context.decode_on_device` takes a part."""
        del plaintext, dtype
        raise _core.DeviceError(_ON_ONE_DEVICE)

    def decrypt_on_device(
        self, ciphertext: Ciphertext, secret_key: SecretKey, *, dtype: DTypeLike | None = None
    ) -> NoReturn:
        """DeviceError: an array lies on one GPU. `context.decrypt_on_device` takes a part."""
        del ciphertext, secret_key, dtype
        raise _core.DeviceError(_ON_ONE_DEVICE)

    def load(self, source: Source) -> Any:
        """An object from its bytes or a file's path: see `Context.load`. Ciphertexts and plaintexts are in
        parts; keys are on the first member."""
        found = self._team.run_on(0, lambda: self.contexts[0].load(source))
        return self._copy_of(found) if isinstance(found, (Ciphertext, Plaintext)) else found

    # --- For the other classes. ---

    def _copy_of(self, stored: Stored) -> Any:
        """A ciphertext or plaintext of any context or pool, in parts here; keys on the first member."""
        if isinstance(stored, (PoolCiphertext, PoolPlaintext)):
            if stored._team is self._team:
                return self._keyless.bind(stored.copy()) if isinstance(stored, PoolCiphertext) else stored
            stored = stored._whole()
        local: Any = stored
        if self._team.member_of(stored.context) is None:
            local = self._team.run_on(0, lambda: stored.to(self.contexts[0]))
        if isinstance(local, Ciphertext):
            return self._keyless.bind(local if local is not stored else local.copy())
        if isinstance(local, Plaintext):
            return PoolPlaintext(parts_of(self._team, local), self, self._team)
        return local

    @property
    def _keyless(self) -> PoolEvaluator:
        evaluators = [context._keyless for context in self.contexts]
        return PoolEvaluator(self, self._team, evaluators, evaluators[0].keys)

    def _call(
        self,
        method: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        out: NDArray[Any] | None = None,
    ) -> Any:
        """A method of the members' contexts, each for its part, and for its rows of `out`."""
        evaluator = self._keyless
        call = Call(self._team, method.__name__, args, kwargs, arrays=True, out=out)
        results = self._team.run([call.task(span, method, self.contexts[span.member]) for span in call.cut])
        return joined(call, call.cut, results, evaluator)

    def _is_replicated(self, key: SecretKey) -> bool:
        homes = [key.context, *(copy.context for copy in key._copies)]
        return all(any(home is context for home in homes) for context in self.contexts)

    def _decrypts_in_parts(self, ciphertext: object, secret_key: object) -> bool:
        return (
            isinstance(ciphertext, PoolCiphertext)
            and isinstance(secret_key, SecretKey)
            and self._is_replicated(secret_key)
        )

    def _at_secret(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A method of the contexts, on the member of the secret key among its arguments, with ciphertexts
        whole."""
        given = inspect.signature(getattr(Pool, name)).bind(self, *args, **kwargs).arguments
        key = given["source" if "source" in given else "secret_key"]
        if "ciphertext" in given:
            x = require_type(given["ciphertext"], Ciphertext, name, "a ciphertext")
            Call(self._team, name, (x,), {})  # raises unless the ciphertext belongs here
        return self._on_member_of(
            key,
            name,
            lambda context: getattr(context, name)(
                *(_whole(each, context) for each in args),
                **{name: _whole(each, context) for name, each in kwargs.items()},
            ),
        )

    def _on_member_of(self, key: SecretKey, operation: str, work: Callable[[Context], T]) -> T:
        """work(context) on the member of a secret key."""
        if not isinstance(key, SecretKey):
            raise TypeError(f"{operation} needs a SecretKey, not {described(key)}")
        member = require_member(self._team, operation, key)
        return self._team.run_on(member, lambda: work(self.contexts[member]))


def _at_secret(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Context, name))
    def call(self: Pool, *args: Any, **kwargs: Any) -> Any:
        return self._at_secret(name, *args, **kwargs)

    return call


for _name in ("generate_keys", "save_keys", "generate_switching_key", "decrypt_for_sharing", "noise_budget"):
    setattr(Pool, _name, _at_secret(_name))


def _encrypted(context: Context, values: Any, key: SecretKey, options: dict[str, Any]) -> Ciphertext:
    """Values of the pool, encrypted on one member."""
    if isinstance(values, PoolPlaintext) and values.shape:
        return concatenate([context.encrypt(_whole(part, context), key, **options) for part in values.parts])
    return context.encrypt(_whole(values, context), key, **options)


def _room(
    values: Ciphertext | Plaintext, dtype: DTypeLike | None, out: NDArray[Any] | None, encoding: str | None
) -> NDArray[Any]:
    """An array for the decoded values: the one that was given, or a new one."""
    is_of_coefficients = encoding == "coefficients" != values.encoding
    shape = (*values.shape, values.context.params.degree if is_of_coefficients else values.filled)
    if out is not None:
        return room_in(out, shape)
    usual = np.float64 if is_of_coefficients else values.dtype
    return np.empty(shape, usual if dtype is None else dtype)


def _whole(value: Any, context: Context) -> Any:
    """A value of the pool as one of a member."""
    if isinstance(value, (PoolCiphertext, PoolPlaintext)):
        return whole_on(parts_in(value), context)
    if isinstance(value, (Ciphertext, Plaintext)) and value.context is not context:
        return value.to(context)
    return value


_ON_ONE_DEVICE = (
    "an array lies on one GPU, and the values of a pool on several: decrypt x.parts, each with the context "
    "of its member (part.context.decrypt_on_device)"
)
