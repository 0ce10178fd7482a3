"""The keys and operations of a computation: of a plan, or of a function that `hemera.cost` counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hemera import _core
from hemera.parameters import Parameters

OPERATIONS = {
    "products": "products",
    "plain_products": "products with plaintexts",
    "key_products": "products with keys",
    "mod_ups": "extensions of digits",
    "divisions": "divisions by special primes",
    "rescales": "rescales of their own",
}

_KEYS_AT_ONCE = 4
"""The most rotation keys that are made between two calls of a progress function."""


class KeyNeeds(ABC):
    """Keys. `Context.generate_keys(plan=)` makes them."""

    @property
    @abstractmethod
    def needed_keys(self) -> list[_core.KeyNeed]:
        """The switching keys, with their gadgets."""

    def _generate_keys(self, secret_key: _core.SecretKey) -> _core.EvaluationKeys:
        return _core.generate_needed_keys(secret_key, self.needed_keys)

    def _in_turns(self) -> list[list[_core.KeyNeed]]:
        """The keys in lists that can be made one after the other: rotations a few at a time, and first all
        others, as some share a secret of their own."""
        needs = self.needed_keys
        galois = [need for need in needs if need.kind == "galois"]
        others = [need for need in needs if need.kind != "galois"]
        turns = [galois[i : i + _KEYS_AT_ONCE] for i in range(0, len(galois), _KEYS_AT_ONCE)]
        return [others, *turns] if others else turns


class Needs(KeyNeeds):
    """Keys and operations."""

    def __init__(self, params: Parameters) -> None:
        self._params = params

    @abstractmethod
    def _counted(self) -> tuple[list[_core.KeyNeed], _core.Cost]:
        """The keys, and the operations of one evaluation."""

    @property
    def needed_keys(self) -> list[_core.KeyNeed]:
        """The switching keys that the computation takes, with their gadgets. A usual relinearization key of
        `Context.generate_keys` serves functions as well."""
        return list(self._counted()[0])

    @property
    def upload_bytes(self) -> int:
        """The bytes that a client uploads of the keys: their packed residues, without the half that seeds
        stand for. A file has some hundred bytes more for each key."""
        return uploaded_bytes(self._params, self.needed_keys)

    @property
    def operations(self) -> dict[str, int]:
        """The number of operations of one evaluation, by kind: "products" of ciphertexts, "plain_products",
        "key_products" (of digits with a key), "mod_ups" (extensions of digits), "divisions" (by special
        primes, some with a rescale), "rescales" (all others)."""
        _, cost = self._counted()
        return {kind: getattr(cost, kind) for kind in OPERATIONS}

    def _operations_line(self) -> str:
        counts = [f"{count} {OPERATIONS[kind]}" for kind, count in self.operations.items() if count]
        return ", ".join(counts) or "no operations"

    def _keys(self) -> list[dict[str, Any]]:
        """Each key: its kind, rotation and gadget."""
        needs = self.needed_keys
        steps = _core.rotation_steps(self._params._native, needs)
        keys = []
        for need in needs:
            step = steps.get(need.galois_element) if need.kind == "galois" else None
            limbs = len(need.primes) + len(need.special_primes)
            kind = need.kind
            if kind == "galois":
                kind = "conjugation" if step is None else "rotation"
            keys.append(
                {
                    "kind": kind,
                    "rotation": step,
                    "galois_element": need.galois_element,
                    "primes": len(need.primes),
                    "special_primes": len(need.special_primes),
                    "digits": need.digits,
                    "bytes": 16 * need.digits * limbs * self._params.degree,
                }
            )
        return keys

    def _key_lines(self) -> list[str]:
        """A line for the keys of each kind and gadget."""
        rotations: dict[tuple[int, int, int], list[int]] = {}
        others: Counter[tuple[str, tuple[int, int, int]]] = Counter()
        for key in self._keys():
            gadget = (key["primes"], key["special_primes"], key["digits"])
            if key["kind"] == "rotation":
                rotations.setdefault(gadget, []).append(key["rotation"])
            else:
                others[key["kind"], gadget] += 1
        named = [
            (f"rotations by {', '.join(map(str, sorted(steps)))}", at) for at, steps in rotations.items()
        ]
        named += [(kind, gadget) for kind, gadget in others]
        return [
            f"  {what}: {primes} + {special} primes in {digits} digit{'' if digits == 1 else 's'}"
            for what, (primes, special, digits) in named
        ]


def uploaded_bytes(params: Parameters, needs: Iterable[_core.KeyNeed]) -> int:
    """The bytes to upload of some keys: see `Needs.upload_bytes`."""
    bits = sum(
        need.digits * sum((prime - 1).bit_length() for prime in (*need.primes, *need.special_primes))
        for need in needs
    )
    return bits * params.degree // 8


def size_text(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"
