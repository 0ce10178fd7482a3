"""Keys of a pool: which members copy them, where secret keys live, and every method with a key."""

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import LinearTransform
from hemera.errors import MismatchError

from ..conftest import make_params
from ..refusals import raises
from .setting import make, same


def test_keys_are_copied_once_and_secrets_by_request():
    setting = make("ckks", 3)
    keys, pool, sk = setting.ev.keys, setting.pool, setting.sk
    bound = pool.bind(keys)
    for first, second in zip(setting.ev.evaluators[1:], bound.evaluators[1:], strict=True):
        assert first.keys is second.keys
        assert first.context is first.keys.context
        assert bytes(first.keys) == bytes(keys)
    assert pool.replicate(sk) is pool.replicate(sk) is sk
    assert [copy.context for copy in sk._copies] == list(pool.contexts[1:])
    assert bytes(sk._copies[0]) == bytes(sk)
    x = pool.encrypt(setting.values(4), sk)
    assert pool.load(bytes(keys)).context is pool.contexts[0]
    other = hm.Context(pool.params, "cpu", threads=1)
    raises(hm.errors.MismatchError, "no member", pool.bind, other.load(bytes(keys)))
    raises(hm.errors.MismatchError, "no member", pool.decrypt, x, other.load(bytes(sk)))
    raises(TypeError, "SecretKey", pool.bind, sk)


def test_keys_are_written_by_the_member_of_the_secret(ckks, tmp_path):
    counts = []
    ckks.pool.save_keys(
        tmp_path / "keys",
        ckks.sk,
        rotations=[1],
        progress=lambda _, done, count: counts.append((done, count)),
    )
    assert counts[-1] == (2, 2)  # of products, and of the rotation
    a = ckks.values(3)
    x = ckks.pool.bind(ckks.pool.load(tmp_path / "keys")).encrypt(a)
    np.testing.assert_allclose(ckks.pool.decrypt(x.rotate(1), ckks.sk), np.roll(a, -1, -1), atol=2**-18)


def test_a_second_secret(ckks):
    other = ckks.pool.generate_secret_key()
    key = ckks.pool.generate_switching_key(ckks.sk, other)
    x, one = ckks.pair(ckks.values(3))
    moved = ckks.ev.reencrypt(x, key)
    same(moved, ckks.one.reencrypt(one, key))
    np.testing.assert_allclose(ckks.pool.decrypt(moved, other), ckks.values(3), atol=2**-18)
    assert not moved.evaluator.has_keys


def test_the_client_s_side_in_one_context_s_words(any_scheme):
    pool, sk = any_scheme.pool, any_scheme.sk
    a = any_scheme.values(4)
    x, one = any_scheme.pair(a)
    context = pool.contexts[0]
    if pool.params.scheme == "ckks":
        shown = {"noise_bound": 2.0**-30}
        assert pool.noise_bound(depth=1, largest=1) == context.noise_bound(depth=1, largest=1)
        np.testing.assert_array_equal(
            pool.decrypt_for_sharing(x, sk, **shown), context.decrypt_for_sharing(one, sk, **shown)
        )
    else:
        assert pool.noise_budget(x, sk) == context.noise_budget(one, sk)
        np.testing.assert_array_equal(pool.decrypt_for_sharing(x, sk), a)
    assert any_scheme.ev.rotation_plan(x, -1) == any_scheme.one.rotation_plan(one, -1)
    same(any_scheme.ev.load(bytes(one)), one)
    same(pool.load(bytes(x)), one)
    raises(hm.errors.DeviceError, "one GPU", pool.decrypt_on_device, x, sk)
    raises(hm.errors.DeviceError, "one GPU", pool.decode_on_device, pool.encode(a))


@pytest.fixture
def setting():
    found = make("ckks", 3)
    with found.pool:
        yield found


def switching_bytes(keys):
    return keys.memory_bytes - keys.public_only().memory_bytes


