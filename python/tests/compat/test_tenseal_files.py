"""Files of the interface: its own, damaged ones, and those of TenSEAL, in both directions."""

import itertools

import numpy as np
import pytest

import hemera.compat.tenseal as ts
from hemera.compat.tenseal import messages
from hemera.errors import FormatError

from ..refusals import raises

CKKS, BFV = ts.SCHEME_TYPE.CKKS, ts.SCHEME_TYPE.BFV
X, Y = np.array([1.5, -2, 0.25]), np.array([2.0, 1, -1, 0.5])


def near(found, expected, error=2**-12, what=""):
    values = found if isinstance(found, list) else found.tolist()
    np.testing.assert_allclose(values, np.atleast_1d(expected), rtol=error, atol=error, err_msg=what)


def test_messages_are_read_as_they_were_written():
    fields = {1: 0, 2: 300, 3: b"\x00abc", 4: [1, 2, 1 << 40], 1001: 2.0**40}
    found = messages.read_message(messages.write_message(fields))
    assert found == {1: [0], 2: [300], 3: [b"\x00abc"], 4: [1, 2, 1 << 40], 1001: [2.0**40]}
    assert messages.whole_numbers([b"\x01\xac\x02", 5]) == [1, 300, 5]
    edges = [0, 127, 128, (1 << 14) - 1, 1 << 14, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
    data = messages.write_message({1: edges, 16: edges})  # 7 bits a byte, the key of 16 as well
    assert len(data) == 3 * len(edges) + 2 * sum(max(1, -(-each.bit_length() // 7)) for each in edges)
    assert messages.read_message(data) == {1: edges, 16: edges}
    assert messages.whole_numbers([b"\xff" * 9 + b"\x01"]) == [(1 << 64) - 1]


@pytest.mark.parametrize(
    "data", [b"\x0a\x05abc", b"\x80" * 11, b"\x0b", b"\x09abc", b"\x08", b"\x08" + b"\x80" * 10 + b"\1"]
)
def test_messages_that_are_damaged(data):
    raises(FormatError, "no message of TenSEAL", messages.read_message, data)


def test_a_client_and_a_server(ckks):
    server = ts.context_from(ckks.serialize(), n_threads=1)
    assert server.is_public()
    assert server.has_galois_keys()
    assert server.has_relin_keys()
    assert server.global_scale == 2**40
    x = ts.ckks_vector_from(server, ts.ckks_vector(ckks, X).serialize())
    result = (x * x + 1).sum() + ts.ckks_vector(server, [2])
    near(ts.ckks_vector_from(ckks, result.serialize()).decrypt(), (X * X + 1).sum() + 2)
    near(x.decrypt(ckks.secret_key()), X)
    product = x.mm(np.ones((3, 5))) * 0.5
    found = ts.ckks_vector_from(ckks, product.serialize())
    near(found.sum().decrypt(), 2.5 * X.sum())  # still clean, at the last level
    tensor = ts.ckks_tensor(ckks, [X, X], batch=True)
    again = ts.ckks_tensor_from(server, tensor.serialize())
    near(ts.ckks_tensor_from(ckks, (again + 1).sum_batch().serialize()).decrypt(), 2 * X + 2)


def test_keys_that_are_left_out(ckks):
    bare = ts.context_from(
        ckks.serialize(save_public_key=False, save_galois_keys=False, save_relin_keys=False)
    )
    assert not bare.has_public_key()
    assert not bare.has_galois_keys()
    assert not bare.has_relin_keys()
    for refused, reason in ((bare.public_key, "Public key"), (bare.relin_keys, "Relinearization keys")):
        raises(ValueError, reason, refused)
    x = ts.ckks_vector_from(bare, ts.ckks_vector(ckks, X).serialize())
    products = [lambda: x * x, x.square, lambda: x**2, lambda: x.polyval([0, 0, 1])]
    for product in products:
        raises(ValueError, "Relinearization keys", product)
    taken = {
        "plain operands": (x * X + x - 1, X * X + X - 1),
        "negative": (-x + X, 0 * X),
        "first power": (x**1, X),
        "no power": (x**0, 1 + 0 * X),
        "line": (x.polyval([1, 2]), 1 + 2 * X),
        "line by its coefficients": (x.polyval([0, -1.5, 0, 0]), -1.5 * X),
        "constant": (x.polyval([3]), 3 + 0 * X),
        "sum of one": (ts.ckks_vector_from(bare, ts.ckks_vector(ckks, X[:1]).serialize()).sum(), X[:1]),
    }
    for what, (found, expected) in taken.items():
        near(found.decrypt(ckks.secret_key()), expected, what=what)
    raises(ValueError, "Public key", ts.ckks_vector, bare, X)
    private = ts.context_from(ckks.serialize(save_secret_key=True, save_galois_keys=False))
    assert private.is_private()
    assert private.has_relin_keys()
    assert not private.has_galois_keys()
    whole = ts.context_from(ckks.serialize(save_secret_key=True, save_public_key=False))
    assert whole.has_galois_keys()
    assert not whole.has_public_key()
    near(ts.ckks_vector_from(whole, x.serialize()).sum().decrypt(), X.sum())


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
@pytest.mark.parametrize("encryption", list(ts.ENCRYPTION_TYPE))
def test_each_choice_of_keys_is_saved(encryption):
    """Keys of a context that made them, and of one that loaded them."""
    made = ts.context(ts.SCHEME_TYPE.CKKS, 2048, -1, [27, 27], encryption)
    made.generate_galois_keys()
    loaded = ts.context_from(made.serialize())
    asymmetric = encryption is ts.ENCRYPTION_TYPE.ASYMMETRIC
    for context, public, secret, galois, relin in itertools.product((made, loaded), *4 * [(False, True)]):
        if secret and context is loaded:
            continue
        found = ts.context_from(context.serialize(public, secret, galois, relin))
        assert (found.is_private(), found.has_galois_keys(), found.has_relin_keys()) == (
            secret,
            galois,
            relin,
        )
        if asymmetric:
            assert found.has_public_key() == public
    if asymmetric:
        later = ts.context_from(made.serialize(save_secret_key=True, save_relin_keys=False))
        later.generate_relin_keys()
        found = ts.context_from(later.serialize(save_galois_keys=False))
        assert found.has_public_key()
        assert found.has_relin_keys()


def test_keys_that_are_not_saved_are_not_packed(monkeypatch):
    context = ts.context(ts.SCHEME_TYPE.CKKS, 4096, -1, [40, 20, 40])
    context.generate_galois_keys()
    packed = []

    class Session:
        dump_secret_key = context._session.dump_secret_key

        def dump_keys(self, keys, _):
            packed.append((keys.has_public_key, keys.has_relinearization, bool(keys.galois_elements)))
            return {}

    monkeypatch.setattr(context, "_session", Session())
    context.serialize(save_galois_keys=False)
    context.serialize(save_galois_keys=False, save_relin_keys=False)
    context.serialize(save_secret_key=True)
    context.serialize(save_public_key=False, save_galois_keys=False, save_relin_keys=False)
    assert packed == [(True, True, False), (True, False, False), (True, False, False)]


def test_bytes_that_wait_for_a_context(ckks, bfv):
    data = ts.ckks_vector(ckks, X).serialize()
    lazy = ts.lazy_ckks_vector_from(data)
    assert lazy.serialize() == data
    assert lazy.copy().serialize() == data
    assert "without a context" in repr(lazy)
    for refused in (lazy.decrypt, lazy.context, lazy.square):
        raises(ValueError, "link_context", refused)
    lazy.link_context(ckks)
    near(lazy.decrypt(), X)
    exact = ts.lazy_bfv_tensor_from(ts.bfv_tensor(bfv, [[1, 2]]).serialize())
    exact.link_context(bfv)
    assert exact.decrypt().tolist() == [[1, 2]]


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
@pytest.mark.parametrize("waits", [True, False])
def test_a_context_of_other_parameters_leaves_a_tensor_as_it_was(ckks, waits):
    other = ts.context(CKKS, 2048, -1, [27, 27], n_threads=1)
    x = ts.ckks_vector(ckks, X)
    tensor = ts.lazy_ckks_vector_from(x.serialize()) if waits else x
    before = repr(tensor)
    with pytest.raises(ValueError, match="other encryption parameters" if waits else "parameters differ"):
        tensor.link_context(other)
    assert repr(tensor) == before
    tensor.link_context(ckks)
    near(tensor.decrypt(), X)


@pytest.mark.filterwarnings("ignore:the input of")
def test_vectors_of_several_ciphertexts(ckks, bfv):
    x = np.random.default_rng(1).uniform(-1, 1, 5000)
    found = ts.ckks_vector_from(ckks, ts.ckks_vector(ckks, x).serialize())
    near(found.sum().decrypt(), x.sum(), 2**-9)
    assert ts.bfv_vector_from(bfv, ts.bfv_vector(bfv, np.arange(5000)).serialize()).decrypt()[4999] == 4999


def test_files_of_something_else(ckks, bfv):
    vector = ts.ckks_vector(ckks, X).serialize()
    raises(ValueError, "of TenSEAL", ts.context_from, vector)
    raises(ValueError, "no CKKSVector", ts.ckks_vector_from, ckks, b"")
    raises(ValueError, r"TenSEAL|SEAL", lambda: ts.ckks_vector_from(ckks, vector[:-40]))
    raises(ValueError, "other encryption parameters", ts.bfv_vector_from, bfv, vector)
    fields = messages.read_message(vector)
    for changed, reason in (
        ({1: [5000]}, "sizes"),
        ({1: [0]}, "sizes"),
        ({1001: 3}, "period"),
        ({1: []}, "sizes"),
    ):
        with pytest.raises(ValueError, match=reason):
            ts.ckks_vector_from(ckks, messages.write_message({**fields, **changed}))
    tensor = messages.read_message(ts.ckks_tensor(ckks, [[1, 2]]).serialize())
    for changed, reason in (({1: [3]}, "shape"), ({4: [5000]}, "batch"), ({4: [0]}, "batch")):
        with pytest.raises(ValueError, match=reason):
            ts.ckks_tensor_from(ckks, messages.write_message({**tensor, **changed}))
    text = "text"
    raises(TypeError, "Invalid input types", ts.lazy_ckks_vector_from, text)
    raises(TypeError, "Invalid input types", ts.ckks_vector_from, ckks, text)


def repeated(context, values, kind):
    """A vector as TenSEAL's clients send them: it repeats in all slots, and has none of Hemera's fields."""
    slots = context._home.params.max_slots
    whole = getattr(ts, f"{kind}_vector")(context, np.resize(values, slots).tolist())
    fields = messages.read_message(whole.serialize())
    file = {1: [len(values)], **{number: each for number, each in fields.items() if 1 < number < 1000}}
    return getattr(ts, f"{kind}_vector_from")(context, messages.write_message(file))


def test_vectors_that_repeat_beyond_their_values(ckks, bfv):
    """What lies there is in no sum, product with a matrix or other vector."""
    x, own = repeated(ckks, X, "ckks"), ts.ckks_vector(ckks, X)
    matrix = np.arange(6).reshape(3, 2) / 4
    results = {
        "values": (x, X),
        "sum": (x.sum(), X.sum()),
        "sum of a product": ((x * own).sum(), X @ X),
        "sum of a square": (x.square().sum(), X @ X),
        "sum after a number": ((x + 1).sum(), X.sum() + 3),
        "sum after a difference": ((x - own).sum(), 0),
        "dot": (x.dot(X), X @ X),
        "sum as an operand": (x.sum() * x, X.sum() * X),
        "matrix": (x.mm(matrix), X @ matrix),
        "packed": (ts.CKKSVector.pack_vectors([x, own]), [*X, *X]),
        "first slot": (x.replicate_first_slot(2), [X[0]] * 2),
        "saved": (ts.ckks_vector_from(ckks, x.serialize()).sum(), X.sum()),
        "saved product": (ts.ckks_vector_from(ckks, (x * X).serialize()).sum(), X @ X),
    }
    for what, (found, expected) in results.items():
        near(found.decrypt(), expected, what=what)
    whole = repeated(bfv, [1, 2, 3], "bfv")
    for found, wanted in (
        (whole.sum(), [6]),
        ((whole + 1).sum(), [9]),
        (whole.dot([1, 0, 2]), [7]),
        (ts.BFVVector.pack_vectors([whole, whole]), [1, 2, 3, 1, 2, 3]),
    ):
        assert found.decrypt() == wanted


# --- TenSEAL itself. ---

BITS = {"40": ([60, 40, 40, 60], 2**40, 2**-12), "21": ([40, *[21] * 6, 40], 2**21, 2**-5)}


@pytest.fixture(scope="module")
def theirs():
    found = pytest.importorskip("tenseal", reason="TenSEAL is a requirement of benchmarks alone")
    if found.__version__ != ts.__version__:
        pytest.skip(f"TenSEAL {found.__version__} has another version of SEAL, whose files are of its own")
    return found


@pytest.mark.parametrize("name", BITS)
def test_a_client_with_tenseal(theirs, name):
    """Its keys and vectors come as files; results go back as files."""
    bits, scale, error = BITS[name]
    client = theirs.context(theirs.SCHEME_TYPE.CKKS, 8192, -1, bits)
    client.global_scale = scale
    if name == "40":
        client.generate_galois_keys()
    server = ts.context_from(client.serialize(), n_threads=1)
    assert server.is_public()
    assert server.global_scale == scale
    x, y = (ts.ckks_vector_from(server, theirs.ckks_vector(client, each).serialize()) for each in (X, Y))
    own = ts.ckks_vector(server, X)
    results = {
        "product": (x * x + x, X * X + X),
        "with a vector of ours": (x * own + own, X * X + X),
        "deepest product": (own * x * x if len(bits) == 4 else (x * x) ** 3 * x, X ** (len(bits) - 1)),
        "polynomial": (y.polyval([1, 2, 3]), 1 + 2 * Y + 3 * Y * Y),
        "ours": (own, X),
    }
    if name == "40":
        square = np.arange(16).reshape(4, 4) / 8
        results |= {
            "sum": (x.sum(), X.sum()),
            "sum of the product": ((x * 2.5).sum(), 2.5 * X.sum()),
            "sum after a number": ((x + 1).sum(), X.sum() + 3),
            "sum as an operand": (x.sum() * x, X.sum() * X),
            "dot": (x.dot(X), X @ X),
            "matrix": (x.mm(np.ones((3, 2))), X @ np.ones((3, 2))),
            "matrix after a product": ((y * y).mm(square), Y * Y @ square),
            "packed": (ts.CKKSVector.pack_vectors([x, x]), [*X, *X]),
            "first slot": (x.replicate_first_slot(2), [X[0]] * 2),
        }
        tensor = ts.ckks_tensor_from(server, theirs.ckks_tensor(client, [X, X], batch=True).serialize())
        added = theirs.ckks_tensor_from(client, (tensor + 1).sum_batch().serialize())
        near(added.decrypt(), 2 * X + 2, error)
    for what, (found, expected) in results.items():
        near(theirs.ckks_vector_from(client, found.serialize()).decrypt(), expected, error, what)


def test_a_server_with_tenseal(theirs, ckks):
    server = theirs.context_from(ckks.serialize())
    x, y = (theirs.ckks_vector_from(server, ts.ckks_vector(ckks, values).serialize()) for values in (X, Y))
    squared = theirs.ckks_vector_from(server, ts.ckks_vector(ckks, X).square().serialize())
    for found, expected in (
        (squared * x, X * X * X),
        (x * x + x * 0.5, X * X + X / 2),
        (x.sum(), X.sum()),
        (y.mm([[1], [2], [3], [4]]), Y @ [1, 2, 3, 4]),
        ((x.sum() + x).sum(), 4 * X.sum()),
    ):
        near(ts.ckks_vector_from(ckks, found.serialize()).decrypt(), expected)
    mine = ts.context_from(
        theirs.context_from(ckks.serialize(save_secret_key=True)).serialize(save_secret_key=True)
    )
    near((ts.ckks_vector_from(mine, x.serialize()) * 2).decrypt(), 2 * X)


def test_integers_with_tenseal(theirs):
    client = theirs.context(theirs.SCHEME_TYPE.BFV, 4096, 40961)
    client.generate_galois_keys()
    server = ts.context_from(client.serialize())
    x = ts.bfv_vector_from(server, theirs.bfv_vector(client, [1, 2, 3]).serialize())
    for found, expected in (
        (x * x + [1, 1, 1], [2, 5, 10]),
        ((x + 1).sum(), [9]),
        (ts.BFVVector.pack_vectors([x, x]), [1, 2, 3, 1, 2, 3]),
    ):
        assert theirs.bfv_vector_from(client, found.serialize()).decrypt() == expected
    mine = ts.context(BFV, 4096, 1032193)
    tensor = theirs.bfv_tensor_from(
        theirs.context_from(mine.serialize()), ts.bfv_tensor(mine, [[1, 2], [3, 4]]).serialize()
    )
    assert ts.bfv_tensor_from(mine, (tensor + tensor).serialize()).decrypt().tolist() == [[2, 4], [6, 8]]
