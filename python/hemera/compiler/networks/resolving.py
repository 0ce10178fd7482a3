"""The meanings of the nodes of an ONNX file, by ONNX's own schemas of its operators."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hemera.compiler.networks.control import CONTROL
from hemera.compiler.networks.elementwise import ELEMENTWISE
from hemera.compiler.networks.graph import Graph, Made, Node
from hemera.compiler.networks.inlining import Call, Inner, calls_in, needed
from hemera.compiler.networks.meanings import Attributes, Meaning, largest
from hemera.compiler.networks.places import PLACES
from hemera.compiler.networks.products import PRODUCTS
from hemera.compiler.networks.recurrent import RECURRENT
from hemera.compiler.networks.resizing import RESIZING
from hemera.compiler.networks.tensors import KINDS, UNKNOWN, array_of, result_kinds, value_of
from hemera.compiler.networks.windows import WINDOWS
from hemera.errors import FormatError, ParameterError
from hemera.inputs.fields import damaged

Replacements = Mapping[str, Callable[..., Any]]

_IDLE = "consumed_inputs"
"""An attribute of the first version of many operators: which inputs may be overwritten."""


class Resolver:
    """Finds what stands for nodes, by ONNX's own schemas."""

    def __init__(self, onnx: Any, source: str, replace: Replacements, kinds: dict[str, str]) -> None:
        self._onnx = onnx
        self._source = source
        self._replace = replace
        self._kinds = kinds

    def nodes(self, calls: Sequence[Call]) -> list[Node]:
        """The nodes of all calls. ParameterError that names all operators which are not there."""
        schemas = [None if call.key in self._replace else self._schema(call) for call in calls]
        missing: dict[str, str] = {}
        for call, schema in zip(calls, schemas, strict=True):
            if call.key not in self._replace and self._meaning(call, schema) is None:
                missing.setdefault(call.key, self._why(call, schema))
        if missing:
            raise ParameterError(
                f"{self._source}: no operators {', '.join(missing.values())}. Give functions on arrays for "
                f'them, replace={{"{next(iter(missing))}": function}}, or export the network with others; '
                "docs/compile-networks.md lists those that are there"
            )
        return [self._node(call, schema) for call, schema in zip(calls, schemas, strict=True)]

    @staticmethod
    def _meaning(call: Call, schema: Any) -> Meaning | None:
        """What stands for a call; without versions: the body by which its schema defines it."""
        known = schema is not None and not call.domain
        found = meaning_of(call.operator, schema.since_version) if known else None
        if found is None and schema and (schema.has_function or schema.has_context_dependent_function):
            return Meaning((), len, tuple(schema.attributes), size=largest, results=schema.max_output)
        return found

    def _node(self, call: Call, schema: Any) -> Node:
        meaning = self._meaning(call, schema)
        if meaning is None or call.key in self._replace:
            self._kinds.update(dict.fromkeys(call.outputs, UNKNOWN))
            return Node(call.title, call.inputs, call.outputs, None, own=self._replace[call.key])
        several = schema.outputs[-1].option == type(schema.outputs[-1].option).Variadic
        gone = [] if several else [name for name in call.outputs[meaning.results :] if name]
        if gone:
            raise ParameterError(
                f"{self._source}, {call.title}: its result {gone[0]!r} is not there, only those before it are"
            )
        try:
            attributes = self._attributes(call, schema, meaning)
            graphs = {name: self._graph(call, each) for name, each in call.graphs.items()}
            self._type(call, schema, attributes, graphs)
        except FormatError as error:
            raise FormatError(f"{self._source}, {call.title}: {error}") from error
        body = None if meaning.versions else self._body(call, schema)
        body = _running(call, meaning, attributes, graphs) if meaning.runs else body
        return Node(call.title, call.inputs, call.outputs, meaning, attributes, body=body)

    def _graph(self, call: Call, inner: Inner) -> Graph:
        """A graph in an attribute."""
        given = [self._kinds[name] if name else UNKNOWN for name in call.inputs[: call.operands]]
        given = ["int64", "bool", *given[2:]] if call.operator == "Loop" else given
        if call.operator != "If" and len(given) != len(inner.inputs):
            raise FormatError(f"a graph of {len(inner.inputs)} inputs for {len(given)} operands")
        self._kinds.update(zip(inner.inputs, given, strict=False))
        self._kinds.update(
            (name, KINDS.get(each.data_type, UNKNOWN)) for name, each in inner.constants.items()
        )
        constants = {name: array_of(self._onnx, self._source, each) for name, each in inner.constants.items()}
        source = f"{self._source}, {call.title}"
        nodes = Resolver(self._onnx, source, self._replace, self._kinds).nodes(inner.calls)
        named = tuple((name, None) for name in inner.inputs)
        return Graph("its graph", named, inner.outputs, tuple(nodes), constants, self._kinds)

    def _body(self, call: Call, schema: Any) -> Callable[[Sequence[Any], Made], Sequence[Any]]:
        """The operators by which ONNX's schema defines a call, for operands of one shape or another."""
        kinds = [self._kinds[name] if name else "" for name in call.inputs]
        known: dict[Any, Graph] = {}

        def body(operands: Sequence[Any], made: Made) -> Sequence[Any]:
            shapes = tuple(None if each is None else tuple(each.shape) for each in operands)
            if shapes not in known:
                source = "its function"
                calls = calls_in(source, call, self._function(call, schema, kinds, shapes))
                own = dict(zip(call.inputs, kinds, strict=True))
                outputs = tuple(filter(None, call.outputs))
                nodes = Resolver(self._onnx, source, self._replace, own).nodes(needed(calls, outputs))
                known[shapes] = Graph(source, (), outputs, tuple(nodes), {}, own)
            found = known[shapes].within(dict(zip(call.inputs, operands, strict=True)), made)
            return [found.get(name) for name in call.outputs]

        return body

    def _function(self, call: Call, schema: Any, kinds: Sequence[str], shapes: Sequence[Any]) -> Any:
        """The function of a schema, as onnx.FunctionProto, with the attributes that a call leaves out."""
        onnx = self._onnx
        if schema.has_function:
            known, wanted = schema.function_opset_versions, call.versions[call.domain]
            version = max((each for each in known if each <= wanted), default=min(known))
            content = schema.get_function_with_opset_version(version)
        else:
            node = onnx.NodeProto(
                op_type=call.operator, domain=call.domain, input=call.inputs, output=call.outputs
            )
            node.attribute.extend(call.attributes.values())
            numbers = {kind: number for number, kind in KINDS.items()}
            types = [
                onnx.helper.make_tensor_type_proto(numbers.get(kind, 1), shape).SerializeToString()
                for kind, shape in zip(kinds, shapes, strict=True)
            ]
            with damaged(f"the node {call.operator}"):
                content = schema.get_context_dependent_function(node.SerializeToString(), types)
        function = onnx.FunctionProto.FromString(content)
        defaults = [each.default_value for each in schema.attributes.values() if each.default_value.name]
        function.attribute_proto.extend(defaults)
        return function

    def _schema(self, call: Call) -> Any:
        """The schema of the operator in the version of the file; None: there is none."""
        defs = self._onnx.defs
        version = call.versions.get(call.domain)
        if version is None:
            if call.domain:
                return None
            raise FormatError(f"{self._source}, {call.title}: the file does not say the version of operators")
        if not call.domain and version > defs.onnx_opset_version():
            raise ParameterError(
                f"{self._source}: operators of ONNX {version}, and the package onnx {self._onnx.__version__} "
                f"knows them to {defs.onnx_opset_version()}: install a newer one, or export the network with "
                "an older version (opset_version=)"
            )
        try:
            return defs.get_schema(call.operator, version, call.domain)
        except defs.SchemaError:
            return None

    def _why(self, call: Call, schema: Any) -> str:
        """An operator that is not there, for the message."""
        version = call.versions.get(call.domain)
        told = f"{call.operator} of {call.domain or 'ONNX'}{'' if version is None else f' {version}'}"
        where = f"(node {call.name!r}"
        if call.domain:
            return f"{told} {where}; operators of other domains are not ONNX's of the same name)"
        if call.operator in OPERATORS:
            known = sorted(each for own in OPERATORS[call.operator] for each in own.versions)
            return f"{told} {where}; its versions {', '.join(map(str, known))} are there)"
        if schema is None:
            near = difflib.get_close_matches(call.operator, OPERATORS, 1)
            meant = f", did you mean {near[0]}?" if near else ""
            return f"{told} {where}; ONNX has none in that version{meant})"
        return f"{told} {where})"

    def _attributes(self, call: Call, schema: Any, meaning: Meaning) -> Attributes:
        """The attributes, with the schema's values where left out. FormatError for unknown ones."""
        found = Attributes()
        found.results = len(call.outputs)
        for name, own in schema.attributes.items():
            given = call.attributes.get(name)
            if given is not None and int(given.type) != int(own.type.value):
                raise FormatError(f"the attribute {name!r} is of another type")
            if given is None and own.required and name != _IDLE:
                raise FormatError(f"the attribute {name!r} is left out")
            default = own.default_value if own.default_value.name else None
            if given is None:
                given = default
            if given is None or name in (_IDLE, *meaning.idle):
                continue
            if name not in meaning.attributes and given != default:
                raise FormatError(f"the attribute {name!r}, which is not taken")
            found[name] = value_of(self._onnx, self._source, given)
            if name == "value" and given.type == self._onnx.AttributeProto.TENSOR:
                found.kind = KINDS[given.t.data_type]
        unknown = set(call.attributes) - set(schema.attributes)
        if unknown:
            raise FormatError(f"the attribute {min(unknown)!r}, which it has not in this version")
        return found

    def _type(self, call: Call, schema: Any, attributes: Attributes, graphs: Mapping[str, Graph]) -> None:
        """Note the types of its results."""
        operands = [self._kinds[name] if name else None for name in call.inputs[: call.operands]]
        found = result_kinds(schema, operands, len(call.outputs))
        if graphs:
            first, *others = ([self._kinds[name] for name in each.outputs] for each in graphs.values())
            found = first[1:] if call.operator == "Loop" else first
            state = (
                operands[2:] if call.operator == "Loop" else operands[: -attributes.get("num_scan_inputs", 1)]
            )
            if len(found) != len(call.outputs) or found[: len(state)] != state or others not in ([], [first]):
                raise FormatError(f"results of its graphs of {[first, *others]}, which do not fit its own")
        if call.operator == "Cast":
            found = [KINDS.get(attributes["to"], UNKNOWN)]
        elif call.operator in ("Constant", "ConstantOfShape"):
            whole = any(name in attributes for name in ("value_int", "value_ints"))
            found = [attributes.kind or ("int64" if whole else "float")]
        for name, kind in zip(call.outputs, found, strict=True):
            if name:
                self._kinds[name] = kind


