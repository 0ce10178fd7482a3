"""The answers of a server in JSON, and its OpenAPI document: the framework's, completed."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from hemera.client.problems import CODES_OF_ERRORS
from hemera.client.wire import KEYS_HEADER, MODEL_HEADER, NONCE_HEADER, OCTETS, OFFSET_HEADER
from hemera.serving import reasons
from hemera.serving.reasons import Reason
from hemera.serving.settings import Settings

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="a SHA-256 in hexadecimal digits")]
Count = Annotated[int, Field(ge=0)]
Base64 = Annotated[
    str, Field(pattern="^[A-Za-z0-9+/]*={0,2}$", json_schema_extra={"contentEncoding": "base64"})
]


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow")


class Status(Answer):
    status: Literal["ok"]


class Health(Status):
    version: str = Field(description="of Hemera")
    device: str = Field(description="the devices that compute, with commas")
    models: list[str]
    indexes: list[str]
    damaged: list[str] = Field(description="models and indexes that can not be served")


class ModelEntry(Answer):
    name: str
    description: str
    digest: Digest = Field(description="the model's; requests name it as Hemera-Model")
    version: str | None


class Models(Answer):
    models: list[ModelEntry]


class Limits(Answer):
    request_bytes: Count
    key_bytes: Count = Field(description="of an upload of keys")


class ModelLimits(Limits):
    evaluations: Count = Field(description="of one request")


class IndexLimits(Limits):
    queries: Count = Field(description="of one request")


class Rates(Answer):
    requests_per_second: float | None
    bytes_per_second: float | None


class Part(Answer):
    name: str
    width: Count = Field(description="slots that have values")
    shape: list[Count] = Field(description="axes of the batch of ciphertexts of one evaluation")


class Described(Answer):
    """What clients need; docs/serving.md describes the fields."""

    name: str
    fingerprint: Digest
    degree: Count
    log_modulus: float
    security: str
    parameters: Base64 = Field(description="a file of Hemera's parameters")
    rates: Rates


class DescribedModel(Described):
    description: str
    version: str | None
    digest: Digest
    scheme: Literal["bfv", "bgv", "ckks"]
    levels: Count
    depth: int
    keys: dict[str, Any] = Field(description="the evaluation keys that it needs")
    key_bytes_at_most: Count
    inputs: list[Part]
    outputs: list[Part]
    encoding: dict[str, Any]
    limits: ModelLimits


class Maps(Answer):
    """Keys, and layouts as plain maps; docs/javascript.md describes the fields."""

    parameters: Base64
    keys: Base64
    key_bytes: Count


class MapsOfModel(Maps):
    digest: Digest
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]


class MapsOfIndex(Maps):
    settings: str = Field(description="the digest in messages")
    dims: Count
    queries: Count = Field(description="of a request; where scores are compared, ciphertexts of thresholds")


class IndexEntry(Answer):
    name: str
    kind: str
    rows: Count


class Indexes(Answer):
    indexes: list[IndexEntry]


class DescribedIndex(Described):
    kind: str
    rows: Count
    version: Count = Field(description="of its rows: another one after a change")
    settings: dict[str, Any]
    expected_error: dict[str, float]
    limits: IndexLimits


class Keys(Answer):
    library: str = Field(description="the library of the files")
    digest: Digest = Field(description="of the names and contents of the files")
    bytes: Count


class Held(Answer):
    bytes: Count = Field(description="of the upload that are here")


class Prepared(Answer):
    prepared: Count = Field(description="queries that are prepared")


class Files(Answer):
    files: dict[str, str] = Field(description="to each name a word that differs for another file")
    party_bytes: Count = Field(description="that one party may have here")


FILES: dict[str, Any] = {
    OCTETS: {"schema": {"type": "string", "format": "binary"}},
    "multipart/form-data": {
        "schema": {"type": "object", "additionalProperties": {"type": "string", "format": "binary"}}
    },
}
"""A body of one file, or of several with names."""

REQUEST_OF_FILES: dict[str, Any] = {"requestBody": {"required": True, "content": FILES}}

REQUEST_OF_PART: dict[str, Any] = {
    "parameters": [
        {
            "name": OFFSET_HEADER,
            "in": "header",
            "required": True,
            "description": "The bytes of the upload before this part.",
            "schema": {"type": "integer", "minimum": 0},
        },
        {
            "name": KEYS_HEADER,
            "in": "header",
            "description": "Of the last part: the digest of the keys, as GET .../keys will return it.",
            "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        },
    ],
    "requestBody": {"required": True, "content": {OCTETS: FILES[OCTETS]}},
}
"""A part of one file."""


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of these statuses, which say what was wrong; `describe` adds their codes."""
    return {status: {"description": "What was wrong and the way out"} for status in statuses}


def rates_of(settings: Settings) -> dict[str, float | None]:
    """The rates of a client, as JSON takes them; None: no limit."""
    rates = {
        "requests_per_second": settings.requests_per_second,
        "bytes_per_second": settings.bytes_per_second,
    }
    return {name: None if math.isinf(rate) else rate for name, rate in rates.items()}


