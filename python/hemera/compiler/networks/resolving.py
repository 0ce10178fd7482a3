"""The meanings of the nodes of an ONNX file, by ONNX's own schemas of its operators."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hemera.compiler.networks.calls import (
    Call,
    Key,
    calls_of,
    names_of,
    needed,
    require_order,
    taken_by,
    versions_of,
)
from hemera.compiler.networks.control import CONTROL
from hemera.compiler.networks.elementwise import ELEMENTWISE
from hemera.compiler.networks.graph import Graph, Made, Node, Run, given_results
from hemera.compiler.networks.masks import opened
from hemera.compiler.networks.meanings import NEWEST, Attributes, Meaning, Meanings
from hemera.compiler.networks.places import PLACES
from hemera.compiler.networks.products import PRODUCTS
from hemera.compiler.networks.recurrent import RECURRENT
from hemera.compiler.networks.resizing import RESIZING
from hemera.compiler.networks.sizes import asked, largest, sizes_of, types_of
from hemera.compiler.networks.tensors import KINDS, UNKNOWN, array_of, result_kinds, text_of, value_of
from hemera.compiler.networks.windows import WINDOWS
from hemera.errors import Error, FormatError, ParameterError

Replacements = Mapping[str, Callable[..., Any]]

MOST_NODES = 1 << 16
_MOST_DEPTH = 32
_IDLE = "consumed_inputs"
"""An attribute of the first version of many operators: which inputs may be overwritten."""


@dataclass(frozen=True)
class Scope:
    """Where nodes are: a file, one of its functions, the function of a schema, or a graph in an attribute."""

    onnx: Any
    """The package."""
    source: str
    """The file, or the place in it, for messages."""
    replaced: Replacements
    functions: Mapping[Key, Any]
    """The file's functions (onnx.FunctionProto) that are not replaced."""
    versions: Mapping[str, int]
    """The versions of operators by their domain."""
    kinds: MutableMapping[str, str]
    """The types of values by their names."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The attributes of the call of the function."""
    absent: frozenset[str] = frozenset()
    """The operands of the function that its call leaves out."""
    within: tuple[Key, ...] = ()
    """The functions of the file in which it is."""
    left: list[int] = field(default_factory=lambda: [MOST_NODES])
    """How many nodes there may be still."""

    def graph(
        self,
        inputs: Mapping[str, tuple[int | None, ...] | None],
        nodes: Iterable[Any],
        tensors: Sequence[Any],
        outputs: Sequence[str],
        around: Iterable[str] = (),
    ) -> Graph:
        """The graph of nodes (onnx.NodeProto).

        Args:
            inputs: their shapes by name. Their types are in `kinds`.
            tensors: constants (onnx.TensorProto).
            around: values of the network around it that it takes.

        Raises:
            FormatError: for values that are not there or made twice, functions that call themselves, operands
                that do not fit, and too many nodes.
            ParameterError: that names all operators which are not there.
        """
        constants = {text_of(each.name): array_of(self.onnx, self.source, each) for each in tensors}
        self.kinds.update((text_of(each.name), KINDS[each.data_type]) for each in tensors)
        calls = calls_of(nodes, self.given, self.absent)
        self.left[0] -= sum(call.operator not in self.functions for call in calls)
        if self.left[0] < 0:
            raise FormatError(f"{self.source}: no network: more than {MOST_NODES} operators")
        calls = needed(calls, outputs)
        require_order(self.source, {*inputs, *constants, *around} - self.absent, calls, outputs)
        schemas = [self._schema(call) for call in calls]
        missing = {
            call.key: self._why(call, schema)
            for call, schema in zip(calls, schemas, strict=True)
            if not (self._is_given(call) or meaning_of(schema) or _has_function(schema))
        }
        if missing:
            raise ParameterError(
                f"{self.source}: no operators {', '.join(missing.values())}. Give functions on arrays for "
                f'them, replace={{"{next(iter(missing))}": function}}, or export the network with others; '
                "docs/compile-networks.md lists those that are there"
            )
        made = tuple(self._node(call, schema) for call, schema in zip(calls, schemas, strict=True))
        return Graph(self.source, tuple(inputs.items()), tuple(outputs), made, constants, self.kinds)

    def _is_given(self, call: Call) -> bool:
        return call.key in self.replaced or call.operator in self.functions

    def _node(self, call: Call, schema: Any) -> Node:
        node = functools.partial(Node, call.title, call.inputs, call.outputs)
        if call.key in self.replaced:
            self.kinds.update(dict.fromkeys(call.outputs, UNKNOWN))
            own = self.replaced[call.key]
            return node(lambda operands, _: given_results(call.outputs, own(*_opened(operands))))
        try:
            if call.operator in self.functions:
                return node(self._run_of_function(call), size=lambda _: 0)
            meaning = meaning_of(schema)
            self._require_results(call, schema, meaning)
            attributes = self._attributes(call, schema)
            graphs = {name: self._graph(call, each) for name, each in call.graphs.items()}
            self._type(call, schema, attributes, graphs)
        except Error as error:
            raise type(error)(f"{self.source}, {call.title}: {error}") from error
        if meaning is not None and meaning.runs:
            return node(_running(call, meaning, attributes, graphs), size=largest)
        proto = self._proto(call)
        kinds = [self.kinds.get(name, UNKNOWN) for name in call.inputs]
        size = sizes_of(self.onnx, schema, proto, kinds)
        if meaning is None:
            return node(self._run_of_schema(call, schema, proto, kinds), size=size)
        return node(lambda operands, _: meaning.run(attributes, *operands), meaning, size)

    @staticmethod
    def _require_results(call: Call, schema: Any, meaning: Meaning | None) -> None:
        """ParameterError for results that an operator's meaning has not."""
        several = schema.outputs[-1].option == type(schema.outputs[-1].option).Variadic
        there = None if meaning is None or several else meaning.results
        gone = [] if there is None else [name for name in call.outputs[there:] if name]
        if gone:
            raise ParameterError(f"its result {gone[0]!r} is not there, only those before it are")

    def _graph(self, call: Call, graph: Any) -> Graph:
        """A graph in an attribute."""
        given = [self.kinds.get(name, UNKNOWN) for name in call.inputs[: call.operands]]
        given = ["int64", "bool", *given[2:]] if call.key == "Loop" else given
        inputs = names_of(graph.input)
        if call.key != "If" and len(given) != len(inputs):
            raise FormatError(f"a graph of {len(inputs)} inputs for {len(given)} operands")
        kinds = ChainMap(dict(zip(inputs, given, strict=False)), self.kinds)
        inner = replace(self, source="its graph", kinds=kinds)
        outputs = names_of(graph.output)
        return inner.graph(dict.fromkeys(inputs), graph.node, graph.initializer, outputs, taken_by(graph))

    def _of_function(self, call: Call, function: Any, **options: Any) -> Graph:
        """The graph of a function (onnx.FunctionProto) for a call of it."""
        inputs, outputs = list(map(text_of, function.input)), list(map(text_of, function.output))
        formal = {*inputs, *outputs}
        if (
            len(call.inputs) > len(inputs)
            or len(call.outputs) > len(outputs)
            or len(formal) < len(inputs) + len(outputs)
        ):
            raise FormatError("operands that do not fit the function")
        given = {text_of(each.name): each for each in function.attribute_proto}
        there = {own: self.kinds[name] for own, name in zip(inputs, call.inputs, strict=False) if name}
        inner = replace(
            self,
            source="its function",
            versions=versions_of("its function", function, self.versions),
            kinds=there,
            given={**given, **call.attributes},
            absent=frozenset(inputs) - set(there),
            **options,
        )
        used = [own for own, name in zip(outputs, call.outputs, strict=False) if name]
        return inner.graph(dict.fromkeys(inputs), function.node, (), used)

    def _run_of_function(self, call: Call) -> Run:
        """Runs a function of the file."""
        if call.operator in self.within or len(self.within) >= _MOST_DEPTH:
            raise FormatError("a function that calls itself, or is too deep")
        within = (*self.within, call.operator)
        graph = self._of_function(call, self.functions[call.operator], within=within)
        names = filter(None, call.outputs)
        self.kinds.update((name, graph.kinds[own]) for name, own in zip(names, graph.outputs, strict=True))
        return functools.partial(_results, call, graph)

    def _run_of_schema(self, call: Call, schema: Any, proto: Any, kinds: Sequence[str]) -> Run:
        """Runs the operators by which ONNX's schema defines a call, for operands of one shape or another."""
        known: dict[Any, Graph] = {}

        def run(operands: Sequence[Any], made: Made) -> Sequence[Any]:
            shapes = tuple(None if each is None else tuple(each.shape) for each in operands)
            if shapes not in known:
                types = types_of(self.onnx, kinds, operands)
                function = self._function(schema, proto, types)
                known[shapes] = self._of_function(call, function, functions={}, left=[MOST_NODES])
            return _results(call, known[shapes], operands, made)

        return run

    def _function(self, schema: Any, proto: Any, types: Sequence[Any]) -> Any:
        """The function of a schema, as onnx.FunctionProto, with the attributes that a call leaves out."""
        onnx = self.onnx
        if schema.has_function:
            known, wanted = schema.function_opset_versions, self.versions[""]
            version = max((each for each in known if each <= wanted), default=min(known))
            content = schema.get_function_with_opset_version(version)
        else:
            held = [each.SerializeToString() for each in types]
            content = asked(schema.get_context_dependent_function, proto.SerializeToString(), held)
        function = onnx.FunctionProto.FromString(content)
        defaults = [each.default_value for each in schema.attributes.values() if each.default_value.name]
        function.attribute_proto.extend(defaults)
        return function

    def _proto(self, call: Call) -> Any:
        """The node of a call (onnx.NodeProto)."""
        domain, operator, _ = call.operator
        node = self.onnx.NodeProto(op_type=operator, domain=domain, input=call.inputs, output=call.outputs)
        node.attribute.extend(call.attributes.values())
        return node

    def _schema(self, call: Call) -> Any:
        """The schema of the operator in the version of the file; None: there is none, or none is needed."""
        defs, (domain, operator, _) = self.onnx.defs, call.operator
        version = self.versions.get(domain)
        if self._is_given(call) or (version is None and domain):
            return None
        if version is None:
            raise FormatError(f"{self.source}, {call.title}: the file does not say the version of operators")
        if not domain and version > defs.onnx_opset_version():
            raise ParameterError(
                f"{self.source}: operators of ONNX {version}, and the package onnx {self.onnx.__version__} "
                f"knows them to {defs.onnx_opset_version()}: install a newer one, or export the network with "
                "an older version (opset_version=)"
            )
        try:
            return defs.get_schema(operator, version, domain)
        except defs.SchemaError:
            return None

    def _why(self, call: Call, schema: Any) -> str:
        """An operator that is not there, for the message."""
        domain, operator, _ = call.operator
        version = self.versions.get(domain)
        told = f"{operator} of {domain or 'ONNX'}{'' if version is None else f' {version}'}"
        where = f"(node {call.name!r}"
        if domain:
            return f"{told} {where}; operators of other domains are not ONNX's of the same name)"
        if operator in OPERATORS:
            known = sorted(
                each.since_version
                for each in self.onnx.defs.get_all_schemas_with_history()
                if each.name == operator and meaning_of(each)
            )
            return f"{told} {where}; its versions {', '.join(map(str, known))} are there)"
        if schema is None:
            near = difflib.get_close_matches(operator, OPERATORS, 1)
            meant = f", did you mean {near[0]}?" if near else ""
            return f"{told} {where}; ONNX has none in that version{meant})"
        return f"{told} {where})"

    def _attributes(self, call: Call, schema: Any) -> Attributes:
        """The attributes, with the schema's values where left out. FormatError for unknown ones."""
        found = Attributes()
        found.results = len(call.outputs)
        unknown = set(call.attributes) - set(schema.attributes)
        if unknown:
            raise FormatError(f"the attribute {min(unknown)!r}, which it has not in this version")
        for name, own in schema.attributes.items():
            given = call.attributes.get(name, own.default_value if own.default_value.name else None)
            if given is not None and int(given.type) != int(own.type.value):
                raise FormatError(f"the attribute {name!r} is of another type")
            if given is None and own.required and name != _IDLE:
                raise FormatError(f"the attribute {name!r} is left out")
            if given is not None:
                found[name] = value_of(self.onnx, self.source, given)
            if name == "value" and given is not None and given.type == self.onnx.AttributeProto.TENSOR:
                found.kind = KINDS[given.t.data_type]
        return found

    def _type(self, call: Call, schema: Any, attributes: Attributes, graphs: Mapping[str, Graph]) -> None:
        """Note the types of its results."""
        operands = [self.kinds.get(name) for name in call.inputs[: call.operands]]
        found = result_kinds(schema, operands, len(call.outputs))
        if graphs:
            first, *others = ([each.kinds[name] for name in each.outputs] for each in graphs.values())
            found = first[1:] if call.key == "Loop" else first
            state = operands[2:] if call.key == "Loop" else operands[: -attributes.get("num_scan_inputs", 1)]
            if len(found) != len(call.outputs) or found[: len(state)] != state or others not in ([], [first]):
                raise FormatError(f"results of its graphs of {[first, *others]}, which do not fit its own")
        if call.key == "Cast":
            found = [KINDS.get(attributes["to"], UNKNOWN)]
        elif call.key in ("Constant", "ConstantOfShape"):
            whole = any(name in attributes for name in ("value_int", "value_ints"))
            found = [attributes.kind or ("int64" if whole else "float")]
        self.kinds.update((name, kind) for name, kind in zip(call.outputs, found, strict=True) if name)


