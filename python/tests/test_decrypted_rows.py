"""One row that does not decrypt: it is named, and the others come back."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import NoiseError, ParameterError

from .refusals import refuse

KINDS = {
    "ckks": lambda: hm.ckks.Parameters.for_circuit(depth=1, slots=4, degree=1024, security=None),
    "bfv": lambda: hm.bfv.Parameters.for_circuit(depth=1, degree=1024, security=None),
    "bgv": lambda: hm.bgv.Parameters.for_circuit(depth=1, degree=1024, security=None),
}
ROWS = np.arange(1, 25).reshape(2, 3, 4)


@pytest.fixture(scope="module", params=KINDS)
def client(request):
    ctx = hm.Context(KINDS[request.param](), "cpu")
    return ctx, ctx.generate_secret_key()


def batch_with_wrong_rows(ctx, sk, wrong):
    """ROWS, of which some are encrypted with another key."""
    other = ctx.generate_secret_key()
    rows = [ctx.encrypt(row, other if i in wrong else sk) for i, row in enumerate(ROWS.reshape(6, 4))]
    return hm.stack([hm.stack(rows[:3]), hm.stack(rows[3:])])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({4}, r"row \(1, 1\) of 6: "), ({0, 5}, r"rows \(0, 0\) and \(1, 2\) of 6: ")],
)
def test_the_error_names_rows_and_causes(client, wrong, named):
    ctx, sk = client
    batch = batch_with_wrong_rows(ctx, sk, wrong)
    with pytest.raises(NoiseError, match=named) as caught:
        ctx.decrypt(batch, sk)
    text = str(caught.value)
    assert "not the secret key of the encryption" in text
    assert 'errors="mask" gives the other rows' in text
    assert "Whoever evaluates must not learn of this error" in text
    if ctx.params.scheme == "ckks":
        assert "function or a bootstrap was given values outside of its interval" in text
    # Numbers for people.
    assert not any(len(word) > 12 for word in text.split() if word[:1].isdigit())


def test_masks_leave_the_other_rows(client):
    ctx, sk = client
    for wrong in ({4}, {0, 5}, {1, 2, 3}, set(range(6)), set()):
        found = ctx.decrypt(batch_with_wrong_rows(ctx, sk, wrong), sk, errors="mask")
        assert isinstance(found, np.ma.MaskedArray)
        rows = found[..., :4].reshape(6, 4)
        for i, row in enumerate(rows):
            assert np.ma.getmaskarray(row).tolist() == [i in wrong] * 4
            if i not in wrong:
                np.testing.assert_allclose(np.asarray(row), ROWS.reshape(6, 4)[i], atol=1e-3)
            elif ctx.params.scheme == "ckks":
                assert np.isnan(row.data).all()
            else:
                assert not row.data.any()


def test_other_types_are_masked_as_well(client):
    ctx, sk = client
    dtype = np.complex128 if ctx.params.scheme == "ckks" else np.uint64
    found = ctx.decrypt(batch_with_wrong_rows(ctx, sk, {2}), sk, dtype=dtype, errors="mask")
    assert found.dtype == dtype
    assert np.ma.getmaskarray(found)[0, 2].all()
    np.testing.assert_allclose(np.asarray(found[1, 2, :4]), ROWS[1, 2], atol=1e-3)
    single = ctx.decrypt(ctx.encrypt(ROWS[0, 0], ctx.generate_secret_key()), sk, errors="mask")
    assert np.ma.getmaskarray(single).all()
    with pytest.raises(NoiseError, match=r"^decrypt: (a coefficient|less than)") as caught:
        ctx.decrypt(ctx.encrypt(ROWS[0, 0], ctx.generate_secret_key()), sk)
    assert "mask" not in str(caught.value)
    with pytest.raises(ParameterError, match="'raise' or 'mask'"):
        ctx.decrypt(ctx.encrypt(ROWS[0, 0], sk), sk, errors="ignore")


def test_many_rows_are_named_by_some():
    ctx = hm.Context(KINDS["ckks"](), "cpu")
    batch = ctx.encrypt(np.ones((20, 4)), ctx.generate_secret_key())
    with pytest.raises(NoiseError, match=r"rows 0, 1, 2, 3, 4, 5, 6, 7 and 12 more of 20: "):
        ctx.decrypt(batch, ctx.generate_secret_key())


def test_one_outlier_does_not_make_a_batch_undecryptable():
    params = hm.ckks.Parameters.for_circuit(depth=1, slots=4)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt([[1.0] * 4, [1500.0] * 4, [3.0] * 4])
    found = ctx.decrypt(x * x, sk, errors="mask")
    assert found.mask[:, 0].tolist() == [False, True, False]
    np.testing.assert_allclose(found[[0, 2]], [[1.0] * 4, [9.0] * 4], atol=1e-3)
    refuse((lambda: ctx.decrypt(x * x, sk), NoiseError, "row 1 of 3"))


@pytest.mark.parametrize("range_bits", [1, 4, 10, 11])
def test_another_key_is_noticed_without_spare_bits(range_bits):
    params = hm.ckks.Parameters.for_circuit(
        depth=1, slots=8, range_bits=range_bits, degree=1024, security=None
    )
    assert not params.checks_range
    ctx = hm.Context(params, "cpu")
    sk, other = ctx.generate_secret_key(), ctx.generate_secret_key()
    most = 2.0 ** (range_bits - 1)
    for clear in (np.full(8, 0.9 * most), np.linspace(-0.99 * most, 0.99 * most, 8)):
        x = ctx.encrypt(clear, sk)
        low = ctx.bind(ctx.generate_keys(sk)).at_level(ctx.load(bytes(x)), 0)
        for each in (x, low):
            np.testing.assert_allclose(ctx.decrypt(each, sk), clear, atol=1e-3)
            with pytest.raises(NoiseError, match="not the secret key of the encryption"):
                ctx.decrypt(each, other)
