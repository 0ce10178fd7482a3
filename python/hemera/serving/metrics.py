"""A server's counts, as Prometheus' text. It has names of models and indexes, not of clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
M = TypeVar("M", Counter, Gauge, Histogram)
Rows = Iterable[tuple[Sequence[str], float]]
"""Values of labels, and the number that they have."""


class _Watched(Collector):
    """One family of values that a function gives."""

    def __init__(self, family: Callable[[], Metric]) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return [self._family()]


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        made = self._made
        told = "Answered requests, by model or index and status"
        self._requests = made(Counter, "requests", told, "model", "status")
        told = "Seconds from a request's arrival to its answer, of those that were computed"
        self._seconds = made(Histogram, "request_seconds", told, "model", buckets=_SECONDS)
        told = "Requests that ran as one batch"
        self._batches = made(Histogram, "batch_requests", told, "model", buckets=_SIZES)
        told = "Seconds that a batch was computed"
        self._running = made(Histogram, "batch_seconds", told, "model", buckets=_SECONDS)
        self._models = made(Gauge, "model_info", "Models that are served, by digest", "model", "digest")
        told = "Requests that were refused because their client sent too many requests or bytes"
        self._limited = made(Counter, "rate_limited", told, "limit")
        for limit in ("requests", "bytes"):
            self._limited.labels(limit)  # told as 0 before the first
        self._refused = made(Counter, "refused", "Answers that are no result, by their code", "code")
        self._uploads = made(Counter, "key_uploads", "Uploads of keys, by status", "status")
        self._received = made(Counter, "received_bytes", "Bytes of bodies that arrived")
        self._sent = made(Counter, "sent_bytes", "Bytes of answers to requests")
        self._hung_up = made(Counter, "hung_up", "Clients that left before their answer")

    def _made(self, kind: type[M], name: str, told: str, *labels: str, **options: Any) -> M:
        return kind(f"hemera_{name}", told, labels, registry=self._registry, **options)

    def watch(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """A value that is looked at when it is asked for."""
        Gauge(name, help_text, registry=self._registry).set_function(value)

    def count(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """A number that only grows, and is looked at when it is asked for."""
        self._registry.register(_Watched(lambda: CounterMetricFamily(name, help_text, value())))

    def tell(self, name: str, help_text: str, labels: Sequence[str], rows: Callable[[], Rows]) -> None:
        """Values by labels, which are looked at when they are asked for."""

        def family() -> Metric:
            found = GaugeMetricFamily(name, help_text, labels=labels)
            for words, value in rows():
                found.add_metric(list(words), value)
            return found

        self._registry.register(_Watched(family))

    def watch_process(self) -> None:
        """The memory, processor time and descriptors of this process, and the versions of Python."""
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)

    def refused(self, code: str) -> None:
        """A request was refused."""
        self._refused.labels(code).inc()

    def serves(self, model: str, digest: str) -> None:
        """A model is served."""
        self._models.labels(model, digest).set(1)

    def retires(self, model: str, digest: str) -> None:
        """A model is served no more."""
        self._models.remove(model, digest)

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

    def uploaded(self, status: int) -> None:
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
