"""Spans of requests, by OpenTelemetry (the extra "telemetry")."""

from __future__ import annotations

from importlib.metadata import version

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hemera._extras import how_to_install
from hemera.errors import ParameterError

try:
    from opentelemetry import context, trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
    from opentelemetry.metrics import NoOpMeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
except ImportError as error:
    raise ParameterError(f"telemetry needs {error.name}: {how_to_install('telemetry')}") from None

_WHOLE = "hemera.scope"
_FIELDS = ("type", "method", "scheme", "http_version", "server")
"""What is told of a request besides its route: all else may hold what the caller wants to keep."""


def spans_to(address: str) -> TracerProvider:
    """Sends spans to a collector, by OTLP over HTTP, in a thread of its own. Variables OTEL_... of the
    environment set the rest, as OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER."""
    resource = Resource.create({"service.version": version("hemera")})
    found = TracerProvider(resource=resource)
    found.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
    return found


class Spans:
    """A span for each request, of the trace that its `traceparent` names.

    OpenTelemetry's middleware sees no path, query, header or address of a request: the span has the method,
    the route as it is in /openapi.json, the status and the names of the log's line.
    """

    def __init__(self, app: ASGIApp, provider: TracerProvider) -> None:
        self._app = app
        self._traced = OpenTelemetryMiddleware(
            self._answer,
            default_span_details=lambda scope: (scope["method"], {}),
            tracer_provider=provider,
            meter_provider=NoOpMeterProvider(),
            exclude_spans=["receive", "send"],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = {name: scope[name] for name in _FIELDS if name in scope}
        told["headers"] = [each for each in scope["headers"] if each[0] == b"traceparent"]
        # asyncio hands on the context of a connection's request before, and with it that one's span.
        before = context.attach(context.Context())
        try:
            await self._traced({**told, _WHOLE: scope}, receive, send)
        finally:
            context.detach(before)

    async def _answer(self, told: Scope, receive: Receive, send: Send) -> None:
        scope = told[_WHOLE]
        span = trace.get_current_span()

        async def name(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = getattr(scope.get("route"), "path", None)
                if path is not None:
                    span.update_name(f"{scope['method']} {path}")
                known = {"http.route": path, **scope.get("path_params", {}), **scope.get("state", {})}
                for key in ("http.route", "model", "index", "client", "code", "digest"):
                    if known.get(key) is not None:
                        span.set_attribute(key if "." in key else f"hemera.{key}", known[key])
                headers = dict(message["headers"])
                span.set_attribute("hemera.request", headers[b"hemera-request"].decode())
            await send(message)

        await self._app(scope, receive, name)
