"""Answers to requests that replicas did not compute."""

from __future__ import annotations

from http import HTTPStatus

from hemera.client.problems import Refused


def busy() -> Refused:
    """The refusal of a full server."""
    return Refused(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "busy",
        "the server has as many requests as it takes; try again in a while",
        retry_after=1,
    )


def none_there() -> Refused:
    """The refusal of a server whose replicas start."""
    return Refused(
        HTTPStatus.SERVICE_UNAVAILABLE, "no_replica", "no replica is there now; try again", retry_after=5
    )


def died(replicas: int) -> Refused:
    """The refusal of a request with which this many replicas died."""
    return Refused(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "replica_lost",
        f"{replicas} replicas died while they computed this request; if others are answered, it is the "
        "request: report it to the operator",
        retry_after=10,
    )


def no_head() -> Refused:
    """The refusal of a server that ends with its cluster."""
    return Refused(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "cluster_lost",
        "the server has lost its cluster and starts again; send the request again",
        retry_after=10,
    )
