"""Nodes of a network in a row, with the functions of its file in the place of their calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hemera.compiler.networks.tensors import text_of
from hemera.errors import FormatError

MOST_NODES = 1 << 16
_MOST_DEPTH = 32
_LONGEST = 1 << 10
"""The longest name of a node with others in it, whose names begin with its own."""


@dataclass(frozen=True)
class Call:
    """A node of the file, or of one of its functions, with the names that it has in the network."""

    domain: str
    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    """onnx.AttributeProto by name."""
    versions: Mapping[str, int]
    """The versions of operators by their domain."""
    graphs: Mapping[str, Inner]
    """The graphs in attributes by name. What they take of the network is in `inputs`, too."""
    operands: int
    """The number of inputs that are operands."""

    @property
    def key(self) -> str:
        """The name by which a function is given in the place of its operator."""
        return f"{self.domain}::{self.operator}" if self.domain else self.operator

    @property
    def title(self) -> str:
        """The title for messages."""
        return f"{self.key} {self.name!r}"


@dataclass(frozen=True)
class Inner:
    """A graph in an attribute of a node, with names of the network."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    calls: Sequence[Call]
    constants: Mapping[str, Any]
    """onnx.TensorProto by name."""
    taken: tuple[str, ...]
    """What it takes of the network around it."""


def _domain(name: str | bytes) -> str:
    """The name of a domain: ONNX's own has two."""
    own = text_of(name)
    return "" if own == "ai.onnx" else own


def calls_of(source: str, model: Any, replaced: Collection[str]) -> list[Call]:
    """All nodes of a model, those of its functions for each call of one.

    Args:
        replaced: keys of operators that stay calls.

    Raises:
        FormatError: for functions that call themselves, of operands that do not fit, and for too many nodes.
    """
    found: list[Call] = []
    functions = {_key(each, each.name): each for each in model.functions}
    functions = {
        key: each for key, each in functions.items() if "::".join(filter(None, key[:2])) not in replaced
    }
    versions = _versions(source, model)
    _Inlined(source, functions, found).add(model.graph.node, versions, str, {}, "", ())
    return found


def calls_in(source: str, call: Call, function: Any) -> list[Call]:
    """The nodes of a function in the place of a call, as `calls_of`."""
    found: list[Call] = []
    _Inlined(source, {}, found).call(call, function, ())
    return found


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


def _key(holder: Any, name: str | bytes) -> tuple[str, str, str]:
    return _domain(holder.domain), text_of(name), text_of(holder.overload)


def _versions(source: str, holder: Any, others: Mapping[str, int] | None = None) -> dict[str, int]:
    if len({_domain(each.domain) for each in holder.opset_import}) < len(holder.opset_import):
        raise FormatError(f"{source}: two versions of operators of one domain")
    own = {_domain(each.domain): int(each.version) for each in holder.opset_import}
    if not own and 0 < getattr(holder, "ir_version", 0) < 3:  # files from before there were versions
        return {"": 1}
    return {**(others or {}), **own}


