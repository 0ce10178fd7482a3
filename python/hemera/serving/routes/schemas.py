"""Parts of answers, and of the OpenAPI description, that several routes have."""

from __future__ import annotations

import math
from typing import Any

from hemera.client.wire import KEYS_HEADER, OCTETS, OFFSET_HEADER
from hemera.serving.settings import Settings

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

_PROBLEM = {
    "description": "What was wrong and the way out",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "error": {
                        "type": "object",
                        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                        "required": ["code", "message"],
                    }
                },
                "required": ["error"],
            }
        }
    },
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of these statuses, which say what was wrong."""
    return dict.fromkeys(statuses, _PROBLEM)


def rates_of(settings: Settings) -> dict[str, float | None]:
    """The rates of a client, as JSON takes them; None: no limit."""
    rates = {
        "requests_per_second": settings.requests_per_second,
        "bytes_per_second": settings.bytes_per_second,
    }
    return {name: None if math.isinf(rate) else rate for name, rate in rates.items()}
