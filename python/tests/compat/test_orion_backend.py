"""The calls that Orion makes to its backend, compared with NumPy's results. Orion itself is not needed."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import chebyshev, polynomial
from numpy.typing import NDArray

import hemera as hm
from hemera.compat.orion import Backend

from ..refusals import raises

Values = NDArray[np.float64]

LEVELS = 5
SCALE = 2**30
CLOSE = 2.0**-12
"""The allowed error of a scale of 2^30."""


def make(**changes):
    """2^10 slots, LEVELS levels of 30 bits and all keys."""
    options = {
        "log_degree": 11,
        "log_primes": [40] + [30] * LEVELS,
        "log_special": [40, 40],
        "log_scale": 30,
        "device": "cpu",
        "security": None,
    }
    backend = Backend(**{**options, **changes})
    backend.GenerateSecretKey()
    backend.GeneratePublicKey()
    backend.GenerateRelinearizationKey()
    backend.NewEvaluator()
    return backend


@pytest.fixture(scope="module")
def backend():
    return make()


def slots(seed, count=1024):
    return np.random.default_rng(seed).uniform(-1, 1, count)


def encrypted(backend, values, level=LEVELS):
    return backend.Encrypt(backend.Encode(values.tolist(), level, SCALE))


def decrypted(backend, ciphertext):
    return np.asarray(backend.Decode(backend.Decrypt(ciphertext)))


# --- Values, levels, scales. ---


def test_values_go_in_and_out(backend):
    values = slots(1)
    plaintext = backend.Encode(values.tolist(), 2, SCALE)
    assert backend.Decode(plaintext) == values.tolist()
    ciphertext = backend.Encrypt(plaintext)
    np.testing.assert_allclose(decrypted(backend, ciphertext), values, atol=CLOSE)
    assert backend.GetPlaintextLevel(plaintext) == backend.GetCiphertextLevel(ciphertext) == 2
    assert backend.GetPlaintextLevel(backend.Decrypt(ciphertext)) == 2
    assert backend.GetPlaintextSlots(plaintext) == backend.GetCiphertextSlots(ciphertext) == 1024
    assert backend.GetCiphertextDegree(ciphertext) == 1
    assert backend.GetPlaintextScale(plaintext) == backend.GetCiphertextScale(ciphertext) == SCALE


def test_few_values_are_filled_up_with_zeros(backend):
    values = slots(2, 5)
    wanted = np.concatenate([values, np.zeros(1019)])
    np.testing.assert_allclose(decrypted(backend, encrypted(backend, values)), wanted, atol=CLOSE)


def test_what_does_not_fit_is_refused(backend):
    with pytest.raises(hm.errors.ParameterError, match="1025 values are more than the 1024 slots"):
        backend.Encode([0.0] * 1025, 1, SCALE)
    raises(hm.errors.LevelError, "no level 6: LogQ has the levels 0 to 5", backend.Encode, [0.0], 6, SCALE)
    raises(hm.errors.LevelError, "", backend.Encode, [0.0], -1, SCALE)
    raises(hm.errors.ParameterError, "above 0", backend.Encode, [0.0], 1, 0)


def test_the_name_of_a_ciphertexts_scale_changes_no_value(backend):
    values = slots(3)
    square = backend.MulRelinCiphertextNew(x := encrypted(backend, values), x)
    waiting = backend.GetCiphertextScale(square)
    assert waiting == pytest.approx(float(SCALE) ** 2, rel=0.02)
    backend.Rescale(square)
    backend.SetCiphertextScale(square, backend.GetCiphertextScale(x))
    np.testing.assert_allclose(decrypted(backend, square), values**2, atol=CLOSE)
    for scale in (SCALE // 4, SCALE * 4, 0):
        raises(hm.errors.ScaleError, "multiply by that number", backend.SetCiphertextScale, square, scale)


def test_a_plaintexts_scale_divides_its_values(backend):
    values = slots(4)
    plaintext = backend.Encode(values.tolist(), 3, SCALE)
    x = encrypted(backend, values, 3)
    before = backend.AddPlaintextNew(x, plaintext)
    backend.SetPlaintextScale(plaintext, 4 * SCALE)
    assert backend.GetPlaintextScale(plaintext) == 4 * SCALE
    np.testing.assert_allclose(backend.Decode(plaintext), values / 4)
    after = backend.AddPlaintextNew(x, plaintext)
    np.testing.assert_allclose(decrypted(backend, before), 2 * values, atol=CLOSE)
    np.testing.assert_allclose(decrypted(backend, after), 1.25 * values, atol=CLOSE)
    raises(hm.errors.ParameterError, "above 0", backend.SetPlaintextScale, plaintext, 0)


# --- Arithmetic. ---


WITH_NUMBERS = [
    ("AddScalar", 0.75, np.add),
    ("SubScalar", 0.75, np.subtract),
    ("MulScalarInt", -3, np.multiply),
    ("MulScalarFloat", 0.3, np.multiply),
]
WITH_OBJECTS = [
    ("AddPlaintext", np.add),
    ("SubPlaintext", np.subtract),
    ("MulPlaintext", np.multiply),
    ("AddCiphertext", np.add),
    ("SubCiphertext", np.subtract),
    ("MulRelinCiphertext", np.multiply),
]


@pytest.mark.parametrize("new", ["", "New"])
@pytest.mark.parametrize(("name", "number", "clear"), WITH_NUMBERS)
def test_arithmetic_with_numbers(backend, name, number, clear, new):
    values = slots(5)
    x = encrypted(backend, values)
    y = getattr(backend, name + new)(x, number)
    assert (y == x) is not bool(new)
    backend.Rescale(y)
    assert backend.GetCiphertextLevel(y) == LEVELS - (name == "MulScalarFloat")
    wanted = clear(values, np.asarray(number))
    np.testing.assert_allclose(decrypted(backend, y), wanted, atol=2 * CLOSE)
    if new:
        np.testing.assert_allclose(decrypted(backend, x), values, atol=CLOSE)


@pytest.mark.parametrize("new", ["", "New"])
@pytest.mark.parametrize(("left_level", "right_level"), [(5, 5), (4, 2), (2, 4)])
@pytest.mark.parametrize(("name", "clear"), WITH_OBJECTS)
def test_arithmetic_of_objects(backend, name, clear, left_level, right_level, new):
    """The result is at the lower one of both levels, whatever scale a plaintext is said to have."""
    left, right = slots(6), slots(7)
    x = encrypted(backend, left, left_level)
    plaintext = backend.Encode(right.tolist(), right_level, SCALE + 12345)
    operand = plaintext if name.endswith("Plaintext") else backend.Encrypt(plaintext)
    y = getattr(backend, name + new)(x, operand)
    assert (y == x) is not bool(new)
    backend.Rescale(y)
    wanted_level = min(left_level, right_level) - name.startswith("Mul")
    assert backend.GetCiphertextLevel(y) == wanted_level
    np.testing.assert_allclose(decrypted(backend, y), clear(left, right), atol=2 * CLOSE)
    if new:
        np.testing.assert_allclose(decrypted(backend, x), left, atol=CLOSE)


def test_a_product_waits_for_its_rescale(backend):
    values = slots(8)
    x = encrypted(backend, values)
    y = backend.MulRelinCiphertextNew(x, x)
    assert backend.GetCiphertextLevel(y) == LEVELS
    z = backend.RescaleNew(y)
    assert (backend.GetCiphertextLevel(z), backend.GetCiphertextLevel(y)) == (LEVELS - 1, LEVELS)
    again = backend.RescaleNew(z)
    backend.AddScalar(again, 1.0)
    assert backend.GetCiphertextLevel(again) == LEVELS - 1
    np.testing.assert_allclose(decrypted(backend, z), values**2, atol=CLOSE)
    np.testing.assert_allclose(decrypted(backend, again), values**2 + 1, atol=CLOSE)
    waiting_sum = backend.AddPlaintextNew(y, backend.Encode(values.tolist(), LEVELS, SCALE))
    np.testing.assert_allclose(decrypted(backend, waiting_sum), values**2 + values, atol=CLOSE)


def test_products_down_to_level_0(backend):
    values = slots(9)
    x = encrypted(backend, values)
    for _ in range(LEVELS):
        x = backend.Rescale(backend.MulRelinCiphertext(x, x))
        values = values**2
    assert backend.GetCiphertextLevel(x) == 0
    np.testing.assert_allclose(decrypted(backend, x), values, atol=4 * CLOSE)
    raises(hm.errors.LevelError, "", lambda: backend.Rescale(backend.MulRelinCiphertext(x, x)))


def test_negation_and_rotations(backend):
    values = slots(10)
    x = encrypted(backend, values)
    np.testing.assert_allclose(decrypted(backend, backend.Negate(x)), -values, atol=CLOSE)
    for amount in (1, 512, -3, 100):
        y = backend.RotateNew(x, amount)
        assert y != x
        np.testing.assert_allclose(decrypted(backend, y), np.roll(values, -amount), atol=CLOSE)
    keys = len(backend._with_keys.keys.galois_elements)
    assert backend._with_keys.keys.has_rotation(100)  # its own, and not those of 64, 32 and 4
    backend.RotateNew(x, 100)
    assert len(backend._with_keys.keys.galois_elements) == keys
    assert backend.Rotate(x, 7) == x
    np.testing.assert_allclose(decrypted(backend, x), np.roll(values, -7), atol=CLOSE)


# --- Polynomials. ---


@pytest.mark.parametrize("count", [2, 4, 5, 16, 28])
def test_polynomials(backend, count):
    values = slots(11)
    coefficients = np.random.default_rng(count).uniform(-1, 1, count) / count
    x = encrypted(backend, values)
    depth = int(np.ceil(np.log2(count)))
    for call, clear in (
        (backend.GenerateMonomial, polynomial.polyval),
        (backend.GenerateChebyshev, chebyshev.chebval),
    ):
        found = call(coefficients.tolist())
        assert backend.GetPolyDepth(found) == depth
        y = backend.EvaluatePolynomial(x, found, SCALE // 3)
        assert backend.GetCiphertextLevel(y) == LEVELS - depth
        np.testing.assert_allclose(decrypted(backend, y), clear(values, coefficients), atol=2 * CLOSE)
        assert math.isinf(backend._ciphertexts[y].largest)  # of later layers nothing is known
    np.testing.assert_allclose(decrypted(backend, x), values, atol=CLOSE)


def test_polynomials_warn_of_no_range(backend, recwarn):
    """Orion brings values to [-1, 1] itself. A result has no bound, so that it goes into further products."""
    found = backend.GenerateChebyshev([0.0, 8.0])
    x = encrypted(backend, slots(12) / 8)
    for _ in range(2):
        x = backend.EvaluatePolynomial(x, found, SCALE)
        backend.Rescale(backend.MulScalarFloat(x, 0.125))
    np.testing.assert_allclose(decrypted(backend, x), slots(12) / 8, atol=CLOSE)
    assert not recwarn.list


# --- Matrices. ---


def product(diagonals, x):
    return np.asarray(sum(row * np.roll(x, -number) for number, row in diagonals.items()))


def transform(backend, diagonals, level, mode="none"):
    flat = np.concatenate(list(diagonals.values())).tolist()
    return backend.GenerateLinearTransform(list(diagonals), flat, level, 2.0, mode)


def test_linear_transforms():
    backend = make()
    diagonals = {number: slots(20 + number) for number in (0, 1, 3, 17, 500, 1023)}
    others = {number: slots(50 + number) for number in (1, 2)}
    values = slots(13)
    x = encrypted(backend, values, 4)
    found = transform(backend, diagonals, 3)
    raises(hm.errors.MissingKeyError, "", backend.EvaluateLinearTransform, found, x)
    first = backend.GetLinearTransformRotationKeys(found)
    for element in first:
        backend.GenerateLinearTransformRotationKey(element)
    y = backend.EvaluateLinearTransform(found, x)
    assert backend.GetCiphertextLevel(y) == 2
    np.testing.assert_allclose(decrypted(backend, y), product(diagonals, values), atol=8 * CLOSE)
    # A second one, at a higher level, with keys that the first one lacks.
    second = transform(backend, others, 4)
    for element in set(backend.GetLinearTransformRotationKeys(second)) - set(first):
        backend.GenerateLinearTransformRotationKey(element)
    z = backend.EvaluateLinearTransform(second, x)
    np.testing.assert_allclose(decrypted(backend, z), product(others, values), atol=8 * CLOSE)
    raises(hm.errors.LevelError, "", backend.EvaluateLinearTransform, second, y)
    # A third one, with a key of the arithmetic's.
    third = transform(backend, {7: slots(60)}, 4)
    backend.AddRotationKey(7)
    turned = backend.EvaluateLinearTransform(third, x)
    wanted = slots(60) * np.roll(values, -7)
    np.testing.assert_allclose(decrypted(backend, turned), wanted, atol=8 * CLOSE)
    # Blocks are added up and rescaled as one.
    total = backend.RescaleNew(backend.AddCiphertextNew(y, z))
    assert backend.GetCiphertextLevel(total) == 2
    wanted = product(diagonals, values) + product(others, values)
    np.testing.assert_allclose(decrypted(backend, total), wanted, atol=16 * CLOSE)
    backend.DeleteLinearTransform(second)
    with pytest.raises(hm.errors.ParameterError, match=f"no linear transform {second}"):
        backend.EvaluateLinearTransform(second, x)


def test_a_matrix_that_is_zero(backend):
    found = transform(backend, {0: np.zeros(1024)}, 4)
    assert backend.GetLinearTransformRotationKeys(found) == []
    y = backend.EvaluateLinearTransform(found, encrypted(backend, slots(14)))
    assert backend.GetCiphertextLevel(y) == 3
    np.testing.assert_allclose(decrypted(backend, y), 0, atol=CLOSE)


def test_transforms_that_do_not_fit(backend):
    with pytest.raises(hm.errors.ParameterError, match="1023 values are not those of 1 different diagonals"):
        backend.GenerateLinearTransform([0], [1.0] * 1023, 3, 2.0, "none")
    with pytest.raises(hm.errors.ParameterError, match="2048 values are not those of 1 different diagonals"):
        backend.GenerateLinearTransform([1, 1], [1.0] * 2048, 3, 2.0, "none")
    raises(hm.errors.ParameterError, "", backend.GenerateLinearTransform, [], [], 3, 2.0, "none")
    with pytest.raises(hm.errors.LevelError):
        backend.GenerateLinearTransform([0], [1.0] * 1024, 0, 2.0, "none")
    with pytest.raises(hm.errors.ParameterError, match="io_mode"):
        backend.GenerateLinearTransform([0], [1.0] * 1024, 3, 2.0, "write")
    with pytest.raises(hm.errors.ParameterError, match="no transform takes the Galois element 4"):
        backend.GenerateLinearTransformRotationKey(4)


# --- Keys and diagonals on disk. ---


def test_keys_and_diagonals_as_bytes():
    """One backend writes, another one reads, as Orion's modes "save" and "load" do."""
    diagonals = {number: slots(30 + number) for number in (0, 5, 6)}
    values = slots(15)
    writer = make()
    found = transform(writer, diagonals, 4, "save")
    elements = writer.GetLinearTransformRotationKeys(found)
    keys = {element: writer.GenerateAndSerializeRotationKey(element)[0] for element in elements}
    rows = {number: writer.SerializeDiagonal(found, number)[0] for number in diagonals}
    secret, pointer = writer.SerializeSecretKey()
    writer.FreeCArray(pointer)
    assert all(each.dtype == np.uint8 for each in [secret, *keys.values(), *rows.values()])
    with pytest.raises(hm.errors.ParameterError, match=r"\[0, 5, 6\] are not loaded"):
        writer.EvaluateLinearTransform(found, encrypted(writer, values))
    raises(hm.errors.ParameterError, "taken already", writer.SerializeDiagonal, found, 5)

    reader = make()
    reader.LoadSecretKey(secret)
    with pytest.raises(hm.errors.MissingKeyError, match="no keys"):  # the old ones are of another secret
        encrypted(reader, values)
    reader.GeneratePublicKey()
    reader.GenerateRelinearizationKey()
    own = encrypted(reader, values)
    square = reader.Rescale(reader.MulRelinCiphertextNew(own, own))
    np.testing.assert_allclose(decrypted(reader, square), values**2, atol=CLOSE)
    x = encrypted(writer, values)  # of the same secret
    theirs = reader._ciphertexts.add(reader.context.load(bytes(writer._ciphertexts[x])))
    np.testing.assert_allclose(decrypted(reader, theirs), values, atol=CLOSE)

    again = transform(reader, diagonals, 4, "load")
    assert reader.GetLinearTransformRotationKeys(again) == elements
    raises(hm.errors.ParameterError, "not loaded", reader.EvaluateLinearTransform, again, theirs)
    for number, row in rows.items():
        reader.LoadPlaintextDiagonal(row, again, number)
    raises(hm.errors.MissingKeyError, "", reader.EvaluateLinearTransform, again, theirs)
    for element, key in keys.items():
        reader.LoadRotationKey(key, element)
    y = reader.EvaluateLinearTransform(again, theirs)
    np.testing.assert_allclose(decrypted(reader, y), product(diagonals, values), atol=8 * CLOSE)

    reader.SerializeDiagonal(again, 5)  # and another one in its place
    changed = {**diagonals, 5: slots(40)}
    reader.LoadPlaintextDiagonal(np.frombuffer(changed[5].tobytes(), np.uint8), again, 5)
    y = reader.EvaluateLinearTransform(again, theirs)
    np.testing.assert_allclose(decrypted(reader, y), product(changed, values), atol=8 * CLOSE)

    before = reader.context.memory_used
    reader.RemovePlaintextDiagonals(again)
    assert before - reader.context.memory_used >= 3 * 8 * 2048  # three encoded diagonals, a limb at the least
    raises(hm.errors.ParameterError, "not loaded", reader.EvaluateLinearTransform, again, theirs)
    for number, row in rows.items():
        reader.LoadPlaintextDiagonal(row, again, number)
    reader.RemoveRotationKeys()
    raises(hm.errors.MissingKeyError, "", reader.EvaluateLinearTransform, again, theirs)

    with pytest.raises(hm.errors.MismatchError, match="not the key of the Galois element 3"):
        reader.LoadRotationKey(keys[elements[0]], 3)
    with pytest.raises(hm.errors.MismatchError, match="takes a secret key, not a Keys"):
        reader.LoadSecretKey(keys[elements[0]])
    with pytest.raises(hm.errors.ParameterError, match="bytes are not diagonal 7"):
        reader.LoadPlaintextDiagonal(rows[0], again, 7)
    with pytest.raises(hm.errors.ParameterError, match="bytes are not diagonal 5"):
        reader.LoadPlaintextDiagonal(rows[5][:-8], again, 5)


