"""Paths and bodies of requests to a server, and what its errors say."""

from __future__ import annotations

from typing import Any

import httpx

from hemera.package.local_model import LocalModel

KEYS = "/v1/models/scores/keys"
EVALUATE = "/v1/models/scores/evaluate"


def code(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error."""
    told = response.json()["error"]
    assert len(told["message"]) > 10
    return response.status_code, told["code"]


def request_of(local: LocalModel, rows: Any) -> bytes:
    """The body of a request of one input."""
    (data,) = local.encrypt(local.interface.encode(rows)).values()
    return data
