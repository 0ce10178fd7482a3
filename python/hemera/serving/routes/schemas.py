"""Parts of answers, and of the OpenAPI description, that several routes have."""

from __future__ import annotations

import math
from typing import Any

from hemera.client.wire import OCTETS
from hemera.serving.settings import Settings

FILES: dict[str, Any] = {
    OCTETS: {"schema": {"type": "string", "format": "binary"}},
    "multipart/form-data": {
        "schema": {"type": "object", "additionalProperties": {"type": "string", "format": "binary"}}
    },
}
"""A body of one file, or of several with names."""

REQUEST_OF_FILES: dict[str, Any] = {"requestBody": {"required": True, "content": FILES}}

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
