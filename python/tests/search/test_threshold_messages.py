"""Messages and arguments that indexes with thresholds refuse."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hemera.errors import FormatError, MismatchError, MissingKeyError, NoiseError, ParameterError, RangeError
from hemera.search import Client, Index, Settings, Threshold, wire
from hemera.search.comparisons.messages import pack_ciphertexts

from .threshold_cases import DIMS, MARGIN, World, floats, payloads_of

pytestmark = pytest.mark.usefixtures("small_rings")


def test_an_answer_is_decrypted_once_and_by_its_client(clear: World) -> None:
    query = clear.client.query(clear.x, 0.2)
    answer = clear.ask(query)
    other = Client(clear.index.settings)
    with pytest.raises(MismatchError, match="no query of this client"):
        other.decrypt(answer)
    with pytest.raises(ParameterError, match="scores, and this answer"):
        clear.client.decrypt(answer, 3)
    clear.client.decrypt(answer)
    with pytest.raises(MismatchError, match="no query of this client"):
        clear.client.decrypt(answer)
    forgotten = clear.client.query(clear.x, 0.2)
    clear.client.forget(forgotten)
    with pytest.raises(MismatchError, match="no query of this client"):
        clear.client.decrypt(clear.ask(forgotten))


def test_another_secret_key_reads_nothing(clear: World) -> None:
    query = clear.client.query(clear.x, 0.2)
    answer = clear.ask(query)
    other = Client(clear.index.settings)
    other._waiting = dict(clear.client._waiting)
    with pytest.raises(NoiseError):
        other.decrypt(answer)


def test_damaged_messages(clear: World) -> None:
    query = clear.client.query(clear.x, 0.2)
    answer = clear.ask(query)
    for message, read in (
        (query, lambda data: clear.ask(data)),
        (answer, lambda data: clear.client.decrypt(data)),
        (bytes(clear.index.settings), lambda data: Settings.load(data)),
    ):
        for place in (0, 20, 60, len(message) // 2, len(message) - 1):
            broken = bytearray(message)
            broken[place] ^= 1
            with pytest.raises(FormatError):
                read(bytes(broken))
        with pytest.raises(FormatError):
            read(message[:-40])
    with pytest.raises(FormatError):
        clear.ask(answer)
    with pytest.raises(FormatError):
        clear.client.decrypt(query)
    with pytest.raises(FormatError):
        clear.index.query(query, clear.client.keys[:-5])


def test_messages_of_other_settings(clear: World) -> None:
    for other in (
        Index(floats(20, seed=1), answers=Threshold(margin=MARGIN)),
        Index(floats(20, seed=1), answers=Threshold(margin=MARGIN / 2)),
        Index(floats(20, DIMS + 1), answers=Threshold(margin=MARGIN)),
    ):
        client = Client(other.settings)
        query = client.query(np.ones(other.settings.dims), 0.5)
        with pytest.raises(MismatchError):
            clear.ask(query)
        with pytest.raises(MismatchError):
            clear.client.decrypt(other.query(query, client.keys))


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
        with pytest.raises(MismatchError, match="at level"):
            clear.ask(query)


def test_rows_of_another_owner(encrypted: World) -> None:
    other = Client.owning(
        floats(20), answers=Threshold(margin=MARGIN, payload_bound=500), payloads=payloads_of(20)
    )
    with pytest.raises(MismatchError):
        encrypted.index.add(other.encrypt(floats(3), payloads=payloads_of(3)))
    with pytest.raises(ParameterError, match="key of its owner"):
        Client(encrypted.client.settings)


def test_keys_that_lack_one(clear: World) -> None:
    context, secret_key = clear.client._context, clear.client.secret_key
    few = context.generate_keys(secret_key, public_key=False).to_bytes()
    with pytest.raises(MissingKeyError):
        clear.index.query(clear.client.query(clear.x, 0.2, "count"), few)
    search = Client(Index(floats(20).astype(np.float32)).settings)
    with pytest.raises(MismatchError):
        clear.index.query(clear.client.query(clear.x, 0.2), search.keys)


def test_arguments(clear: World) -> None:
    client, x = clear.client, clear.x
    with pytest.raises(MismatchError, match="6 numbers"):
        client.query(x[:-1], 0.5)
    with pytest.raises(ParameterError, match="zeros"):
        client.query(x * 0, 0.5)
    for threshold in (1.5, np.nan):
        with pytest.raises(RangeError):
            client.query(x, threshold)
    with pytest.raises(RangeError):
        client.query(x * np.inf, 0.5)
    with pytest.raises(ParameterError, match="thresholds"):
        client.query(x, [0.1, 0.2])
    with pytest.raises(ParameterError, match="wants one of"):
        client.query(x, 0.1, "scores")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="k must be"):
        client.top(x, 0, clear.ask)
    plain = Client(Index(floats(4), answers=Threshold(margin=MARGIN)).settings)
    with pytest.raises(ParameterError, match="no payloads"):
        plain.query(x, 0.1, "payloads")
    assert isinstance(clear.index, Index)
    with pytest.raises(MismatchError):
        clear.index.add(floats(2))
    with pytest.raises(RangeError, match="payload_bound="):
        clear.index.add(floats(2), payloads=payloads_of(2) * 0 + 501)
    with pytest.raises(ParameterError, match="in the clear"):
        client.encrypt(floats(2), payloads=payloads_of(2))
    settings = client.settings
    for changed in ({"margin": 2.0**-12}, {"rows": 12}, {"rows": 4}, {"payload": -1}):
        with pytest.raises(ParameterError):
            Settings(DIMS, "cosine", dataclasses.replace(settings.answers, **changed))  # type: ignore[type-var]
    with pytest.raises(ParameterError):
        dataclasses.replace(settings, dims=0)
