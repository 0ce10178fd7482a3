"""The switching keys of a model's clients: as a dry run counts them, and as files and servers list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hemera import _core, circuits
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey
from hemera.parameters import Parameters
from hemera.serving.values import MAX_SLOTS, integer

__all__ = ["AskedKeys", "KeyList", "top_level"]


@dataclass(frozen=True)
class AskedKeys:
    """The keys that one operation asked for in a dry run."""

    by_gadget: list[tuple[_core.KeyNeed, int]]
    """Keys of one gadget, such as those of a matrix, whose rotations share their work, with their level."""
    by_level: list[tuple[_core.KeyNeed, int]]
    """Keys of any gadget that serves the level."""
    bootstrap: Mapping[str, Any] | None = None
    """Of a bootstrap: the arguments of `hemera.circuits.Bootstrap` besides the parameters."""

    @property
    def needs(self) -> list[tuple[_core.KeyNeed, int]]:
        """Both."""
        return [*self.by_gadget, *self.by_level]


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
    """Arguments of `hemera.circuits.Bootstrap` besides the parameters."""

    @classmethod
    def of(cls, params: Parameters, asked: Sequence[AskedKeys]) -> KeyList:
        """One key for each rotation, for all operations that asked for keys."""
        relinearization, steps = _levels(params, [each for each in asked if each.bootstrap is None])
        conjugation = steps.pop(None, None)
        bootstraps: list[dict[str, Any]] = []
        for each in asked:
            if each.bootstrap is not None and dict(each.bootstrap) not in bootstraps:
                bootstraps.append(dict(each.bootstrap))
        rotations = {step: level for step, level in steps.items() if step is not None}
        return cls(relinearization, rotations, conjugation, tuple(bootstraps))

    @property
    def count(self) -> int:
        """Of keys, without those of bootstraps."""
        return len(self.rotations) + sum(x is not None for x in (self.relinearization, self.conjugation))

    def plans(self, params: Parameters) -> list[circuits.Bootstrap]:
        """The bootstraps."""
        return [circuits.Bootstrap(params, **settings) for settings in self.bootstraps]

    def needs(self, ctx: Context) -> list[_core.KeyNeed]:
        """The keys with their gadgets, without those of bootstraps."""
        native, params = ctx._native, ctx.params._native
        elements = [(native.galois_element(steps), level) for steps, level in sorted(self.rotations.items())]
        if self.conjugation is not None:
            elements.append((native.conjugation_element(), self.conjugation))
        needs = [_core.key_need(params, 1, element, level) for element, level in elements]
        if self.relinearization is not None:
            needs.append(_core.key_need(params, 2, 1, self.relinearization))
        return needs

    def generate(self, ctx: Context, secret_key: SecretKey) -> Keys:
        """The keys, with those of bootstraps; see `Context.generate_keys`."""
        plans = self.plans(ctx.params)
        keys = ctx.generate_keys(secret_key, public_key=False, relinearization=False, plan=plans)
        return keys | Keys(_core.generate_needed_keys(secret_key._native, self.needs(ctx)), ctx)

    # --- As data. ---

    def to_data(self) -> dict[str, Any]:
        """What JSON takes."""
        return {
            "relinearization": self.relinearization is not None,
            "relinearization_level": self.relinearization,
            "rotations": [[steps, level] for steps, level in sorted(self.rotations.items())],
            "conjugation": self.conjugation,
            "bootstraps": [dict(each) for each in self.bootstraps],
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
            tuple(_bootstrap(each) for each in data["bootstraps"]),
        )


def top_level(params: Parameters) -> int:
    """The level of fresh encryptions: below those that bootstraps have for themselves."""
    if params.scheme != "ckks":
        return params.levels - 1
    return circuits.InnerSum(params, slots=2, count=2).level


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
            level = max(levels[element] for element in elements)
            changed |= any(levels[element] < level for element in elements)
            levels.update(dict.fromkeys(elements, level))
    steps = _core.rotation_steps(params._native, [need for need, _ in needs])
    return relinearization, {steps.get(element): level for element, level in levels.items()}


def _bootstrap(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "slots": integer(data["slots"], "slots", 2, MAX_SLOTS),
        "real": bool(data["real"]),
        "iterations": integer(data["iterations"], "iterations", 1, 8),
        "merge_parts": bool(data["merge_parts"]),
    }
