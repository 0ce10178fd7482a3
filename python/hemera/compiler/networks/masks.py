"""Masks of -inf before a softmax: the places that they close get the weight 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hemera.arrays.functions import softmax
from hemera.compiler.networks.graph import Graph, Node
from hemera.compiler.networks.meanings import Attributes, Meaning
from hemera.compiler.networks.resolving import meaning_of
from hemera.compiler.networks.tensors import UNKNOWN

_SOFTMAX = meaning_of("Softmax", 13)


def with_masks(graph: Graph) -> Graph:
    """The network in which a softmax takes the mask that is added before it, or chosen by a condition.

    Encrypted values are finite, so that a mask of -inf has no sum with them.
    """
    uses = Counter(name for node in graph.nodes for name in node.inputs)
    uses.update(graph.outputs)
    makers = {node.outputs[0]: node for node in graph.nodes if uses[node.outputs[0]] == 1}
    constants, kinds = dict(graph.constants), dict(graph.kinds)
    found, gone = [], set()
    for node in graph.nodes:
        before = makers.get(node.inputs[0]) if node.meaning is _SOFTMAX else None
        taken = None if before is None else _masked(before, graph.constants)
        if before is not None and taken is not None:
            name, added, kept = taken
            own = f"{node.outputs[0]} mask"
            constants.update({f"{own} sum": added, f"{own} kept": kept})
            kinds.update({f"{own} sum": UNKNOWN, f"{own} kept": UNKNOWN})
            gone.add(before.outputs[0])
            node = replace(node, inputs=(name, f"{own} sum", f"{own} kept"), meaning=_MEANING)
        found.append(node)
    left = tuple(node for node in found if node.outputs[0] not in gone)
    return replace(graph, nodes=left, constants=constants, kinds=kinds)


def _masked(node: Node, constants: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """For a node that closes places: the name of the values, the summand, and which places stay. None for
    another node."""
    known = [constants.get(name) for name in node.inputs]
    for at, other in ((1, 0), (0, 1)):
        mask = known[at] if len(known) == 2 else None
        if node.meaning is meaning_of("Add", 14) and mask is not None and _closes(mask):
            open_ = np.isfinite(mask)
            return node.inputs[other], np.where(open_, mask, 0), open_
    if node.meaning is meaning_of("Where", 16) and known[0] is not None:
        for at, kept in ((2, known[0]), (1, ~known[0])):
            side = known[at]
            if side is not None and (side == -np.inf).all():
                return node.inputs[3 - at], np.zeros(1), kept
    return None


def _closes(mask: Any) -> bool:
    return bool(mask.dtype.kind == "f" and (mask == -np.inf).any() and (np.isfinite(mask) | (mask < 0)).all())


def _softmax_of_some(attributes: Attributes, x: Any, added: Any, kept: Any) -> Any:
    return softmax(x + added, attributes["axis"], where=kept)


_MEANING = Meaning((), _softmax_of_some, ("axis",))
