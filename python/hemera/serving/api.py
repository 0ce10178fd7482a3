"""The server's OpenAPI document: what the framework knows of the routes, with answers, headers and codes."""

from __future__ import annotations

import re
from collections import defaultdict
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from hemera.client.problems import CODES_OF_ERRORS
from hemera.client.wire import KEYS_HEADER, MODEL_HEADER, NONCE_HEADER
from hemera.serving import answers, reasons
from hemera.serving.reasons import Reason

_KINDS = ("model", "index", "federation", "folder", "file")
_ANSWERS: dict[str, type[answers.Answer]] = {
    "live": answers.Status,
    "ready": answers.Status,
    "health": answers.Health,
    "entries_models": answers.Models,
    "entries_indexes": answers.Indexes,
    "describe_models": answers.DescribedModel,
    "describe_indexes": answers.DescribedIndex,
    "maps_models": answers.MapsOfModel,
    "maps_indexes": answers.MapsOfIndex,
    "keys_of": answers.Keys,
    "put_keys": answers.Keys,
    "held_of": answers.Held,
    "prepare_indexes": answers.Prepared,
    "files_federations": answers.Files,
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


def answer_of(name: str, status: str) -> type[answers.Answer] | None:
    """The answer of an operation with a status; None: it is no JSON, or has no body."""
    if name.startswith("put_keys_part"):
        return answers.Keys if status == "201" else answers.Held
    return _ANSWERS.get(name) or _ANSWERS.get(name.rpartition("_")[0])


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