def one_key(setting):
    """The bytes of a key of a rotation."""
    pool = setting.pool
    return switching_bytes(pool.generate_keys(setting.sk, relinearization=False, rotations=[1]))


def test_members_copy_a_key_at_its_first_use(setting):
    keys, pool = setting.ev.keys, setting.pool
    of_members = [ev.keys for ev in setting.ev.evaluators]
    assert of_members[0] is keys
    assert [switching_bytes(each) for each in of_members[1:]] == [0, 0]
    used = [context.memory_used for context in pool.contexts]
    two, whole = setting.pair(setting.values(2))  # on the first two members
    same(two.rotate(1), whole.rotate(1))
    each = one_key(setting)
    assert [switching_bytes(keys) for keys in of_members[1:]] == [each, 0]
    same(two.rotate(1), whole.rotate(1))
    assert [switching_bytes(keys) for keys in of_members[1:]] == [each, 0]
    same(two * two, whole * whole)
    assert [switching_bytes(keys) for keys in of_members[1:]] == [2 * each, 0]
    # The last member has made nothing.
    assert pool.contexts[2].memory_used == used[2]
    # A second evaluator has the same copies, and copies of the whole are whole.
    again = pool.bind(keys)
    same(again.bind(two).rotate(1), whole.rotate(1))
    assert again.evaluators[1].keys is of_members[1]
    assert switching_bytes(of_members[1]) == 2 * each
    assert bytes(of_members[2]) == bytes(keys)
    assert of_members[1].galois_elements == keys.galois_elements
    apart = hm.Context(pool.params, "cpu", threads=1)
    assert of_members[2].to(apart).memory_bytes == keys.memory_bytes


def test_unions_and_missing_keys_are_those_of_the_whole(setting):
    pool = setting.pool
    more = pool.generate_keys(setting.sk, public_key=False, relinearization=False, rotations=[5])
    x, whole = setting.pair(setting.values(3))
    both = pool.bind(setting.ev.keys | more)
    own = pool.contexts[0].bind(setting.ev.keys | more)
    for steps in (1, 5):
        same(both.bind(x).rotate(steps), own.bind(whole).rotate(steps))
    bare = pool.bind(pool.generate_keys(setting.sk, relinearization=False))
    raises(hm.errors.MissingKeyError, "relinearization key", lambda: bare.bind(x) * bare.bind(x))


@pytest.mark.parametrize(("members", "giants"), [(2, [2]), (3, [1, 1])])
def test_a_shared_transform_has_the_keys_of_its_giant_steps(members, giants):
    """16 diagonals in steps of 4: three keys for baby steps, and one for each giant step but the first."""
    params = make_params("ckks")
    matrix = np.random.default_rng(3).uniform(-1, 1, (16, 16))
    plan = LinearTransform(matrix, params, baby_steps=4)
    with hm.Pool(params, ["cpu"] * 4, threads=1) as pool:
        sk = pool.generate_secret_key()
        keys = pool.generate_keys(sk, relinearization=False, plan=plan)
        ev = pool.bind(keys)
        values = np.random.default_rng(4).uniform(-1, 1, 16)
        x = ev.bind(ev.evaluators[0].encrypt(values))
        y = pool.circuit(plan, members=members)(x)
        assert bytes(y) == bytes(plan(x))
        np.testing.assert_allclose(pool.decrypt(y, sk), matrix @ values, atol=2**-18)
        each = switching_bytes(keys) / len(keys.galois_elements)
        found = [switching_bytes(own.keys) / each for own in ev.evaluators]
        assert len(keys.galois_elements) == 6
        assert found[1:] == [*(3 + own for own in giants), *[0] * (4 - members)]


HOMES = [(count, homes) for count in (1, 2, 3) for homes in ([], *([at] for at in range(count)))]
HOMES += [(2, [1, 0]), (3, [0, 2]), (3, [2, 0]), (3, [1, 0]), (3, [1, 2, 0]), (3, [0, 1, 2])]
"""The number of members, and which have the secret key, the first one its own."""
SLOTS = 8


