"""A server's counts, as Prometheus' text. It has names of models and indexes, not of clients."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "hemera_requests",
            "Answered requests, by model or index and status",
            ["model", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "hemera_request_seconds",
            "Seconds from a request's arrival to its answer, of those that were computed",
            ["model"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._batches = Histogram(
            "hemera_batch_requests",
            "Requests that ran as one batch",
            ["model"],
            buckets=_SIZES,
            registry=self._registry,
        )
        self._running = Histogram(
            "hemera_batch_seconds",
            "Seconds that a batch was computed",
            ["model"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._models = Gauge(
            "hemera_model_info",
            "Models that are served, by digest",
            ["model", "digest"],
            registry=self._registry,
        )
        self._limited = Counter(
            "hemera_rate_limited",
            "Requests that were refused because their client sent too many requests or bytes",
            ["limit"],
            registry=self._registry,
        )
        for limit in ("requests", "bytes"):
            self._limited.labels(limit)  # told as 0 before the first
        self._uploads = Counter(
            "hemera_key_uploads", "Uploads of keys, by status", ["status"], registry=self._registry
        )
        self._received = Counter(
            "hemera_received_bytes", "Bytes of bodies that arrived", registry=self._registry
        )
        self._sent = Counter("hemera_sent_bytes", "Bytes of answers to requests", registry=self._registry)
        self._hung_up = Counter(
            "hemera_hung_up", "Clients that left before their answer", registry=self._registry
        )

    def watch(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """A value that is looked at when it is asked for."""
        Gauge(name, help_text, registry=self._registry).set_function(value)

    def serves(self, model: str, digest: str) -> None:
        """A model is served."""
        self._models.labels(model, digest).set(1)

    def ran(self, model: str, requests: int, seconds: float) -> None:
        """A batch was computed."""
        self._batches.labels(model).observe(requests)
        self._running.labels(model).observe(seconds)

    def answered(self, model: str, status: int, seconds: float, sent: int) -> None:
        """A request got its answer."""
        self._requests.labels(model, str(status)).inc()
        self._sent.inc(sent)
        if status < HTTPStatus.BAD_REQUEST:
            self._seconds.labels(model).observe(seconds)

    def uploaded(self, status: int, *_: float) -> None:
        """An upload of keys got its answer."""
        self._uploads.labels(str(status)).inc()

    def limited(self, limit: str) -> None:
        """A client was refused by a rate, of "requests" or "bytes"."""
        self._limited.labels(limit).inc()

    def received(self, count: int) -> None:
        """Bytes of a body came."""
        self._received.inc(count)

    def hung_up(self) -> None:
        """A client left before its answer."""
        self._hung_up.inc()

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