_KINDS = ("model", "index", "federation", "folder", "file")
_ANSWERS: dict[str, type[Answer]] = {
    "live": Status,
    "ready": Status,
    "health": Health,
    "entries_models": Models,
    "entries_indexes": Indexes,
    "describe_models": DescribedModel,
    "describe_indexes": DescribedIndex,
    "maps_models": MapsOfModel,
    "maps_indexes": MapsOfIndex,
    "keys_of": Keys,
    "put_keys": Keys,
    "held_of": Held,
    "prepare_indexes": Prepared,
    "files_federations": Files,
}
"""To each operation, or to the part of its name before its kind, the answer."""
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_NONCE = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_COMMON = {
    "Hemera-Request": {
        "description": "The id of the request's line in the log",
        "schema": {"type": "string"},
    },
    NONCE_HEADER: {"description": "The request's own", "schema": _NONCE},
}
_COMPUTED = {
    "Hemera-Batch": {"description": "Requests of its batch", "schema": {"type": "integer", "minimum": 1}},
    KEYS_HEADER: {"description": "The digest of the keys that it was computed with", "schema": _DIGEST},
}
_MODEL = {MODEL_HEADER: {"description": "The digest of the model that computed it", "schema": _DIGEST}}
_AFTER = {"Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer", "minimum": 1}}}
_ALWAYS = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE)
"""Statuses of any request: a failure, and no room for its connection."""
_NAMES = {"upload": "^[0-9a-f]{32}$"}
_ASKED = {
    NONCE_HEADER: ("A random name, which the answer repeats", _NONCE),
    MODEL_HEADER: ("The digest of the model's description, else 409", _DIGEST),
}
_OF_MODELS = ("evaluate_models", "put_keys_models", "put_keys_part_models")


def codes() -> dict[int, list[str]]:
    """The codes that answers have, by status."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    for reason in vars(reasons).values():
        if isinstance(reason, Reason):
            found[reason.status].update(reason.code.format(kind=kind) for kind in _KINDS)
    found[HTTPStatus.UNPROCESSABLE_ENTITY].update(CODES_OF_ERRORS)
    found[HTTPStatus.SERVICE_UNAVAILABLE].add("out_of_memory")
    found[HTTPStatus.INTERNAL_SERVER_ERROR].add("internal")
    found[HTTPStatus.NOT_FOUND].add("unknown_address")
    return {int(status): sorted(each) for status, each in found.items()}


def operation_id(name: str, path: str) -> str:
    """The name of an operation: the function's, and what it is about."""
    about = re.match("/v1/([a-z]+)", path)
    return f"{name}_{about[1]}" if about else name


def describe(app: FastAPI) -> dict[str, Any]:
    """The document of an application: the framework's, completed."""
    document = FastAPI.openapi(app)
    _, defined = models_json_schema(
        [(each, "serialization") for each in set(_ANSWERS.values())],
        ref_template="#/components/schemas/{model}",
    )
    schemas: dict[str, Any] = dict(defined["$defs"])
    for status, words in codes().items():
        error = {"code": {"enum": words}, "message": {"type": "string"}}
        inner = {"type": "object", "properties": error, "required": ["code", "message"]}
        schemas[f"Problem{status}"] = {
            "type": "object",
            "properties": {"error": inner},
            "required": ["error"],
        }
    document["components"]["schemas"] = schemas
    for path, ways in document["paths"].items():
        for operation in ways.values():
            _complete(path, operation)
    return document


def _complete(path: str, operation: dict[str, Any]) -> None:
    name, told = operation["operationId"], operation["responses"]
    for status in _ALWAYS:
        told.setdefault(str(int(status)), {"description": "What was wrong and the way out"})
    if "HTTPValidationError" in str(told.get("422")):
        del told["422"]  # paths are texts, which always fit
    for status, response in told.items():
        response["headers"] = dict(_COMMON)
        if status in ("429", "503", "504", "507"):
            response["headers"].update(_AFTER)
        if status[0] in "45":
            response["content"] = _json(f"Problem{status}")
        elif "application/json" in response.get("content", {}) or status == "201":
            kind = answer_of(name, status)
            if kind is not None:
                response["content"] = _json(kind.__name__)
            else:
                response.pop("content", None)
        if status in ("200", "201") and name in ("evaluate_models", "query_indexes"):
            response["headers"].update(_COMPUTED)
        if status == "200" and name == "evaluate_models":
            response["headers"].update(_MODEL)
    asked = operation.setdefault("parameters", [])
    for each in asked:
        if each["in"] == "path" and each["name"] in _NAMES:
            each["schema"]["pattern"] = _NAMES[each["name"]]
    if path.startswith("/v1/"):
        for header, (text, schema) in _ASKED.items():
            if header == NONCE_HEADER or name in _OF_MODELS:
                asked.append({"name": header, "in": "header", "description": text, "schema": schema})


def answer_of(name: str, status: str) -> type[Answer] | None:
    """The answer of an operation with a status; None: it is no JSON, or has no body."""
    if name.startswith("put_keys_part"):
        return Keys if status == "201" else Held
    return _ANSWERS.get(name) or _ANSWERS.get(name.rpartition("_")[0])


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
