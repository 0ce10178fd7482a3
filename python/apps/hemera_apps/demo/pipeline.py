"""One scheme after the other: client, server, and the comparison with the clear result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera
from hemera.parameters import Parameters
from hemera_apps.demo.client import Client
from hemera_apps.demo.layout import FEATURES, Layout
from hemera_apps.demo.model import IntegerModel, LogisticModel, Preparation, Table
from hemera_apps.demo.server import Server

STAGES = ("setup", "keys", "encrypt", "server_setup", "evaluate", "decrypt")
SCHEMES = ("ckks", "bfv", "bgv")
CKKS_DEPTH = 5
CKKS_SLOTS = 8192
INTEGER_SLOTS = 8192

Progress = Callable[[str], None]
"""A function that is called with the name of each stage as it begins."""


@dataclass
class Run:
    """The results of one scheme's run. `to_json` has the stable keys."""

    scheme: str
    params: Parameters
    device: str
    rows: int
    ciphertexts: int
    accuracy_clear: float
    accuracy_encrypted: float
    agreement: float
    """The part of the rows that both classify alike."""
    max_error_bits: float | None
    """CKKS: log2 of the largest difference from the same polynomial score in double precision."""
    sigmoid_error_bits: float | None
    """CKKS: log2 of the largest difference of the polynomial score from the exact sigmoid, both in the clear.
    """
    exact: bool | None
    """BFV and BGV: whether every integer score equals the clear one."""
    seconds: dict[str, float] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "scheme": self.scheme,
            "rows": self.rows,
            "accuracy_clear": self.accuracy_clear,
            "accuracy_encrypted": self.accuracy_encrypted,
            "agreement": self.agreement,
            "max_error_bits": self.max_error_bits,
            "sigmoid_error_bits": self.sigmoid_error_bits,
            "exact": self.exact,
            "security_bits": self.params.security_bits,
            "security": self.params.security,
            "seconds": self.seconds,
            "bytes": self.bytes,
            "ciphertexts": self.ciphertexts,
            "degree": self.params.degree,
            "log_modulus": self.params.log_modulus,
            "fingerprint": self.params.fingerprint,
            "device": self.device,
        }


def choose_parameters(scheme: str, integer: IntegerModel) -> Parameters:
    """128-bit secure parameters for the server's circuit."""
    if scheme == "ckks":
        return hemera.ckks.Parameters.for_circuit(CKKS_DEPTH, scale_bits=40, slots=CKKS_SLOTS)
    # Scores from -bound to bound, each a residue of its own.
    plain_bits = (2 * integer.bound + 1).bit_length() + 1
    helper = {"bfv": hemera.bfv.Parameters, "bgv": hemera.bgv.Parameters}[scheme]
    return helper.for_circuit(1, plain_bits=plain_bits, slots=INTEGER_SLOTS, terms=FEATURES)


def run_scheme(
    scheme: str,
    table: Table,
    models: tuple[Preparation, LogisticModel, IntegerModel],
    rows: int,
    *,
    device: str,
    threads: int | None,
    progress: Progress,
) -> Run:
    """Score the first `rows` held-out rows under encryption and in the clear."""
    preparation, logistic, integer = models
    held_out, labels = table.held_out[:rows], table.labels[:rows]
    model: LogisticModel | IntegerModel = logistic if scheme == "ckks" else integer
    prepared: NDArray[Any] = (
        preparation.apply(held_out) if scheme == "ckks" else preparation.quantise(held_out)
    )
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        progress(f"{scheme.upper()}: {name.replace('_', ' ')}")
        begin = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - begin

    with stage("setup"):
        params = choose_parameters(scheme, integer)
        client = Client(params, device=device, threads=threads)
    with stage("keys"):
        keys = client.keys(products=scheme == "ckks")
    with stage("encrypt"):
        request = client.request(prepared)
    with stage("server_setup"):
        server = Server(model, client.parameters(), keys, device=device, threads=threads)
    with stage("evaluate"):
        response = server.score(request)
    with stage("decrypt"):
        scores = client.scores(response, rows)

    clear = model.scores(prepared)
    threshold = 0.5 if scheme == "ckks" else 0
    chosen, chosen_clear = scores > threshold, clear > threshold
    return Run(
        scheme=scheme,
        params=params,
        device=client.device,
        rows=rows,
        ciphertexts=-(-rows // Layout.of(params).rows),
        accuracy_clear=float(np.mean(chosen_clear == labels)),
        accuracy_encrypted=float(np.mean(chosen == labels)),
        agreement=float(np.mean(chosen == chosen_clear)),
        max_error_bits=_log2(np.abs(scores - clear).max()) if scheme == "ckks" else None,
        sigmoid_error_bits=(
            _log2(np.abs(clear - logistic.probabilities(prepared)).max()) if scheme == "ckks" else None
        ),
        exact=bool(np.array_equal(scores, clear)) if scheme != "ckks" else None,
        seconds=seconds,
        bytes={"keys": len(keys), "request": len(request), "response": len(response)},
    )


def _log2(error: float) -> float:
    """log2 of an error, or of the least positive double if there is none, so that JSON can hold it."""
    return math.log2(max(float(error), math.ulp(0.0)))
