"""The switching keys of a model's clients: as operations take them, and as files and servers list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from hemera import _core, circuits
from hemera.circuits.needs import KeyNeeds, uploaded_bytes
from hemera.errors import ParameterError
from hemera.inputs.arguments import Progress
from hemera.integers.needs import NeededKeys as IntegerKeys
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey
from hemera.parameters import Parameters
from hemera.program.operations import (
    ExactBootstraps,
    IntegerFunction,
    OfMatrix,
    Operation,
    PairProducts,
    Place,
    Refresh,
    bootstrap_with,
    exact_bootstrap,
    integer_keys,
    pair_product,
)
from hemera.program.values import MAX_PASSES, MAX_SLOTS, MAX_UPLOAD, integer

_MOST_SPECIAL = 64
_POWERS = {"rotation": 1, "conjugation": 1, "relinearization": 2}


Plan = circuits.Bootstrap | circuits.MatrixBatchProduct | circuits.IntegerBootstrap | IntegerKeys
_Numbers = _core.Context | _core.Parameters
"""They know the Galois elements of rotations: a context those of its own order of slots."""


@dataclass(frozen=True, order=True)
class OwnKey:
    """A key over the primes of one level alone: shorter than one for all levels up to it, and faster."""

    use: str
    """"rotation", "conjugation" or "relinearization"."""
    steps: int
    """The steps of a rotation; else 0."""
    level: int
    special: int
    """Its special primes, at most."""

    def __str__(self) -> str:
        steps = f" by {self.steps}" if self.use == "rotation" else ""
        return f"{self.use}{steps} at level {self.level} alone"

    @classmethod
    def from_data(cls, data: Any, top: int) -> OwnKey:
        """The key of a list of its four parts."""
        use, steps, level, special = data
        if use not in _POWERS:
            raise ParameterError(f"a key for {use!r}")
        return cls(
            use,
            integer(steps, "steps", -MAX_SLOTS, MAX_SLOTS),
            integer(level, "a level", 0, top),
            integer(special, "special primes", 1, _MOST_SPECIAL),
        )

    def need(self, params: Parameters, numbers: _Numbers) -> _core.KeyNeed:
        """The key with its gadget."""
        elements = {
            "rotation": numbers.galois_element(self.steps),
            "conjugation": numbers.conjugation_element(),
        }
        element = elements.get(self.use, 1)
        return _core.key_need(params._native, _POWERS[self.use], element, self.level, self.special)


@dataclass(frozen=True)
class _ListedKeys(KeyNeeds):
    needs: list[_core.KeyNeed]

    @property
    def needed_keys(self) -> list[_core.KeyNeed]:
        return self.needs


@dataclass(frozen=True)
class AskedKeys:
    """The keys that one operation takes."""

    by_gadget: list[tuple[_core.KeyNeed, int]]
    """Keys of one gadget, such as those of a matrix, whose rotations share their work, with their level."""
    by_level: list[tuple[_core.KeyNeed, int]]
    """Keys of any gadget that serves the level."""
    bootstrap: Mapping[str, Any] | None = None
    """The arguments of a bootstrap's plan (`hemera.circuits`) besides the parameters."""
    pairs: tuple[int, int] | None = None
    """The size and level of products of pairs of matrices."""
    integers: tuple[int, int] | None = None
    """The bits of integers, and their number in a ciphertext."""
    _apart: dict[Parameters, tuple[list[OwnKey], AskedKeys]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def told(cls, operation: Operation, place: Place) -> AskedKeys:
        """The keys of an operation of CKKS, by its traits."""
        if isinstance(operation, (Refresh, PairProducts, IntegerFunction)):
            return cls.of_plans(operation, place)
        keys = operation.keys(place)
        return cls(keys, []) if isinstance(operation, OfMatrix) else cls([], keys)

    @classmethod
    def of_plans(cls, operation: Operation, place: Place) -> AskedKeys:
        """Without keys, but with what decides those of a plan."""
        settings = operation.settings(place.form) if isinstance(operation, Refresh) else None
        pairs = operation.settings(place) if isinstance(operation, PairProducts) else None
        integers = operation.settings() if isinstance(operation, IntegerFunction) else None
        return cls([], [], settings, pairs, integers)

    @property
    def of_plan(self) -> bool:
        """Whether a plan of its own makes the keys."""
        return (self.bootstrap, self.pairs, self.integers) != (None, None, None)

    @property
    def needs(self) -> list[tuple[_core.KeyNeed, int]]:
        """Both."""
        return [*self.by_gadget, *self.by_level]

    def apart(self, params: Parameters) -> tuple[list[OwnKey], AskedKeys]:
        """The keys of `by_gadget` that are for one level alone, and all others."""
        if params in self._apart:
            return self._apart[params]
        own, others = list[OwnKey](), list[tuple[_core.KeyNeed, int]]()
        for need, level in self.by_gadget:
            special = _core.own_special_primes(params._native, need, level)
            if special is None:
                others.append((need, level))
                continue
            steps = _core.rotation_steps(params._native, [need])
            own.append(OwnKey(_use_of(need, steps), steps.get(need.galois_element, 0), level, special))
        return self._apart.setdefault(params, (own, replace(self, by_gadget=others)))


@dataclass(frozen=True)
class KeyList:
    """Keys by their use, each with the highest level that it serves."""

    relinearization: int | None = None
    """None: not used."""
    rotations: dict[int, int] = field(default_factory=dict)
    """Levels by steps."""
    conjugation: int | None = None
    """CKKS: conjugation; BFV and BGV: the exchange of the rows."""
    bootstraps: tuple[dict[str, Any], ...] = ()
    """Arguments of `hemera.circuits.Bootstrap` besides the parameters. BFV and BGV: those of one
    `IntegerBootstrap`, whose keys are the same for any number of passes."""
    own: tuple[OwnKey, ...] = ()
    """Keys of single levels."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Size and level of products of pairs of matrices (`hemera.circuits.MatrixBatchProduct`)."""
    integers: tuple[tuple[int, int], ...] = ()
    """Bits of integers, and their number in a ciphertext: `hemera.integers` takes a public key, too."""

    @classmethod
    def of(cls, params: Parameters, asked: Sequence[AskedKeys]) -> KeyList:
        """One key for each rotation, for all operations that asked for keys."""
        apart = [each.apart(params) for each in asked if not each.of_plan and each.needs]
        relinearization, steps = _levels(params, [usual for _, usual in apart])
        conjugation = steps.pop(None, None)
        bootstraps: list[dict[str, Any]] = []
        for each in asked:
            if each.bootstrap is not None and dict(each.bootstrap) not in bootstraps:
                bootstraps.append(dict(each.bootstrap))
        if params.scheme != "ckks":
            bootstraps = sorted(bootstraps, key=lambda each: -int(each["passes"]))[:1]
        rotations = {step: level for step, level in steps.items() if step is not None}
        own = {key for keys, _ in apart for key in keys}
        pairs = tuple(sorted({each.pairs for each in asked if each.pairs is not None}))
        integers = tuple(sorted({each.integers for each in asked if each.integers is not None}))
        plans = tuple(bootstraps), tuple(sorted(own)), pairs, integers
        return cls(relinearization, rotations, conjugation, *plans)

    @property
    def public_key(self) -> bool:
        """Whether the server encrypts."""
        return bool(self.integers)

    @property
    def count(self) -> int:
        """The number of keys, without those of `plans`."""
        single = sum(x is not None for x in (self.relinearization, self.conjugation))
        return len(self.rotations) + single + len(self.own)

    def plans(self, params: Parameters) -> Sequence[Plan]:
        """The bootstraps, the products of pairs and the integers."""
        if params.scheme != "ckks":
            bits = ExactBootstraps.failure_bits
            return [exact_bootstrap(params, settings["passes"], bits) for settings in self.bootstraps]
        found: list[Plan] = []
        found += (bootstrap_with(params, *sorted(settings.items())) for settings in self.bootstraps)
        found += (pair_product(params, size, level) for size, level in self.pairs)
        found += (integer_keys(params, bits, values) for bits, values in self.integers)
        return found

    def needs(self, ctx: Context) -> list[_core.KeyNeed]:
        """The keys with their gadgets, without those of `plans`."""
        return self._needs(ctx.params, ctx._native)

    def _needs(self, params: Parameters, numbers: _Numbers) -> list[_core.KeyNeed]:
        elements = [(numbers.galois_element(steps), level) for steps, level in sorted(self.rotations.items())]
        if self.conjugation is not None:
            elements.append((numbers.conjugation_element(), self.conjugation))
        needs = [_core.key_need(params._native, 1, element, level) for element, level in elements]
        if self.relinearization is not None:
            needs.append(_core.key_need(params._native, 2, 1, self.relinearization))
        return needs + [each.need(params, numbers) for each in self.own]

    def _all_needs(self, params: Parameters, numbers: _Numbers) -> list[_core.KeyNeed]:
        needs = self._needs(params, numbers)
        for plan in self.plans(params):
            needs += [need for need in plan.needed_keys if need not in needs]
        return needs

    def all_needs(self, ctx: Context) -> list[_core.KeyNeed]:
        """The keys with their gadgets, with those of `plans`."""
        return self._all_needs(ctx.params, ctx._native)

    def upload_bytes(self, params: Parameters) -> int:
        """The bytes that a client uploads of all keys: see `hemera.circuits.Plan.upload_bytes`."""
        return uploaded_bytes(params, self._all_needs(params, params._native))

    def file(self, params: Parameters) -> bytes:
        """The list as a file, of which clients of any language make the keys."""
        return _core.save_needed_keys(
            params._native, self._all_needs(params, params._native), self.public_key
        )

    def generate(self, ctx: Context, secret_key: SecretKey, progress: Progress = None) -> Keys:
        """The keys, with those of `plans`; see `Context.generate_keys`."""
        plans = [*self.plans(ctx.params), _ListedKeys(self.needs(ctx))]
        return ctx.generate_keys(
            secret_key, public_key=self.public_key, relinearization=False, plan=plans, progress=progress
        )

    # --- As data. ---

    def to_data(self) -> dict[str, Any]:
        """Data for JSON. Keys of single levels are named where there are some."""
        own = {"own": [list(astuple(each)) for each in self.own]} if self.own else {}
        pairs = {"pairs": [list(each) for each in self.pairs]} if self.pairs else {}
        return {
            "relinearization": self.relinearization is not None,
            "relinearization_level": self.relinearization,
            "rotations": [[steps, level] for steps, level in sorted(self.rotations.items())],
            "conjugation": self.conjugation,
            "bootstraps": [dict(each) for each in self.bootstraps],
            **own,
            **pairs,
            **({"integers": [list(each) for each in self.integers]} if self.integers else {}),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any], params: Parameters) -> KeyList:
        """The list of `to_data`. Files from before relinearization keys had a level have them for the highest
        one."""
        top = params.levels - 1

        def level(value: Any) -> int | None:
            return None if value is None else integer(value, "a level", 0, top)

        relinearization = None
        if bool(data["relinearization"]):
            told = level(data.get("relinearization_level"))
            relinearization = top_level(params) if told is None else told
        return cls(
            relinearization,
            {
                integer(steps, "steps", -MAX_SLOTS, MAX_SLOTS): integer(at, "a level", 0, top)
                for steps, at in data["rotations"]
            },
            level(data["conjugation"]),
            tuple(_bootstrap(each, params) for each in data["bootstraps"]),
            tuple(OwnKey.from_data(each, top) for each in data.get("own", ())),
            tuple(_pairs(each, top) for each in data.get("pairs", ())),
            tuple(_integers(each) for each in data.get("integers", ())),
        )


