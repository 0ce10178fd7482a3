"""Every public method, called with a wrong object in the place of each argument."""

import functools
import inspect

import numpy as np
import pytest

import hemera as hm
from hemera.objects.ciphertext import Plaintext
from hemera.objects.keys import SwitchingKey

CLASSES = (hm.Context, hm.Evaluator, hm.Ciphertext, Plaintext, hm.SecretKey, hm.Keys, SwitchingKey)
# What the compiled core and Python's own machinery say.
RAW = ("incompatible function", "_core", "nanobind", "hemera::", "std::", "attribute '_")


def methods():
    found = []
    for cls in CLASSES:
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            operator = name in ("__init__", "__getitem__", "__add__", "__rsub__", "__mul__", "__matmul__")
            operator = operator or name in ("__truediv__", "__pow__", "__iadd__", "__imul__", "__or__")
            public = not name.startswith("_") or operator
            made_by_users = name != "__init__" or cls is hm.Context
            if public and made_by_users and len(inspect.signature(member).parameters) > 1:
                found.append((cls, name))
    return found


def is_static(cls, name):
    return isinstance(inspect.getattr_static(cls, name), staticmethod)


def inverted(key):
    return bytes(byte ^ 0xFF for byte in key)


class Setting:
    """Objects of a party, and arguments that methods take."""

    def __init__(self, party, other):
        x = party.ev.encrypt(party.values(2, 8))
        plain = party.ev.encode(party.values(8))
        self.objects = {
            hm.Context: party.ctx,
            hm.Evaluator: party.ev,
            hm.Ciphertext: x,
            Plaintext: plain,
            hm.SecretKey: party.sk,
            hm.Keys: party.ev.keys,
            SwitchingKey: party.ctx.generate_switching_key(party.sk, party.sk),
        }
        same = [
            (party.sk, "secret_key key"),
            (x, "ciphertext a b other vectors inputs examples"),
            (None, "transform grid product noise_bound function"),
            (1, "threads steps depth"),
            (0, "index level"),
            (2, "shape exponent"),
        ]
        self.good = {
            **{name: value for value, names in same for name in names.split()},
            **{"params": party.ctx.params, "device": "cpu", "keys": party.ev.keys, "source": bytes(x)},
            **{"target": party.ctx, "plaintext": plain, "values": party.values(8), "slots": 8},
            **{"largest": 2.0, "terms": [x, x], "factors": [x, x], "parts": [x]},
            **{"coefficients": [0.5, 1.0], "circuit": lambda y: y, "path": "/nonexistent/folder/file"},
        }
        foreign = other.ev.encrypt(other.values(8))
        self.wrong = [
            *(None, "text", b"bytes", 1.5, -1, 2**70, float("nan"), object(), int, [], [None], ["text"]),
            *({}, np.array(["text"]), np.array([object()]), x, plain, party.sk, party.ev.keys, party.ev),
            *(party.ctx, foreign, [foreign, x], other.sk, other.ev.keys, other.ctx, other.ctx.params),
        ]

    def arguments(self, cls, name, method):
        """The names to replace, and good arguments for all that must be given."""
        parameters = list(inspect.signature(method).parameters.values())[0 if is_static(cls, name) else 1 :]
        parameters = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
        special = {
            (hm.Evaluator, "rotate_many"): {"steps": [1]},
            (hm.Evaluator, "dot"): {"a": [self.good["a"]], "b": [self.good["b"]]},
            (hm.Evaluator, "divide"): {"b": 2},
            (hm.Evaluator, "matmul"): {"b": np.eye(8)},
            (hm.Evaluator, "reencrypt"): {"key": self.objects[SwitchingKey]},
            (hm.Ciphertext, "rotate_many"): {"steps": [1]},
            (hm.Ciphertext, "__matmul__"): {"other": np.eye(8)},
            (hm.Ciphertext, "__truediv__"): {"other": 2},
            (hm.Keys, "__or__"): {"other": self.good["keys"]},
            (hm.SecretKey, "seal"): {"wrap": inverted},
            (hm.SecretKey, "unseal"): {"data": b"", "unwrap": inverted, "context": self.objects[hm.Context]},
            (hm.Context, "generate_switching_key"): dict.fromkeys(
                ("source", "target"), self.good["secret_key"]
            ),
        }
        good = self.good | special.get((cls, name), {})
        given = {p.name: good[p.name] for p in parameters if p.default is p.empty}
        return [p.name for p in parameters], given


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def setting(request, parties):
    return Setting(parties(request.param), parties("bgv"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cls", "name"), methods(), ids=lambda value: getattr(value, "__name__", value))
def test_wrong_objects_are_refused_in_our_own_words(setting, cls, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # texts are paths, too
    method = getattr(cls, name)
    names, good = setting.arguments(cls, name, method)
    kinds = {p.name: p.kind for p in inspect.signature(method).parameters.values()}
    for wrong_name in names:
        for wrong in setting.wrong:
            given = good | {wrong_name: wrong}
            subject = setting.objects[cls]
            if cls is hm.Ciphertext:
                subject = subject.copy()  # some are changed in place
            plain = [
                key for key in names if key in given and kinds[key] is inspect.Parameter.POSITIONAL_OR_KEYWORD
            ]
            many = [key for key in given if kinds.get(key) is inspect.Parameter.VAR_POSITIONAL]
            positional = [given.pop(key) for key in plain + many]
            bound = [] if is_static(cls, name) else [subject]
            call = cls if name == "__init__" else functools.partial(method, *bound)
            error = raised_by(functools.partial(call, *positional, **given))
            where = f"{cls.__name__}.{name}({wrong_name}={wrong!r}): {type(error).__name__}: {error}"
            assert isinstance(error, (hm.Error, TypeError, ValueError, IndexError, type(None))), where
            assert not any(raw in str(error) for raw in RAW), where


def raised_by(call):
    """What the call raised, if it did."""
    try:
        call()
    except Exception as error:  # of any class: the caller says which may be
        return error
    return None


def test_the_way_out_is_said(setting):
    ctx, x = setting.objects[hm.Context], setting.objects[hm.Ciphertext]
    with pytest.raises(TypeError, match=r"^to_bytes takes an integer as compression, not the str 'zstd'$"):
        x.to_bytes(compression="zstd")
    with pytest.raises(TypeError, match=r"^save takes an integer as compression, not float$"):
        x.save("/nonexistent/file", compression=1.5)
    with pytest.raises(TypeError, match=r"^decrypt_for_sharing takes .*number.* as noise_bound, not the str"):
        ctx.decrypt_for_sharing(x, setting.objects[hm.SecretKey], noise_bound="low")
    with pytest.raises(hm.errors.ParameterError, match=r"to_bytes: compression = -\d+ is out of range"):
        x.to_bytes(compression=-(2**70))


def test_a_passphrase_of_a_wrong_type_is_refused_and_not_shown(setting):
    secret, context = setting.objects[hm.SecretKey], setting.objects[hm.Context]
    with pytest.raises(TypeError, match=r"^seal takes a passphrase as text, or a function, not bytes$"):
        secret.seal(b"correct horse")
    with pytest.raises(TypeError, match=r"^unseal takes a passphrase as text, or a function, not bytes$"):
        hm.SecretKey.unseal(b"", b"correct horse", context)
    with pytest.raises(TypeError, match=r"^unseal takes a context, not SecretKey$"):
        hm.SecretKey.unseal(b"", inverted, secret)
