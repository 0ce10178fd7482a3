"""A server's counts, as Prometheus' text. It has names of models and indexes, not of clients."""

from __future__ import annotations

import functools
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
    """A family of values, which a function gives when they are asked for."""

    def __init__(self, family: Callable[[], Any], rows: Callable[[], Rows]) -> None:
        self._family, self._rows = family, rows

    def collect(self) -> Iterable[Metric]:
        found = self._family()
        for words, value in self._rows():
            found.add_metric(list(words), value)
        return [found]


class Metrics:
    """Counters of one server. Those without a method of their own are counted where the thing happens."""

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
        self.models = made(Gauge, "model_info", "Models that are served, by digest", "model", "digest")
        told = "Requests that were refused because their client sent too many requests or bytes"
        self.limited = made(Counter, "rate_limited", told, "limit")
        for limit in ("requests", "bytes"):
            self.limited.labels(limit)  # told as 0 before the first
        self.refused = made(Counter, "refused", "Answers that are no result, by their code", "code")
        self.uploads = made(Counter, "key_uploads", "Uploads of keys, by status", "status")
        self.received = made(Counter, "received_bytes", "Bytes of bodies that arrived")
        self._sent = made(Counter, "sent_bytes", "Bytes of answers to requests")
        self.hung_up = made(Counter, "hung_up", "Clients that left before their answer")

    def _made(self, kind: type[M], name: str, told: str, *labels: str, **options: Any) -> M:
        return kind(f"hemera_{name}", told, labels, registry=self._registry, **options)

    def watch(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """A value that is looked at when it is asked for."""
        Gauge(name, help_text, registry=self._registry).set_function(value)

    def count(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """A number that only grows, and is looked at when it is asked for."""
        family = functools.partial(CounterMetricFamily, name, help_text, labels=())
        self._registry.register(_Watched(family, lambda: [((), value())]))

    def tell(self, name: str, help_text: str, labels: Sequence[str], rows: Callable[[], Rows]) -> None:
        """Values by labels, which are looked at when they are asked for."""
        family = functools.partial(GaugeMetricFamily, name, help_text, labels=labels)
        self._registry.register(_Watched(family, rows))

    def watch_process(self) -> None:
        """The memory, processor time and descriptors of this process, and the versions of Python."""
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)

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

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
