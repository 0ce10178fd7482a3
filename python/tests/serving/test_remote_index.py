"""What the client of a served index sends, reads and forgets: by a server of the test's own."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from hemera.client.remote_index import RemoteIndex
from hemera.errors import FormatError, MismatchError, NoiseError, ParameterError
from hemera.search import Threshold, Top
from hemera.search.answers import Scores

from ..refusals import raises


class Searching:
    """The search's client: what it is asked for, and messages that tell it."""

    def __init__(self):
        self.forgotten = []
        self.prepared = 0
        self.wrong = None
        self.error = NoiseError("wrong")

    def query(self, x, *given, **options):
        if np.asarray(x).tolist() == [-1]:
            raise MismatchError("the index has others")
        told = [np.asarray(each).tolist() for each in (x, *given)]
        return repr((*told, *(f"{name}={value}" for name, value in options.items()))).encode()

    def decrypt(self, answer, k):
        if answer == self.wrong:
            raise self.error
        told = eval(answer)
        return np.atleast_1d(told[1]) * 10.0 if told[-1] == "count" else (answer.decode(), k)

    def forget(self, body):
        self.forgotten.append(body)

    def top(self, x, k, ask, **options):
        return x, k, ask(b"round"), options


class Keys:
    is_there = False

    def ensure(self):
        self.is_there = True

    def answer(self, send):
        assert self.is_there  # sent ahead, not after a refusal
        return send()[0]


class Sent:
    def __init__(self):
        self.bodies = []
        self.told = []

    def request(self, method, path, body):
        assert (method, path) == ("POST", "/v1/indexes/rows/query")
        self.bodies.append(body)
        return type("Response", (), {"content": body, "headers": {}})

    def progress(self, *told):
        self.told.append(told)


def remote(answers, most=2, copies=1):
    made = object.__new__(RemoteIndex)
    layout = SimpleNamespace(copies=copies)
    program = SimpleNamespace(layout=layout, thresholds_of_round=3)
    made.settings = SimpleNamespace(answers=answers, program=program)
    made._client, made._transport, made.keys = Searching(), Sent(), Keys()
    made._path, made._most, made.is_doubtful, made.name = "/v1/indexes/rows", most, False, "rows"
    made._lock = threading.Lock()
    return made


@pytest.mark.parametrize("payloads", [False, True])
def test_payloads_come_where_they_are_asked_for(payloads):
    top, near = remote(Top()), remote(Threshold())
    want = "payloads" if payloads else "mask"
    assert top.query([1.0], 7, payloads=payloads)[0] == f"([1.0], None, '{want}', 'k=7')"
    assert [each[0] for each in top.query([[1], [2]], payloads=payloads)] == [
        f"([{at}], None, '{want}', 'k=10')" for at in (1, 2)
    ]
    assert near.query([1.0], threshold=0.5, payloads=payloads)[0] == f"([1.0], 0.5, {want!r}, 'k=None')"
    assert [each[0] for each in near.query([[1], [2]], threshold=0.5, payloads=payloads)] == [
        f"([{at}], 0.5, {want!r}, 'k=None')" for at in (1, 2)
    ]
    found = near.query([1], 4, payloads=payloads)
    assert found == ([1], 4, b"round", {"payloads": payloads, "thresholds": 2})
    found = remote(Threshold(), 9).query([[1], [2]], 4)
    assert found[1] == ([2], 4, b"round", {"payloads": False, "thresholds": 3})


@pytest.mark.parametrize(
    ("answers", "options", "why"),
    [
        (Scores(), {"threshold": 0.5}, "'rows' is none"),
        (Top(), {"threshold": 0.5}, "'rows' is none"),
        (Scores(), {"payloads": True}, "for comparisons"),
        (Threshold(), {"k": None}, "k=None is for scores"),
    ],
)
def test_what_other_answers_have_is_refused(answers, options, why):
    index = remote(answers)
    raises(ParameterError, why, index.query, [1.0], **options)
    assert index._transport.bodies == []


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 9])
def test_thresholds_come_in_as_many_requests_as_they_need(count, copies):
    """A number alone (0) or a list: in parts of what a request may have."""
    near = remote(Threshold(), 2, copies)
    levels = np.arange(1.0, count + 1) if count else 5.0
    assert near.count([1], levels).tolist() == (np.atleast_1d(levels) * 10).tolist()
    at_once = 2 * copies
    sizes = [np.size(eval(body)[1]) for body in near._transport.bodies]
    assert sizes == [min(at_once, max(count, 1) - at) for at in range(0, max(count, 1), at_once)]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_queries_come_in_as_many_requests_as_they_need(count):
    index = remote(Scores())
    index._client.decrypt = lambda answer, k: (np.array(eval(answer)[0]), np.full((2, k), 7))
    rows = np.arange(2 * count).reshape(count, 2)
    scores, _ = index.query(rows, k=3)
    assert scores.tolist() == rows.tolist()
    number = -(-count // 2)
    assert len(index._transport.bodies) == number
    assert index._transport.told == [("search", at, number) for at in range(number + 1)]
    assert index._client.forgotten == index._transport.bodies


def test_prepared_queries_are_for_one_query_each():
    index = remote(Scores())
    for prepared, x, is_taken in (
        (1, [1, 2], True),
        (1, [[1, 2]], True),
        (1, [[1], [2]], False),
        (0, [1], False),
    ):
        index._client.prepared = prepared
        assert index._encrypt(np.array(x)).decode().endswith(f"'prepared={is_taken}')")


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_query_that_fails_keeps_no_other_from_being_sent(wrong):
    """The server learns of no error that depends on the secret key."""
    near = remote(Threshold())

    def top(x, _, ask, **__):
        ask(str(x).encode())
        if x == [wrong]:
            raise NoiseError("wrong")

    near._client.top = top
    raises(NoiseError, "", near.query, [[0], [1], [2]], 4)
    assert near._transport.bodies == [b"[0]", b"[1]", b"[2]"]


@pytest.mark.parametrize("answers", [Top(), Threshold()])
@pytest.mark.parametrize(
    ("wrong", "error", "is_doubtful"),
    [
        (None, None, False),
        (0, NoiseError("wrong"), None),
        (1, FormatError("wrong"), True),
        (2, MismatchError("wrong"), True),
        ("encrypted", MismatchError("wrong"), True),
    ],
)
def test_what_was_sent_is_forgotten_whatever_comes(answers, wrong, error, is_doubtful):
    """What does not fit makes the index doubtful, until something fits; noise says nothing of it."""
    index = remote(answers)
    x = [[0], [1], [-1] if wrong == "encrypted" else [2]]

    level, k = (None, 1) if isinstance(answers, Top) else (1, None)
    sent = lambda row: index._client.query(row, level, "mask", k=k)  # noqa: E731
    bodies = [sent(each) for each in x[:2]]
    for doubted in (False, True):
        index.is_doubtful = doubted
        index._client.wrong, index._client.forgotten = None, []
        if isinstance(wrong, int):
            index._client.wrong = sent(x[wrong])
            index._client.error = error
        if error is None:
            assert len(index.query(x, 1, threshold=level)) == 3
        else:
            raises(type(error), "", index.query, x, 1, threshold=level)
        assert index._client.forgotten[:2] == bodies
        assert len(index._client.forgotten) == (2 if wrong == "encrypted" else 3)
        assert index.is_doubtful == (doubted if is_doubtful is None else is_doubtful)