def _running(
    call: Call, meaning: Meaning, attributes: Attributes, graphs: Mapping[str, Graph]
) -> Callable[[Sequence[Any], Made], Sequence[Any]]:
    """The body of an operator that runs graphs of its attributes."""

    def body(operands: Sequence[Any], made: Made) -> Sequence[Any]:
        around = dict(zip(call.inputs, operands, strict=True))

        def run(graph: Graph, *given: Any) -> Sequence[Any]:
            made.step()
            inputs = dict(zip((name for name, _ in graph.inputs), given, strict=True))
            found = graph.within({**around, **inputs}, made)
            return [found[name] for name in graph.outputs]

        runs = {name: functools.partial(run, each) for name, each in graphs.items()}
        found: Sequence[Any] = meaning.run(attributes, runs, operands[: call.operands])
        return found

    return body


OPERATORS: dict[str, tuple[Meaning, ...]] = dict(
    sorted({**CONTROL, **ELEMENTWISE, **PRODUCTS, **PLACES, **RECURRENT, **RESIZING, **WINDOWS}.items())
)
"""The operators' meanings, by their names in ONNX's own domain."""


def meaning_of(operator: str, version: int) -> Meaning | None:
    """The meaning of ONNX's operator in the version in which its schema changed; None: it is not there."""
    known = (each for each in OPERATORS.get(operator, ()) if version in each.versions)
    return next(known, None)