def top_level(params: Parameters) -> int:
    """The level of fresh encryptions: below those that bootstraps have for themselves."""
    return params._native.highest_user_level


def _levels(params: Parameters, asked: Sequence[AskedKeys]) -> tuple[int | None, dict[int | None, int]]:
    """The highest level at which relinearization keys are asked for, and those of Galois keys by their steps
    (None: conjugation), those of one gadget all at one level."""
    levels: dict[int, int] = {}
    relinearization: int | None = None
    needs = [need for each in asked for need in each.needs]
    for need, level in needs:
        if need.kind == "relinearization":
            relinearization = max(level, relinearization or 0)
        else:
            levels[need.galois_element] = max(level, levels.get(need.galois_element, 0))
    together = [{need.galois_element for need, _ in each.by_gadget} for each in asked if each.by_gadget]
    changed = True
    while changed:
        changed = False
        for elements in together:
            own = [levels[element] for element in elements]
            level = max(own)
            changed |= min(own) < level
            levels.update(dict.fromkeys(elements, level))
    steps = _core.rotation_steps(params._native, [need for need, _ in needs])
    return relinearization, {steps.get(element): level for element, level in levels.items()}


def _use_of(need: _core.KeyNeed, steps: Mapping[int, int]) -> str:
    if need.kind == "relinearization":
        return "relinearization"
    return "rotation" if need.galois_element in steps else "conjugation"


def _pairs(data: Any, top: int) -> tuple[int, int]:
    size, level = data
    return integer(size, "a size of matrices", 2, MAX_SLOTS), integer(level, "a level", 1, top)


def _integers(data: Any) -> tuple[int, int]:
    bits, values = data
    return integer(bits, "bits of integers", 8, 64), integer(values, "values", 1, MAX_SLOTS)


def _bootstrap(data: Mapping[str, Any], params: Parameters) -> dict[str, Any]:
    if params.scheme != "ckks":
        return {"passes": integer(data["passes"], "passes", 1, MAX_PASSES)}
    together = integer(data.get("together", 1), "together", 1, MAX_SLOTS)
    limit = data.get("upload_limit")
    return {
        "slots": integer(data["slots"], "slots", 2, MAX_SLOTS),
        "real": bool(data["real"]),
        "iterations": integer(data["iterations"], "iterations", 1, 8),
        "merge_parts": bool(data["merge_parts"]),
        **({"together": together} if together != 1 else {}),
        **({"upload_limit": integer(limit, "upload_limit", 1, MAX_UPLOAD)} if limit else {}),
    }
