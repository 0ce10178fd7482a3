"""Precision, noise budgets and sharing; and which rows of a batch an error names."""

import contextlib
import contextvars
import math
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import hemera as hm
from hemera import _noise_warning as given
from hemera.errors import MismatchError, NoiseError, ParameterError

from .refusals import raises, refuse


def test_precision_statistics():
    found = hm.ckks.precision([1.0, 2.0, 3.0, 4.0], [1.0, 2.5, 3.0, 4.25])
    assert (found.largest_error, found.worst_bits, found.mean_error) == (0.5, 1.0, 0.1875)
    assert found.mean_bits == pytest.approx(-math.log2(0.1875))
    assert found.standard_deviation == pytest.approx(math.sqrt((0.25 + 0.0625) / 4))
    assert "1.0 bits at worst" in str(found)
    assert hm.ckks.precision([1j], [1j]).worst_bits == math.inf
    assert hm.ckks.precision([1 + 3j], [1 - 1j]).largest_error == 4
    refuse((lambda: hm.ckks.precision([1.0, 2.0], [1.0]), MismatchError, r"\(2,\) and \(1,\)"))
    refuse((lambda: hm.ckks.precision([], []), MismatchError, "not empty"))


def test_noise_budget(integers):
    x = integers.ev.encrypt(integers.values(16))
    budgets = []
    for _ in range(3):
        true = integers.ctx.noise_budget(x, integers.sk)
        # The bound that needs no secret never promises more than there is.
        assert 0 <= x.guaranteed_noise_budget <= true + 1
        budgets.append(true)
        x = x * x
    assert budgets[0] > budgets[1] > budgets[2] > 0


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_a_spent_budget_is_an_error(scheme):
    params = getattr(hm, scheme).Parameters.for_circuit(depth=1)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt([1, 2, 3])
    np.testing.assert_array_equal(ctx.decrypt(x**2, sk)[:3], [1, 4, 9])
    refuse((lambda: ctx.decrypt(x**3, sk), NoiseError, "one bit of the noise budget"))


def test_decrypt_for_sharing_of_integers(integers):
    a = integers.values(16)
    x = integers.ev.encrypt(a)
    found = integers.ctx.decrypt_for_sharing(x, integers.sk, statistical_bits=40)
    np.testing.assert_array_equal(found, a)
    raises(NoiseError, "budget", integers.ctx.decrypt_for_sharing, x, integers.sk, statistical_bits=1000)
    with pytest.raises(ParameterError, match="takes no noise_bound"):
        integers.ctx.decrypt_for_sharing(x, integers.sk, noise_bound=2**-20)


def test_decrypt_for_sharing_of_ckks_adds_noise(ckks):
    a = ckks.values(64)
    x = ckks.ev.encrypt(a)
    bound, bits = 2.0**-26, 16
    shared = ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=bound, statistical_bits=bits)
    added = np.abs(shared - ckks.decrypt(x))
    # A deviation of sqrt(12) 2^(bits / 2) bound on every coefficient: more than the error.
    assert added.max() > 100 * bound
    assert added.max() < 0.1
    # The same again; other values for everything else.
    again = ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=bound, statistical_bits=bits)
    np.testing.assert_array_equal(again, shared)
    for other in ({"noise_bound": 1.1 * bound}, {"statistical_bits": bits + 1}, {"shares": 2}):
        options = {"noise_bound": bound, "statistical_bits": bits, **other}
        assert not np.array_equal(ckks.ctx.decrypt_for_sharing(x, ckks.sk, **options), shared)
    with pytest.raises(NoiseError, match=r"precision.*sharing_bits="):
        ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=1.0, statistical_bits=40)
    refuse((lambda: ckks.ctx.decrypt_for_sharing(x, ckks.sk), ParameterError, "noise_bound"))
    raises(ParameterError, "shares", ckks.ctx.decrypt_for_sharing, x, ckks.sk, noise_bound=bound, shares=0)


def test_a_loaded_key_and_ciphertext_share_the_same_values(ckks):
    x = ckks.ctx.encrypt(ckks.values(2, 64), ckks.sk)
    options = {"noise_bound": 2.0**-26, "statistical_bits": 16}
    shared = ckks.ctx.decrypt_for_sharing(x, ckks.sk, **options)
    elsewhere = hm.Context(ckks.ctx.params, "cpu", threads=1)
    secret_key, loaded = elsewhere.load(bytes(ckks.sk)), elsewhere.load(bytes(x))
    np.testing.assert_array_equal(elsewhere.decrypt_for_sharing(loaded, secret_key, **options), shared)
    np.testing.assert_array_equal(elsewhere.decrypt_for_sharing(loaded[1], secret_key, **options), shared[1])


def test_results_of_a_circuit_can_be_shown():
    params = hm.ckks.Parameters.for_circuit(depth=2, slots=4096, sharing_bits=40, shares=100)
    assert params.security_bits == 128
    assert all(prime < 1 << 50 for prime in [*params.primes[-1], *params.special_primes])
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    values = np.random.default_rng(5).uniform(-1, 1, 4096)
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(values)
    y = (x**3 - x).shrink()
    bound = ctx.noise_bound(depth=2, largest=2)
    shown = ctx.decrypt_for_sharing(y, sk, noise_bound=bound, shares=100)
    np.testing.assert_allclose(shown, values**3 - values, atol=2**-11)
    assert np.sqrt(np.mean((ctx.decrypt(y, sk) - values**3 + values) ** 2)) < bound + 2**-46
    assert bound < ctx.noise_bound(depth=2, largest=4)
    assert bound < ctx.noise_bound(depth=2, largest=2, terms=2)
    refuse((lambda: ctx.noise_bound(depth=2), ParameterError, "largest"))
    refuse((lambda: ctx.noise_bound(depth=3, largest=1), hm.errors.LevelError, "depth"))
    for wrong in ({"sharing_bits": 65}, {"shares": 0}, {"shares": -1}):
        raises(ParameterError, "shar", hm.ckks.Parameters.for_circuit, 1, **wrong)


