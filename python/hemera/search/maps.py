"""An index as plain numbers and lists, for clients in languages that do not have this package."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hemera import _core
from hemera.circuits.needs import uploaded_bytes
from hemera.inputs.fields import as_base64, places_as_base64
from hemera.search.comparisons.program import Comparisons
from hemera.search.scores.program import ScoreProgram
from hemera.search.scores.scales import USED
from hemera.search.settings import LARGEST_SCORE, LEAST_SCORE, Settings


def search_maps(settings: Settings) -> dict[str, Any]:
    """All that a client needs, as JSON takes it; x is a query and n its norm.

    - `parameters`; `settings`: the digest in messages; `kind`: the first word of the kinds of messages;
      `owner`: whether only the secret key of the rows' owner reads answers.
    - `keys`: the list of evaluation keys, a file as base64; `key_bytes`: the bytes that they have, about.
    - `norms`: the least and the largest n, besides 0, whose scores are doubles; None for cosines, which take
      any n but 0.
    - `scores`: `factor` x / n, rounded, or exact x up to `largest`, is encrypted times 2^`shift`. Numbers of
      an answer have `kept_bytes` bytes, without `dropped_bits` bits. Each is `answer_scale` times the product
      of x / n (exact: x) and a row's integers, which are `scale` times the row; squared norms of encrypted
      rows' integers come times `square_scale`. No row has a larger one than `bound`, exact: times n, plus
      `noise`; nor a larger square than `square_bound`.
    - `slots`: `entries`, little-endian int32 as base64, the number of the query in each slot, or -1 for 0;
      `levels` of the query and of what scores are compared with; `parts` of the sum of squared norms. Rows of
      a block, `rows`, lie in the slots `copies` times, a row's result in the first of `stride` slots.

    `hemera.search.wire` describes messages, `hemera.search.client` what is in them.
    """
    program, row_norm = settings.program, settings.program.row_bound
    if isinstance(program, ScoreProgram):
        own, row_norm = {"scores": _scores(program)}, row_norm / program.scale
    else:
        own = {"slots": _comparisons(program)}
    norms = [LEAST_SCORE / row_norm, LARGEST_SCORE / row_norm]
    if settings.metric == "l2":
        norms = [0.0, math.sqrt(LARGEST_SCORE) - row_norm]
    return {
        "parameters": as_base64(settings.params),
        "settings": settings.digest,
        "kind": settings.answers.kind,
        "owner": bool(settings.owner),
        "dims": settings.dims,
        "metric": settings.metric,
        "norms": None if settings.metric == "cosine" else norms,
        "keys": as_base64(_core.save_needed_keys(settings.params._native, program.needed_keys, False)),
        "key_bytes": uploaded_bytes(settings.params, program.needed_keys),
        **own,
    }


def _scores(program: ScoreProgram) -> dict[str, Any]:
    half = math.prod(program.params.primes[0]) / 2
    free = (1 - USED) / 2 * half
    return {
        "exact": program.exact,
        "largest": program.query_bound,
        "factor": 1 if program.exact else program.query_scale,
        "shift": int(math.log2(program.query_scale)) if program.exact else 0,
        "kept_bytes": program.kept_bytes,
        "dropped_bits": program.packing[0],
        "answer_scale": program.answer_scale,
        "scale": program.scale,
        "square_scale": program.square_scale if program.owner else 1,
        "bound": program.row_bound * program.answer_scale,
        "noise": program.answer_scale / 2 if program.exact else free,
        "square_bound": program.row_bound**2 * program.square_scale + free,
    }


def _comparisons(program: Comparisons) -> dict[str, Any]:
    layout = program.layout
    entries = layout.entries()
    return {
        "entries": places_as_base64(np.where(entries < program.dims, entries, -1)),
        "levels": [program.top, program.compared_level],
        "row_bound": program.row_bound,
        "parts": layout.parts,
        "rows": layout.rows,
        "copies": layout.copies,
        "stride": program.stride,
        "blocks": program.blocks,
        "ranked_rows": program.rows,
        "payload": program.payload,
        "payload_bound": program.payload_bound,
        "margin": program.margin,
        "thresholds_of_round": program.thresholds_of_round,
    }
