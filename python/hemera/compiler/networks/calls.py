"""Nodes of a file, of its functions, and of graphs in attributes, before their operators are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hemera.compiler.networks.tensors import text_of
from hemera.errors import FormatError

_LONGEST = 1 << 7
"""Characters of a node's name in messages."""

Key = tuple[str, str, str]
"""The domain, the name and the overload of an operator."""


@dataclass(frozen=True)
class Call:
    """A node."""

    operator: Key
    name: str
    inputs: tuple[str, ...]
    """The operands, and what the graphs of its attributes take of the network around them."""
    outputs: tuple[str, ...]
    """Names; "" for those that nothing takes."""
    attributes: Mapping[str, Any]
    """onnx.AttributeProto by name, those of a function's call in the place of references to them."""
    graphs: Mapping[str, Any]
    """onnx.GraphProto by the name of its attribute."""
    operands: int
    """The number of inputs that are operands."""

    @property
    def key(self) -> str:
        """The name by which a function is given in the place of its operator."""
        return keyed(self.operator)

    @property
    def title(self) -> str:
        """The title for messages."""
        return f"{self.key} {self.name[:_LONGEST]!r}"


def _domain(holder: Any) -> str:
    """The name of a domain: ONNX's own has two."""
    own = text_of(holder.domain)
    return "" if own == "ai.onnx" else own


def key_of(holder: Any, name: str | bytes) -> Key:
    """The key of a node or a function."""
    return _domain(holder), text_of(name), text_of(holder.overload)


def keyed(key: Key) -> str:
    """The name of an operator in any overload, with its domain where that is not ONNX's."""
    return "::".join(filter(None, key[:2]))


def calls_of(nodes: Iterable[Any], given: Mapping[str, Any], absent: Collection[str] = ()) -> list[Call]:
    """The calls of nodes (onnx.NodeProto).

    Args:
        given: the attributes of the call of the function in which they are.
        absent: operands that this call leaves out.
    """
    found = []
    for at, node in enumerate(nodes):
        attributes = {}
        for each in node.attribute:
            own = given.get(text_of(each.ref_attr_name)) if each.ref_attr_name else each
            if own is not None:
                attributes[text_of(each.name)] = own
        call = Call(
            key_of(node, node.op_type),
            text_of(node.name) or f"number {at}",
            tuple("" if name in absent else name for name in _taken(node)),
            tuple(map(text_of, node.output)),
            attributes,
            dict(_graphs(node)),
            len(node.input),
        )
        found.append(call)
    return found


def _graphs(node: Any) -> Iterator[tuple[str, Any]]:
    return ((text_of(each.name), each.g) for each in node.attribute if each.HasField("g"))


def _taken(node: Any) -> list[str]:
    """The operands of a node, and then, each once, what the graphs of its attributes take."""
    around = dict.fromkeys(name for _, graph in _graphs(node) for name in taken_by(graph))
    return [*map(text_of, node.input), *around]


def taken_by(graph: Any) -> list[str]:
    """What a graph in an attribute (onnx.GraphProto) takes of the network around it."""
    there = {"", *names_of(graph.input), *names_of(graph.initializer)}
    found = []
    for node in graph.node:
        found += [name for name in _taken(node) if name not in there]
        there.update(map(text_of, node.output))
    return found + [name for name in names_of(graph.output) if name not in there]


def names_of(values: Iterable[Any]) -> tuple[str, ...]:
    """The names of inputs, results or constants."""
    return tuple(text_of(each.name) for each in values)


def operators_in(nodes: Iterable[Any]) -> Iterator[str]:
    """The keys of nodes, and of those in their attributes."""
    for call in calls_of(nodes, {}):
        yield call.key
        for graph in call.graphs.values():
            yield from operators_in(graph.node)


def needed(calls: Sequence[Call], outputs: Iterable[str]) -> list[Call]:
    """Without those whose results nothing takes, and without results that nothing takes."""
    wanted, found = set(outputs), []
    for call in reversed(calls):
        taken = tuple(name if name in wanted else "" for name in call.outputs)
        if any(taken):
            found.append(replace(call, outputs=taken))
            wanted.update(call.inputs)
    return found[::-1]


def require_order(source: str, known: Iterable[str], calls: Iterable[Call], outputs: Iterable[str]) -> None:
    """FormatError for values that are used before they are there, or are made twice."""
    known = set(known)
    for call in calls:
        lost = [name for name in call.inputs if name and name not in known]
        if lost:
            raise FormatError(f"{source}: {call.title} takes {lost[0]!r}, which is not there")
        for name in filter(None, call.outputs):
            if name in known:
                raise FormatError(f"{source}: {call.title} makes {name!r}, which is there already")
            known.add(name)
    gone = [name for name in outputs if name not in known]
    if gone:
        raise FormatError(f"{source}: the result {gone[0]!r} is not there")


def versions_of(source: str, holder: Any, others: Mapping[str, int]) -> dict[str, int]:
    """The versions of operators by their domain, of a model or a function in one with others."""
    own = {_domain(each): int(each.version) for each in holder.opset_import}
    if len(own) < len(holder.opset_import):
        raise FormatError(f"{source}: two versions of operators of one domain")
    if not own and 0 < getattr(holder, "ir_version", 0) < 3:  # files from before there were versions
        return {"": 1}
    return {**others, **own}