# --- Bootstraps. ---


@pytest.fixture(scope="module")
def refreshing():
    """Two levels of 40 bits between bootstraps. The sizes of `log_primes` are Orion's."""
    return make(log_primes=[55, 40, 40], log_special=[61, 61], log_scale=40, bootstraps=True)


@pytest.mark.parametrize("count", [1024, 64])
@pytest.mark.parametrize("level", [0, 2])
def test_bootstraps(refreshing, count, level):
    """Values in the first slots, and zeros behind, come back at the highest level, repeated."""
    refreshing.NewBootstrapper([61, 61], count)
    assert refreshing._bootstraps[count].levels_left == 2  # as many as Orion's, and none that nobody uses
    keys = refreshing._keys
    refreshing.NewBootstrapper([61, 61], count)
    assert refreshing._keys is keys
    values = slots(16, count)
    x = refreshing.Encrypt(refreshing.Encode(values.tolist(), level, 2**40))
    y = refreshing.Bootstrap(x, count)
    assert (refreshing.GetCiphertextLevel(x), refreshing.GetCiphertextLevel(y)) == (level, 2)
    assert refreshing.GetCiphertextSlots(y) == 1024
    np.testing.assert_allclose(decrypted(refreshing, y), np.tile(values, 1024 // count), atol=2.0**-15)
    assert math.isinf(refreshing._ciphertexts[y].largest)
    z = refreshing.Rescale(refreshing.MulRelinCiphertextNew(y, y))
    assert refreshing.GetCiphertextLevel(z) == 1
    np.testing.assert_allclose(decrypted(refreshing, z)[:count], values**2, atol=2.0**-14)


def test_bootstraps_that_are_not_there(refreshing, backend):
    x = refreshing.Encrypt(refreshing.Encode([0.5], 1, 2**40))
    raises(hm.errors.ParameterError, "no bootstrapper for 32 slots", refreshing.Bootstrap, x, 32)
    raises(hm.errors.ParameterError, "no boot_params", backend.NewBootstrapper, [61], 64)
    refreshing.NewBootstrapper([61, 61], 64)
    refreshing.DeleteBootstrappers()
    raises(hm.errors.ParameterError, "no bootstrapper for 64 slots", refreshing.Bootstrap, x, 64)


def test_levels_of_bootstrapping_parameters(refreshing):
    chain = refreshing.GetModuliChain()
    assert [round(float(np.log2(float(each)))) for each in chain[1:]] == [40, 40]
    # The nearest whole number to the quotient of two moduli.
    ring = refreshing._ring
    moduli = [math.prod(map(int, primes)) for primes in ring.params.primes[ring.lowest :]]
    quotients = [Fraction(above, below) for below, above in pairwise(moduli)]
    assert chain == [moduli[0], *(math.floor(each + Fraction(1, 2)) for each in quotients)][: len(chain)]
    raises(hm.errors.LevelError, "levels 0 to 2", refreshing.Encode, [0.0], 3, 2**40)
    x = refreshing.Encrypt(refreshing.Encode([0.5, -0.25], 2, 2**40))
    x = refreshing.Rescale(refreshing.MulScalarFloat(refreshing.RotateNew(x, 1), 0.5))
    assert refreshing.GetCiphertextLevel(x) == 1
    np.testing.assert_allclose(decrypted(refreshing, x)[[0, 1023]], [-0.125, 0.25], atol=2.0**-20)


# --- Parameters. ---


def test_primes_have_their_sizes(backend):
    chain = backend.GetModuliChain()
    assert len(chain) == LEVELS + 1
    assert chain[0].bit_length() == 40
    np.testing.assert_allclose(np.log2(chain[1:]), 30, atol=0.01)
    assert [each.bit_length() for each in backend.GetAuxModuliChain()] == [40, 40]


def test_a_top_prime_of_another_size():
    """As of the chain in Orion's own test of special primes. The scale of the top level is a larger one."""
    backend = make(log_primes=[45, 30, 30, 45], log_special=[50, 51, 52])
    assert [each.bit_length() for each in backend.GetAuxModuliChain()] == [50, 51, 52]
    assert backend.context.encode([0.0], level=0).scale == pytest.approx(2**30, rel=0.01)
    values = slots(17)
    x = backend.Encrypt(backend.Encode(values.tolist(), 3, SCALE))
    for level in (2, 1, 0):
        backend.Rescale(backend.MulRelinCiphertext(x, x))
        backend.SetCiphertextScale(x, SCALE)
        values = values**2
        assert backend.GetCiphertextLevel(x) == level
    np.testing.assert_allclose(decrypted(backend, x), values, atol=4 * CLOSE)


def test_the_conjugation_invariant_ring_has_a_slot_for_each_coefficient():
    backend = make(log_degree=10, ring="conjugateinvariant")
    values = slots(18)
    x = encrypted(backend, values)
    assert backend.GetCiphertextSlots(x) == 1024
    np.testing.assert_allclose(decrypted(backend, x), values, atol=CLOSE)


def test_parameters_that_are_refused():
    raises(hm.errors.SecurityError, "", make, security=128)
    raises(hm.errors.ParameterError, "ringtype", make, ring="Standard")
    raises(hm.errors.ParameterError, "LogQ is empty", make, log_primes=[])
    bare = Backend(log_degree=12, log_primes=[40], log_special=[30], log_scale=30, device="cpu")
    plaintext = bare.Encode([1.0], 0, SCALE)
    raises(hm.errors.MissingKeyError, "no keys", bare.Encrypt, plaintext)
    raises(hm.errors.MissingKeyError, "no secret key", bare.GeneratePublicKey)


# --- Numbers of objects. ---


def test_numbers_are_the_smallest_that_are_free():
    backend = make()
    first, second, third = (backend.Encode([float(each)], 1, SCALE) for each in range(3))
    assert (first, second, third) == (0, 1, 2)
    x = backend.Encrypt(first)
    backend.DeletePlaintext(first)
    backend.DeletePlaintext(second)
    backend.DeletePlaintext(first)  # again, as Python's collector may
    assert backend.GetLivePlaintexts() == [2]
    raises(hm.errors.ParameterError, "no plaintext 1; it may have been deleted", backend.Decode, second)
    assert [backend.Encode([0.0], 1, SCALE) for _ in range(3)] == [0, 1, 3]
    assert backend.GetLiveCiphertexts() == [x]
    backend.DeleteCiphertext(x)
    assert backend.GetLiveCiphertexts() == []
    raises(hm.errors.ParameterError, "no ciphertext 0", backend.AddScalar, x, 1.0)
    backend.DeletePlaintext(1)
    backend.DeleteScheme()
    backend.DeleteScheme()
    raises(hm.errors.MissingKeyError, "no secret key", backend.SerializeSecretKey)
    assert backend.GetLivePlaintexts() == []
    assert [backend.Encode([float(each)], 1, SCALE) for each in range(4)] == [0, 1, 2, 3]  # each its own
    assert [backend.Decode(each)[0] for each in range(4)] == [0, 1, 2, 3]
    raises(hm.errors.MissingKeyError, "", lambda: backend.Encrypt(backend.Encode([0.0], 1, SCALE)))