def test_encryptions_of_one_value_differ(party):
    a = party.values(16)
    assert bytes(party.ev.encrypt(a)) != bytes(party.ev.encrypt(a))
    assert bytes(party.ctx.encrypt(a, party.sk)) != bytes(party.ctx.encrypt(a, party.sk))
    assert bytes(party.ctx.generate_secret_key()) != bytes(party.ctx.generate_secret_key())


@contextmanager
def recorded():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def spend(x):
    """Products until the guaranteed budget is spent."""
    while x.guaranteed_noise_budget > 0:
        x = x * x
    return x


@pytest.fixture
def fresh(integers):
    return integers.ev.encrypt(integers.values(2, 16))


def test_it_is_said_once_where_it_happens(integers, fresh):
    with recorded() as found:
        spent = spend(fresh)
    assert [each.category for each in found] == [hm.errors.NoiseWarning]
    assert found[0].filename == __file__
    assert str(found[0].message).startswith("multiply: the guaranteed noise budget")
    assert "for_circuit(depth=" in str(found[0].message)
    # What follows from it is no news.
    with recorded() as found:
        spent + 1, -spent, spent * fresh, fresh - spent, spent[0].rotate(1), hm.stack([spent, spent]) + 1
        spent.copy().square(), integers.ev.bind(spent).reshape(-1) + 1, spent.to("cpu") + 1
        hm.add_many([fresh, spent])
        spent += fresh
        spent *= 2
    assert found == []


def test_a_part_that_is_spent_is_no_news(integers, fresh):
    # Spent by sums: parts must have one level and one correction factor.
    spent = integers.ev.encrypt(integers.values(2, 16))
    with recorded() as found:
        while spent.guaranteed_noise_budget > 0:
            spent += spent
    assert len(found) == 1
    with recorded() as found:
        for parts in ([spent, fresh], [fresh, spent]):
            hm.stack(parts) + 1, hm.concatenate(parts) + 1
    assert found == []


def test_files_keep_it(integers, fresh, tmp_path):
    with recorded():
        spent = spend(fresh)
    spent.save(tmp_path / "spent")
    of_parts = [integers.ev.load(bytes(part)) for part in spent]
    with recorded() as found:
        for loaded in (
            integers.ctx.load(bytes(spent)),
            integers.ev.load(tmp_path / "spent"),
            hm.stack(of_parts),
        ):
            loaded + 1, loaded[0] - fresh[0], fresh * loaded.to(integers.ev)
    assert found == []
    described = hm.inspect(tmp_path / "spent")
    assert (described.version, described.fields["guaranteed noise budget"]) == (4, "spent")
    # Files of others say nothing of it, in the version that they had.
    described = hm.inspect(bytes(fresh))
    assert described.version == 1
    assert "guaranteed noise budget" not in described.fields


def all_warnings():
    """The kinds of warnings that are given here."""
    with recorded() as found:
        given.warn_of_spent_budget("add")
        given.warn_of_interval("sqrt", 0, 1)
        given.warn_of_bootstrap()
        given.warn_of_rows("rows")
        given.warn_of_precision("digits")
    return [each.category.__name__[:-7] for each in found]


RANGES = ["Range", "Range", "Range"]


def test_what_is_known_is_silent_and_what_was_known_around_it_stays_so():
    """Blocks within blocks, of either kind, also where an error ends them."""
    for outer, inner, outside, inside in (
        (given.budgets_are_known, given.budgets_are_known, [*RANGES, "Precision"], [*RANGES, "Precision"]),
        (given.ranges_are_known, given.ranges_are_known, ["Noise", "Precision"], ["Noise", "Precision"]),
        (given.budgets_are_known, given.ranges_are_known, [*RANGES, "Precision"], ["Precision"]),
        (given.ranges_are_known, given.budgets_are_known, ["Noise", "Precision"], ["Precision"]),
    ):
        with outer():
            with contextlib.suppress(KeyError), inner():
                assert all_warnings() == inside
                raise KeyError
            assert all_warnings() == outside
        assert all_warnings() == ["Noise", *RANGES, "Precision"]


def test_warnings_that_are_kept_come_once_and_in_order():
    kept = {}

    def work():
        given.keep_warnings(kept)
        for _ in range(2):
            assert all_warnings() == []

    context = contextvars.copy_context()
    context.run(work)
    assert [category.__name__[:-7] for _, category in kept] == ["Noise", *RANGES, "Precision"]
    with recorded() as found:
        given.give_warnings(kept)
    assert [(str(each.message), each.category) for each in found] == list(kept)
    assert {each.filename for each in found} == {__file__}


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
    ("wrong", "named"), [({4}, r"row \(1, 1\) of 6: "), ({0, 5}, r"rows \(0, 0\) and \(1, 2\) of 6: ")]
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
            raises(NoiseError, "not the secret key of the encryption", ctx.decrypt, each, other)
