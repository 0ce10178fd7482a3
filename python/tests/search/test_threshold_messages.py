"""Messages and arguments that indexes with thresholds refuse."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.search import Client, Index, Settings, Threshold, wire
from hemera.search.messages import name_of, pack_ciphertexts

from ..refusals import raises
from .threshold_cases import DIMS, MARGIN, World, floats, payloads_of

pytestmark = pytest.mark.usefixtures("small_rings")


def test_queries_of_other_levels(clear: World) -> None:
    """A server answers by the levels of its settings alone."""
    settings, client = clear.client.settings, clear.client
    ones, top = np.full(settings.params.max_slots, 0.1), settings.program.top
    fresh = {
        level: client._context.encrypt(client._context.encode(ones[None], level=level), client.secret_key)
        for level in range(top - 3, top + 1)
    }
    for x, thresholds in (
        (settings.program.top - 1, settings.program.top - 1),
        (settings.program.top, settings.program.top - 2),
    ):
        header = {"settings": settings.digest, "want": "mask", "thresholds": 1}
        query = wire.pack("threshold query", header, *pack_ciphertexts([fresh[x], fresh[thresholds]]))
        raises(MismatchError, "at level", clear.ask, query)


def test_an_answer_with_other_results_is_refused(clear: World) -> None:
    mask, count = clear.client.query(clear.x, 0.2), clear.client.query(clear.x, 0.2, "count")
    header, body = wire.unpack("threshold answer", clear.ask(count))
    header["query"] = name_of(mask)
    with pytest.raises(MismatchError, match="the count of a query for the mask"):
        clear.client.decrypt(wire.pack("threshold answer", header, body))


def test_rows_of_another_owner(encrypted: World) -> None:
    other = Client.owning(
        floats(20), answers=Threshold(margin=MARGIN, payload_bound=500), payloads=payloads_of(20)
    )
    raises(MismatchError, "", encrypted.index.add, other.encrypt(floats(3), payloads=payloads_of(3)))
    raises(ParameterError, "key of its owner", Client, encrypted.client.settings)


def test_arguments(clear: World) -> None:
    client, x = clear.client, clear.x
    raises(MismatchError, "6 numbers", client.query, x[:-1], 0.5)
    raises(ParameterError, "zeros", client.query, x * 0, 0.5)
    for threshold in (1.5, np.nan):
        raises(RangeError, "", client.query, x, threshold)
    raises(RangeError, "", client.query, x * np.inf, 0.5)
    raises(ParameterError, "thresholds", client.query, x, [0.1, 0.2])
    raises(ParameterError, "wants one of", client.query, x, 0.1, "scores")
    with pytest.raises(ParameterError, match="ranks scores, and this answer"):
        client.decrypt(clear.ask(client.query(x, 0.1)), 3)
    for options in ({"k": 3}, {}):
        raises(ParameterError, "compares scores with a threshold", client.query, x, **options)
    raises(ParameterError, "1 or more; 0 takes all", Index, floats(4), answers=Threshold(rows=-1))
    for wrong in (Threshold, "threshold", 0.5):
        raises(TypeError, r"Threshold or Top", Index, floats(4), answers=wrong)
    for rows in (3.5, "4"):
        raises(TypeError, "rows", Index, floats(4), answers=Threshold(rows=rows))
    assert Index(floats(4), answers=Threshold(rows=9)).settings.program.rows == 16
    raises(ParameterError, "are of scores", Index, floats(4), answers=Threshold(), exact=True)
    raises(ParameterError, "k must be", client.top, x, 0, clear.ask)
    plain = Client(Index(floats(4), answers=Threshold(margin=MARGIN)).settings)
    raises(ParameterError, "no payloads", plain.query, x, 0.1, "payloads")
    assert isinstance(clear.index, Index)
    raises(MismatchError, "", clear.index.add, floats(2))
    raises(RangeError, "payload_bound=", clear.index.add, floats(2), payloads=payloads_of(2) * 0 + 501)
    raises(ParameterError, "in the clear", client.encrypt, floats(2), payloads=payloads_of(2))
    settings = client.settings
    for changed in ({"margin": 2.0**-12}, {"rows": 12}, {"rows": 4}, {"payload": -1}):
        raises(ParameterError, "", Settings, DIMS, "cosine", dataclasses.replace(settings.answers, **changed))
    raises(ParameterError, "", dataclasses.replace, settings, dims=0)