class _Inlined:
    def __init__(
        self, source: str, functions: Mapping[Any, Any], found: list[Call], most: int | None = None
    ) -> None:
        self._source = source
        self._functions = functions
        self._found = found
        self._most = MOST_NODES if most is None else most

    def add(
        self,
        nodes: Iterable[Any],
        versions: Mapping[str, int],
        names: Callable[[str], str],
        given: Mapping[str, Any],
        prefix: str,
        within: tuple[Any, ...],
    ) -> None:
        """Nodes, of a function or an inner graph where there is a prefix.

        Args:
            names: the name in the network of one in the function.
            given: the attributes of the function's call.
            within: the functions in which they are.
        """

        def named(own: str | bytes) -> str:
            return names(text_of(own)) if own else ""

        for node in nodes:
            if len(self._found) >= self._most:
                raise FormatError(f"{self._source}: no network: more than {MOST_NODES} operators")
            title = prefix + (text_of(node.name) or f"number {len(self._found)}")
            graphs = {
                text_of(each.name): self._inner(
                    each.g, f"{title}/{text_of(each.name)}", versions, named, given, within
                )
                for each in node.attribute
                if each.HasField("g")
            }
            taken = dict.fromkeys(name for each in graphs.values() for name in each.taken)
            call = Call(
                _domain(node.domain),
                text_of(node.op_type),
                title,
                (*map(named, node.input), *taken),
                tuple(map(named, node.output)),
                _attributes(node, given),
                versions,
                graphs,
                len(node.input),
            )
            key = _key(node, node.op_type)
            if key not in self._functions:
                self._found.append(call)
            elif key in within or len(within) >= _MOST_DEPTH:
                raise FormatError(
                    f"{self._source}, {call.title}: a function that calls itself, or is too deep"
                )
            else:
                self.call(call, self._functions[key], (*within, key))

    def _inner(
        self,
        graph: Any,
        title: str,
        versions: Mapping[str, int],
        names: Callable[[str], str],
        given: Mapping[str, Any],
        within: tuple[Any, ...],
    ) -> Inner:
        """A graph in an attribute. FormatError for values that are not there, or too many operators."""
        self._require_short(title)
        prefix = f"{title}/{len(self._found)}/"
        inputs, constants = ([text_of(each.name) for each in own] for own in (graph.input, graph.initializer))
        made = {text_of(name) for node in graph.node for name in node.output}
        own = {each: prefix + each for each in (*inputs, *constants, *made)}
        found: list[Call] = []
        inlined = _Inlined(self._source, self._functions, found, self._most - len(self._found))
        inlined.add(graph.node, versions, lambda name: own.get(name) or names(name), given, prefix, within)
        self._most = len(self._found) + inlined._most - len(found)
        outputs = tuple(own.get(text_of(each.name)) or names(text_of(each.name)) for each in graph.output)
        calls = needed(found, outputs)
        there = {*own.values(), *(name for call in found for name in call.outputs), ""}
        taken = dict.fromkeys(
            name
            for name in (*(name for call in calls for name in call.inputs), *outputs)
            if name not in there
        )
        known = [own[each] for each in (*inputs, *constants)]
        require_order(self._source, {*known, *taken}, calls, outputs)
        tensors = dict(zip((own[each] for each in constants), graph.initializer, strict=True))
        return Inner(tuple(own[each] for each in inputs), outputs, calls, tensors, tuple(taken))

    def _require_short(self, title: str) -> None:
        if len(title) > _LONGEST:
            raise FormatError(
                f"{self._source}, {title[:80]}...: a name of {len(title)} characters, with others in it"
            )

    def call(self, call: Call, function: Any, within: tuple[Any, ...]) -> None:
        inputs, outputs = list(map(text_of, function.input)), list(map(text_of, function.output))
        formal = [*inputs, *outputs]
        if (
            len(call.inputs) > len(inputs)
            or len(call.outputs) > len(outputs)
            or len(set(formal)) < len(formal)
        ):
            raise FormatError(f"{self._source}, {call.title}: operands that do not fit the function")
        self._require_short(call.name)
        prefix = f"{call.name}/"
        names = dict.fromkeys(("", *inputs), "")
        names.update(zip(inputs, call.inputs, strict=False))
        names.update((own, outer) for own, outer in zip(outputs, call.outputs, strict=False) if outer)
        given = {text_of(each.name): each for each in function.attribute_proto}
        given.update(call.attributes)
        versions = _versions(self._source, function, call.versions)
        self.add(function.node, versions, lambda own: names.get(own, prefix + own), given, prefix, within)


def _attributes(node: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by name: a reference in a function is to its call's attribute, left out without one."""
    found = {}
    for each in node.attribute:
        own = given.get(text_of(each.ref_attr_name)) if each.ref_attr_name else each
        if own is not None:
            found[text_of(each.name)] = own
    return found