def shared(pool, x, sk):
    bound = {"noise_bound": 2.0**-60} if pool.params.scheme == "ckks" else {}
    return pool.decrypt_for_sharing(x, sk, **bound)


def moved(pool, x, sk):
    """To the same secret key, so that it stays where it is."""
    return pool.decrypt(pool._keyless.reencrypt(x, pool.generate_switching_key(sk, sk)), sk)


CALLS = {
    "decrypt": lambda pool, x, sk, _: pool.decrypt(x, sk),
    "decrypt a row": lambda pool, x, sk, a: np.stack([pool.decrypt(x[at], sk) for at in range(len(a))]),
    "decrypt to an array": lambda pool, x, sk, a: pool.decrypt(x, sk, out=np.empty_like(a)),
    "decrypt with masks": lambda pool, x, sk, _: pool.decrypt(x, sk, errors="mask").filled(),
    "decrypt to share": lambda pool, x, sk, _: shared(pool, x, sk),
    "encrypt": lambda pool, _, sk, a: pool.decrypt(pool.encrypt(a, sk), sk),
    "encrypt a plaintext": lambda pool, _, sk, a: pool.decrypt(pool.encrypt(pool.encode(a), sk), sk),
    "encrypt by other keys": lambda pool, _, sk, a: pool.decrypt(pool.encrypt(a, pool.generate_keys(sk)), sk),
    "bind": lambda pool, x, sk, _: pool.decrypt(
        pool.bind(pool.generate_keys(sk, rotations=[1, -1])).bind(x).rotate(1).rotate(-1), sk
    ),
    "switch": lambda pool, x, sk, _: moved(pool, x, sk),
    "product": lambda pool, x, sk, a: pool.decrypt(pool.bind(pool.generate_keys(sk)).bind(x) * a, sk),
}


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
@pytest.mark.parametrize(("count", "homes"), HOMES, ids=str)
def test_a_secret_key_is_used_where_it_is_and_goes_nowhere(monkeypatch, scheme, count, homes):
    random = np.random.default_rng(count)
    a = random.uniform(-1, 1, (4, SLOTS)) if scheme == "ckks" else random.integers(-9, 9, (4, SLOTS))
    with hm.Pool(make_params(scheme), ["cpu"] * count, threads=1) as pool:
        contexts = [pool.contexts[at] for at in homes]
        own = contexts[0] if homes else hm.Context(pool.params, "cpu", threads=1)
        sk = own.generate_secret_key()
        sk._copies.extend(sk.to(context) for context in contexts[1:])
        x = pool.bind(pool.load(bytes(own.generate_keys(sk)))).encrypt(a)
        copy_of, decrypt = hm.Context._copy_of, hm.Context.decrypt
        decrypting = set()

        def copied(context, stored):
            assert not isinstance(stored, hm.SecretKey), "a secret key reached a member that was not told"
            return copy_of(context, stored)

        def decrypted(context, *args, **options):
            decrypting.add(context)
            return decrypt(context, *args, **options)

        monkeypatch.setattr(hm.Context, "_copy_of", copied)
        monkeypatch.setattr(hm.Context, "decrypt", decrypted)
        for name, call in CALLS.items():
            decrypting.clear()
            if not homes:
                raises(MismatchError, "no member", call, pool, x, sk, a)
                continue
            found, expected = call(pool, x, sk, a), a * a if name == "product" else a
            np.testing.assert_allclose(found, expected, atol=0 if scheme != "ckks" else 1e-3, err_msg=name)
            if name == "decrypt":  # each member its part, where all may
                assert decrypting == (set(pool.contexts) if len(homes) == count else {own})
        if scheme != "ckks" and homes:
            assert pool.noise_budget(x, sk) == own.noise_budget(x.to(own), sk)
        monkeypatch.undo()
        if homes:  # told to, all have it
            assert {pool.replicate(sk).to(context).context for context in pool.contexts} == set(pool.contexts)
            assert len(sk._copies) == count - 1
