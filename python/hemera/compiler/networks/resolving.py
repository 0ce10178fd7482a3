"""The meanings of the nodes of an ONNX file, by ONNX's own schemas of its operators."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hemera.compiler.networks.elementwise import ELEMENTWISE
from hemera.compiler.networks.graph import Node
from hemera.compiler.networks.inlining import Call
from hemera.compiler.networks.meanings import Attributes, Meaning
from hemera.compiler.networks.places import PLACES
from hemera.compiler.networks.products import PRODUCTS
from hemera.compiler.networks.recurrent import RECURRENT
from hemera.compiler.networks.resizing import RESIZING
from hemera.compiler.networks.tensors import KINDS, UNKNOWN, result_kinds, value_of
from hemera.compiler.networks.windows import WINDOWS
from hemera.errors import FormatError, ParameterError

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
        known = schema is not None and not call.domain
        return meaning_of(call.operator, schema.since_version) if known else None

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
            self._type(call, schema, attributes)
        except FormatError as error:
            raise FormatError(f"{self._source}, {call.title}: {error}") from error
        return Node(call.title, call.inputs, call.outputs, meaning, attributes)

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

    def _type(self, call: Call, schema: Any, attributes: Attributes) -> None:
        """Note the types of its results."""
        operands = [self._kinds[name] if name else None for name in call.inputs]
        found = result_kinds(schema, operands, len(call.outputs))
        if call.operator == "Cast":
            found = [KINDS.get(attributes["to"], UNKNOWN)]
        elif call.operator == "CastLike":
            attributes.kind = found[0]
        elif call.operator in ("Constant", "ConstantOfShape"):
            whole = any(name in attributes for name in ("value_int", "value_ints"))
            found = [attributes.kind or ("int64" if whole else "float")]
        for name, kind in zip(call.outputs, found, strict=True):
            if name:
                self._kinds[name] = kind


OPERATORS: dict[str, tuple[Meaning, ...]] = dict(
    sorted({**ELEMENTWISE, **PRODUCTS, **PLACES, **RECURRENT, **RESIZING, **WINDOWS}.items())
)
"""The operators' meanings, by their names in ONNX's own domain."""


def meaning_of(operator: str, version: int) -> Meaning | None:
    """The meaning of ONNX's operator in the version in which its schema changed; None: it is not there."""
    known = (each for each in OPERATORS.get(operator, ()) if version in each.versions)
    return next(known, None)