def _opened(operands: Sequence[Any]) -> list[Any]:
    """Operands of a given function."""
    return [opened(each) for each in operands if each is not None]


def _results(call: Call, graph: Graph, operands: Sequence[Any], made: Made) -> Sequence[Any]:
    """The results of a call of a function: those that something takes."""
    given = dict(itertools.zip_longest((name for name, _ in graph.inputs), operands))
    found = iter(graph.within(given, made).values())
    return [next(found) if name else None for name in call.outputs]


def _running(call: Call, meaning: Meaning, attributes: Attributes, graphs: Mapping[str, Graph]) -> Run:
    """Runs an operator that runs graphs of its attributes."""

    def run(operands: Sequence[Any], made: Made) -> Sequence[Any]:
        around = dict(zip(call.inputs, operands, strict=True))

        def inner(graph: Graph, *given: Any) -> Sequence[Any]:
            made.step()
            inputs = dict(zip((name for name, _ in graph.inputs), given, strict=True))
            found = graph.within({**around, **inputs}, made)
            return [found[name] for name in graph.outputs]

        runs = {name: functools.partial(inner, each) for name, each in graphs.items()}
        found: Sequence[Any] = meaning.run(attributes, runs, operands[: call.operands])
        return found

    return run


OPERATORS: Meanings = dict(
    sorted({**CONTROL, **ELEMENTWISE, **PRODUCTS, **PLACES, **RECURRENT, **RESIZING, **WINDOWS}.items())
)
"""The operators' meanings, by their names in ONNX's own domain."""


def meaning_of(schema: Any) -> Meaning | None:
    """The meaning of an operator by its schema, in a version of it; None: it is not there."""
    if schema is None or schema.domain or schema.deprecated or schema.since_version > NEWEST:
        return None
    known = (each for each in OPERATORS.get(schema.name, ())[::-1] if each.since <= schema.since_version)
    return next(known, None)


def _has_function(schema: Any) -> bool:
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)
