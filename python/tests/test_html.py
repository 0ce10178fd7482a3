"""Tables of objects for notebooks. The judge is an HTML parser of the standard library."""

from html.parser import HTMLParser

import numpy as np
import pytest

import hemera as hm
from hemera import _html

HOSTILE = "</td><script>alert('x')</script>&\"a\""


class Reader(HTMLParser):
    """The lines of a table; checks that every element is closed, in order."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.tags = set()
        self.texts = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert all(value is not None for _, value in attrs)
        self.open.append(tag)
        self.tags.add(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        assert self.open
        self.texts[self.open[-1]][-1] += data

    @property
    def facts(self):
        names, values = self.texts["th"], self.texts["td"]
        assert len(set(names)) == len(names) == len(values)
        return dict(zip(names, values, strict=True))

    @property
    def title(self):
        (text,) = self.texts["b"]
        return text


def read(shown):
    found = Reader(shown._repr_html_())
    known = {"div", "table", "caption", "b", "tbody", "tr", "th", "td", "details", "summary", "pre"}
    assert found.tags <= known
    return found


@pytest.fixture(scope="module")
def ckks():
    ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, slots=64), threads=1)
    secret = ctx.generate_secret_key()
    return ctx, secret, ctx.generate_keys(secret, rotations=[1])


def test_every_text_is_escaped():
    found = Reader(_html.table(HOSTILE, {HOSTILE: HOSTILE, "none": None}, HOSTILE))
    assert "script" not in found.tags
    assert (found.title, found.facts) == (HOSTILE, {HOSTILE: HOSTILE})
    assert found.texts["pre"] == [HOSTILE]


def test_values_are_for_people():
    facts = {"n": 1234567, "part": 0.123456, "flag": True, "shape": (2, 3)}
    found = Reader(_html.table("t", facts)).facts
    assert found == {"n": "1,234,567", "part": "0.1235", "flag": "yes", "shape": "(2, 3)"}


@pytest.mark.parametrize("scheme", [hm.bfv, hm.bgv])
def test_parameters(scheme, ckks):
    params = scheme.Parameters.for_circuit(depth=1, slots=4)
    found = read(params).facts
    assert found["plaintext modulus t"] == f"{params.plain_modulus:,}"
    assert (found["degree N"], found["security"]) == (f"{params.degree:,}", params.security)
    assert "plaintext modulus t" not in read(ckks[0].params).facts
    assert read(ckks[0].params).facts["levels"] == "3"


def test_a_secret_key_shows_nothing_of_itself(ckks):
    """Two keys of one context have the same table."""
    ctx, secret, _ = ckks
    other = ctx.generate_secret_key()
    assert bytes(secret) != bytes(other)
    assert read(secret).facts == read(other).facts == {"context": repr(ctx), "value": "not shown"}


def test_ciphertexts_and_plaintexts_show_no_values(ckks):
    ctx, _, keys = ckks
    ev = ctx.bind(keys)
    x = ev.encrypt(np.ones((2, 50)))
    found = read(x)
    assert (found.title, found.facts["shape of the batch"]) == ("CKKS ciphertext", "(2,)")
    assert (found.facts["slots"], found.facts["level"]) == ("50 of 64 slots", "2")
    assert read(x.at_level(1)).facts["level"] == "1"
    assert read(ev.encrypt(np.zeros((2, 50)))).facts == found.facts
    assert read(ctx.encode(np.ones(64))).facts == read(ctx.encode(np.zeros(64))).facts


def test_each_fact_is_the_objects_own(ckks):
    """In words and units; what a kind of object has not is left out."""
    ctx, secret, keys = ckks
    x = ctx.encrypt(np.ones((2, 50)), secret, largest=3)
    residues = 8 * 2 * 2 * ctx.params.degree * len(ctx.params.primes[-1])
    shared = {
        "parameters": repr(ctx.params),
        "shape of the batch": "(2,)",
        "slots": "50 of 64 slots",
        "type of values": "float64",
        "level": "2",
        "log2 of the scale": f"{np.log2(ctx.params.scale):.4g}",
    }
    assert read(ctx.encode(np.ones((2, 50)))).facts == shared
    own = {"polynomials": "2", "bytes of memory": f"{residues:,}", "device": ctx.device}
    assert read(x).facts == {**shared, "largest magnitude of values": "3", **own}
    assert read(ctx.encrypt(np.ones((2, 50)), secret)).facts == {**shared, **own}
    assert read(keys).facts == {
        "public key": "yes",
        "relinearization": "yes",
        "Galois keys": "1",
        "security": str(keys.security),
        "bytes of memory": f"{keys.memory_bytes:,}",
    }
    facts = read(ctx).facts
    assert list(facts) == ["parameters", "device", "multiplier", "storage of keys", "bytes of memory used"]
    assert facts["bytes of memory used"] == f"{ctx.memory_used:,}"
    assert read(ctx.params).facts == {
        "degree N": f"{ctx.params.degree:,}",
        "levels": "3",
        "slots": f"{ctx.params.degree // 2:,}",
        "log2 of the modulus QP": f"{round(ctx.params.log_modulus, 1):.4g}",
        "security": ctx.params.security,
        "bytes of a ciphertext": f"{residues // 2:,}",
        "bytes of a switching key": f"{ctx.params.switching_key_bytes:,}",
        "fingerprint": ctx.params.fingerprint[:16],
    }
    counted = hm.cost(lambda x: x * 0.5, 64, params=ctx.params)
    facts = read(counted).facts
    for name, value in (("keys", counted.key_bytes), ("plaintexts", counted.plaintext_bytes)):
        assert facts[f"bytes of {name}"] == f"{value:,}"
    assert facts["bytes of workspace"] == f"{counted.workspace_bytes:,}" != facts["bytes of plaintexts"]
    assert facts["level"] == "2 to 1"


def test_integer_ciphertexts_show_their_budget():
    ctx = hm.Context(hm.bfv.Parameters.for_circuit(depth=1, slots=4), threads=1)
    secret = ctx.generate_secret_key()
    x = ctx.encrypt([1, 2], secret)
    found = read(x).facts
    assert found["guaranteed noise budget, bits"] == f"{x.guaranteed_noise_budget:.4g}"
    assert "log2 of the scale" not in found


def test_plans_and_costs_have_their_report(ckks):
    params = ckks[0].params
    plan = hm.circuits.InnerSum(params, slots=64, count=8)
    counted = hm.cost(lambda x: x * x, 64, params=params)
    for each in (plan, counted):
        found = read(each)
        assert found.facts["keys"] == str(len(each.needed_keys))
        assert found.facts["bytes of keys"] == f"{each.key_bytes:,}"
        assert found.texts["pre"] == [each.report()]
    function = hm.approximate(np.exp, interval=(-1, 1), degree=3)
    assert read(function.plan(params)).facts["depth"] == str(function.depth)


def test_compiled_programs_and_their_check():
    plan = hm.compile(
        lambda x: {HOSTILE: x.mean(), "sum": x.sum()},
        hm.ArraySpec((100,), range=(0, 1), name="ages"),
        name="study",
    )
    found = read(plan)
    assert found.title == "Compiled program study"
    assert found.facts["input ages"] == "shape (100,), from 0 to 1"
    assert (found.facts[f"result {HOSTILE}"], found.facts["depth"]) == ("shape ()", str(plan.depth))
    checked = plan.check(np.ones((3, 100)), encrypted=0)
    facts = read(checked).facts
    assert (facts["samples"], facts["of them encrypted"]) == ("3", "0")
    assert facts["largest result"] == "100"
    assert "largest error encrypted" not in facts
