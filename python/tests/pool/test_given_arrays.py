"""Results of a pool's members in one array: each writes its own rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, NoiseError, ParameterError

from ..refusals import raises
from .setting import SLOTS, Setting, make


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def setting(request: pytest.FixtureRequest) -> Iterator[Setting]:
    found = make(request.param, 3)
    found.pool.replicate(found.sk)
    with found.pool:
        yield found


@pytest.mark.parametrize("shape", [(), (1,), (2,), (7,), (4, 2)])
@pytest.mark.parametrize("errors", ["raise", "mask"])
def test_members_write_their_rows(setting: Setting, shape: tuple[int, ...], errors: Any) -> None:
    pool, one = setting.pool, setting.one.context
    x, whole = setting.pair(setting.values(*shape))
    for dtype in (None, np.complex128 if pool.params.scheme == "ckks" else np.uint64):
        expected = one.decrypt(whole, setting.sk, dtype=dtype)
        found = pool.decrypt(x, setting.sk, dtype=dtype, errors=errors)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        assert isinstance(found, np.ma.MaskedArray) == (errors == "mask")
        longer = np.full((2, *expected.shape), 77, expected.dtype)
        found = pool.decrypt(x, setting.sk, dtype=dtype, errors=errors, out=longer[1])
        assert np.shares_memory(np.asarray(found), longer)
        np.testing.assert_array_equal(longer[1], expected)
        assert (longer[0] == 77).all()


def test_plaintexts_in_parts_decode_to_rows(setting: Setting) -> None:
    values = setting.values(5)
    plain = setting.pool.encode(values)
    out = np.empty(setting.pool.decode(plain).shape, plain.dtype)
    assert setting.pool.decode(plain, out=out) is out
    np.testing.assert_allclose(out[:, :SLOTS], values, atol=2**-18)


def test_an_array_of_any_layout_is_filled(setting: Setting) -> None:
    x, whole = setting.pair(setting.values(5))
    expected = setting.one.context.decrypt(whole, setting.sk)
    wide = np.zeros((*expected.shape, 2), expected.dtype)
    assert setting.pool.decrypt(x, setting.sk, out=wide[::-1, :, 1]) is not None
    np.testing.assert_array_equal(wide[::-1, :, 1], expected)
    assert not wide[..., 0].any()


def test_one_member_fills_an_array_where_the_key_is_on_one(setting: Setting) -> None:
    sk = setting.pool.generate_secret_key()  # not replicated
    x = setting.pool.encrypt(setting.values(4), sk)
    expected = setting.pool.decrypt(x, sk)
    out = np.empty(expected.shape, expected.dtype)
    assert setting.pool.decrypt(x, sk, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_wrong_rows_are_named_by_their_places_in_the_whole(setting: Setting) -> None:
    other = setting.one.context.generate_secret_key()
    rows = setting.values(6)
    x = setting.ev.bind(
        hm.stack(
            [setting.one.context.encrypt(row, other if i == 4 else setting.sk) for i, row in enumerate(rows)]
        )
    )
    out = np.empty((6, x.filled), x.dtype)
    found = setting.pool.decrypt(x, setting.sk, errors="mask", out=out)
    assert np.ma.getmaskarray(found).all(axis=1).tolist() == [i == 4 for i in range(6)]
    np.testing.assert_allclose(out[[0, 1, 2, 3, 5], :SLOTS], rows[[0, 1, 2, 3, 5]], atol=1e-3)
    raises(NoiseError, "row 4 of 6", setting.pool.decrypt, x, setting.sk, out=out)


def test_parts_of_two_types_have_the_type_of_the_whole() -> None:
    setting = make("ckks", 2)
    setting.pool.replicate(setting.sk)
    values = setting.values(4)
    with setting.pool:
        first = values[0, 0]
        both = setting.ev.map(lambda ev, rows: ev.encrypt(rows * (1 if rows[0, 0] == first else 1j)), values)
        assert [part.dtype for part in both.parts] == [np.float64, np.complex128]
        found = setting.pool.decrypt(both, setting.sk)
        assert found.dtype == np.complex128
        np.testing.assert_allclose(found, [*values[:2], *(values[2:] * 1j)], atol=2**-18)
        with pytest.raises(ParameterError, match="out is an array of float64, and the values are complex128"):
            setting.pool.decrypt(both, setting.sk, out=np.empty((4, SLOTS)))


def test_arrays_that_do_not_fit_are_refused_before_members_work(setting: Setting) -> None:
    x, _ = setting.pair(setting.values(4))
    for wrong in ((4, 3), (3, x.filled), (x.filled,)):
        with pytest.raises(MismatchError, match="out is an array of shape"):
            setting.pool.decrypt(x, setting.sk, out=np.empty(wrong, x.dtype))
    with pytest.raises(ParameterError, match="not to float32"):
        setting.pool.decrypt(x, setting.sk, out=np.empty((4, x.filled), np.float32))
    raises(ParameterError, "not to float32", setting.pool.decrypt, x, setting.sk, dtype=np.float32)
    raises(TypeError, "out takes a NumPy array, not int", setting.pool.decrypt, x, setting.sk, out=1)
