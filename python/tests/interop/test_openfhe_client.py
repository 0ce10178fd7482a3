"""OpenFHE itself as the client: its files in, results out, keys of either side. For every scheme and scaling
technique, results have the metadata that OpenFHE gives, and OpenFHE decrypts them and computes on."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import hemera as hm
import openfhe_process
from hemera.cli import main
from hemera.interop import openfhe

lib = openfhe_process.library()
VERSION = openfhe_process.version(lib)

DEGREE = 4096
SLOTS = 64
PLAIN_MODULUS = 65537
STEPS = [1, 2, -4]


@dataclass(frozen=True)
class Setting:
    """A crypto context."""

    name: str
    scheme: str
    scaling: str | None = None
    key_switching: str = "HYBRID"
    digit_size: int = 0
    digits: int = 0
    multiplication: str | None = None
    encryption: str = "STANDARD"
    secret: str = "UNIFORM_TERNARY"
    depth: int = 4
    slots: int = SLOTS
    fhe: bool = False
    multiparty: bool = False
    scale_bits: int = 45
    first_bits: int = 55

    def __str__(self):
        return self.name


TECHNIQUES = ["FIXEDMANUAL", "FIXEDAUTO", "FLEXIBLEAUTO", "FLEXIBLEAUTOEXT"]
SETTINGS = [
    *(Setting(f"{scheme}-{name.lower()}", scheme, name) for scheme in ("ckks", "bgv") for name in TECHNIQUES),
    *(
        Setting(f"bfv-{name.lower()}", "bfv", multiplication=name, depth=3)
        for name in ("BEHZ", "HPS", "HPSPOVERQ", "HPSPOVERQLEVELED")
    ),
    Setting("bfv-extended", "bfv", multiplication="HPS", encryption="EXTENDED", depth=3),
    Setting("ckks-bv-windows", "ckks", "FIXEDAUTO", key_switching="BV", digit_size=15, depth=3),
    Setting("bgv-bv-windows", "bgv", "FLEXIBLEAUTO", key_switching="BV", digit_size=10, depth=3),
    Setting("bfv-bv", "bfv", multiplication="HPSPOVERQ", key_switching="BV", depth=2),
    Setting("ckks-gaussian-full", "ckks", "FLEXIBLEAUTO", secret="GAUSSIAN", slots=DEGREE // 2),
    Setting("ckks-sparse-fhe", "ckks", "FIXEDAUTO", secret="SPARSE_TERNARY", fhe=True),
    Setting("ckks-digits", "ckks", "FLEXIBLEAUTOEXT", digits=3),
    # A digit of whole words of 60 bits, for which OpenFHE has a special prime more since 1.6.1.
    Setting("bfv-words", "bfv", multiplication="HPS", digits=1, depth=2),
    Setting("ckks-words", "ckks", "FLEXIBLEAUTO", digits=1, depth=3, scale_bits=40, first_bits=59),
    *(
        Setting(
            f"bfv-extended-bv-{size}",
            "bfv",
            multiplication=name,
            encryption="EXTENDED",
            digit_size=size,
            key_switching="BV",
            depth=2,
        )
        for name, size in (("HPS", 0), ("BEHZ", 20))
    ),
]


class Client:
    """A party that has OpenFHE alone."""

    def __init__(self, setting):
        self.setting = setting
        self.ckks = setting.scheme == "ckks"
        parameters = getattr(lib, f"CCParams{setting.scheme.upper()}RNS")()
        parameters.SetSecurityLevel(lib.HEStd_NotSet)
        parameters.SetRingDim(DEGREE)
        parameters.SetMultiplicativeDepth(setting.depth)
        parameters.SetKeySwitchTechnique(getattr(lib.KeySwitchTechnique, setting.key_switching))
        parameters.SetSecretKeyDist(getattr(lib.SecretKeyDist, setting.secret))
        if setting.digit_size:
            parameters.SetDigitSize(setting.digit_size)
        if setting.digits:
            parameters.SetNumLargeDigits(setting.digits)
        if setting.scaling:
            parameters.SetScalingTechnique(getattr(lib.ScalingTechnique, setting.scaling))
        if setting.multiplication:
            parameters.SetMultiplicationTechnique(
                getattr(lib.MultiplicationTechnique, setting.multiplication)
            )
        if setting.encryption == "EXTENDED":
            parameters.SetEncryptionTechnique(lib.EncryptionTechnique.EXTENDED)
        if self.ckks:
            parameters.SetScalingModSize(setting.scale_bits)
            parameters.SetFirstModSize(setting.first_bits)
            parameters.SetBatchSize(setting.slots)
        else:
            parameters.SetPlaintextModulus(PLAIN_MODULUS)
        self.context = lib.GenCryptoContext(parameters)
        features = [
            lib.PKE,
            lib.KEYSWITCH,
            lib.LEVELEDSHE,
            *([lib.ADVANCEDSHE, lib.FHE] if setting.fhe else []),
            *([lib.MULTIPARTY] if setting.multiparty else []),
        ]
        for feature in features:
            self.context.Enable(feature)
        self.keys = self.context.KeyGen()
        self.context.EvalMultKeyGen(self.keys.secretKey)
        self.context.EvalRotateKeyGen(self.keys.secretKey, [*STEPS, *self.long_steps])
        self.tag = self.keys.secretKey.GetKeyTag()

    @property
    def long_steps(self):
        """Rotations that are none modulo N/2: the rows are exchanged, too, or CKKS's values conjugated."""
        if self.ckks:
            return [2 * DEGREE - 1]
        return [DEGREE // 2, DEGREE // 2 + 3, -(DEGREE // 2) - 1, DEGREE + 1, 1 - DEGREE]

    def saved(self, thing, sertype=lib.BINARY):
        data = lib.Serialize(thing, sertype)
        return data.encode() if isinstance(data, str) else data

    def saved_keys(self, sertype=lib.BINARY):
        files = {
            "public_key": self.saved(self.keys.publicKey, sertype),
            "relinearization": lib.SerializeEvalMultKeyString(sertype, self.tag),
            "galois": lib.SerializeEvalAutomorphismKeyString(sertype, self.tag),
        }
        return {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}

    def loaded(self, data, sertype=lib.BINARY):
        return lib.DeserializeCiphertextString(data.decode() if sertype is lib.JSON else data, sertype)

    def encoded(self, values):
        if self.ckks:
            return self.context.MakeCKKSPackedPlaintext(values.tolist())
        return self.context.MakePackedPlaintext(values.tolist())

    def encrypted(self, values):
        return self.context.Encrypt(self.keys.publicKey, self.encoded(values))

    def decrypted(self, ciphertext):
        plaintext = self.context.Decrypt(self.keys.secretKey, ciphertext)
        plaintext.SetLength(SLOTS)
        if self.ckks:
            return np.array(plaintext.GetRealPackedValue())[:SLOTS]
        return np.array(plaintext.GetPackedValue())[:SLOTS] % PLAIN_MODULUS

    def session(self):
        session = openfhe.Session(self.saved(self.context), device="cpu")
        session.load_keys(**self.saved_keys())
        return session


class Pair:
    """One value as OpenFHE's ciphertext, as Hemera's, and in the clear."""

    def __init__(self, theirs, ours, clear):
        self.theirs, self.ours, self.clear = theirs, ours, clear


def values(rng, client):
    """Values of as many slots as are compared; they repeat where the context has more."""
    if client.ckks:
        return np.tile(rng.uniform(-1, 1, SLOTS), client.setting.slots // SLOTS)
    return np.tile(rng.integers(0, PLAIN_MODULUS // 2, SLOTS), DEGREE // SLOTS)


def assert_close(client, found, clear):
    if client.ckks:
        np.testing.assert_allclose(found, clear[:SLOTS], atol=2e-4, rtol=0)
    else:
        np.testing.assert_array_equal(found % PLAIN_MODULUS, clear[:SLOTS] % PLAIN_MODULUS)


def check(client, session, pair):
    """The result has OpenFHE's metadata, decrypts in OpenFHE, and can be added to OpenFHE's own."""
    ours = session.metadata(pair.ours)
    theirs = session.metadata(session.load_ciphertext(client.saved(pair.theirs)))
    scales = ours.pop("scaling_factor"), theirs.pop("scaling_factor")
    assert ours == theirs
    assert abs(scales[0] / scales[1] - 1) < 1e-14
    back = client.loaded(session.dump_ciphertext(pair.ours))
    assert (back.GetLevel(), back.GetNoiseScaleDeg()) == (theirs["level"], theirs["noise_scale_degree"])
    assert_close(client, client.decrypted(back), pair.clear)
    both = client.context.EvalAdd(back, pair.theirs)
    assert_close(client, client.decrypted(both), 2 * pair.clear)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def client(request):
    return Client(request.param)


@pytest.fixture(scope="module")
def session(client):
    return client.session()


def fresh(client, session, seed):
    clear = values(np.random.default_rng(seed), client)
    theirs = client.encrypted(clear)
    return Pair(theirs, session.load_ciphertext(client.saved(theirs)), clear)


def test_fresh_ciphertexts_travel_both_ways(client, session):
    check(client, session, fresh(client, session, 1))
    # And one that Hemera encrypts with the client's public key.
    clear = values(np.random.default_rng(2), client)
    ours = session.evaluator.encrypt(clear)
    check(client, session, Pair(client.encrypted(clear), ours, clear))


def test_json_travels_both_ways(client):
    source = client.saved(client.context, lib.JSON)
    session = openfhe.Session(source, device="cpu")
    session.load_keys(**client.saved_keys(lib.JSON))
    clear = values(np.random.default_rng(3), client)
    x = session.load_ciphertext(client.saved(client.encrypted(clear), lib.JSON))
    back = client.loaded(session.dump_ciphertext(x * x, format="json"), lib.JSON)
    assert_close(client, client.decrypted(back), clear * clear)


def rescaled(client, pair):
    """FIXEDMANUAL leaves it to the caller."""
    if client.setting.scaling != "FIXEDMANUAL":
        return pair
    return Pair(client.context.Rescale(pair.theirs), pair.ours.rescale(), pair.clear)


def rotated(clear, steps):
    return np.roll(clear, -steps)


def test_every_operation_gives_what_openfhe_gives(client, session):
    cc = client.context
    a, b = fresh(client, session, 4), fresh(client, session, 5)
    clear = values(np.random.default_rng(6), client)
    plain = client.encoded(clear)
    check(client, session, Pair(cc.EvalAdd(a.theirs, b.theirs), a.ours + b.ours, a.clear + b.clear))
    check(client, session, Pair(cc.EvalSub(a.theirs, b.theirs), a.ours - b.ours, a.clear - b.clear))
    check(client, session, Pair(cc.EvalNegate(a.theirs), -a.ours, -a.clear))
    check(client, session, Pair(cc.EvalMult(a.theirs, b.theirs), a.ours * b.ours, a.clear * b.clear))
    check(client, session, Pair(cc.EvalSquare(a.theirs), a.ours.square(), a.clear * a.clear))
    check(client, session, Pair(cc.EvalMult(a.theirs, plain), a.ours * clear, a.clear * clear))
    check(client, session, Pair(cc.EvalAdd(a.theirs, plain), a.ours + clear, a.clear + clear))
    check(client, session, Pair(cc.EvalSub(a.theirs, plain), a.ours - clear, a.clear - clear))
    for steps in STEPS:
        check(
            client,
            session,
            Pair(cc.EvalRotate(a.theirs, steps), a.ours.rotate(steps), rotated(a.clear, steps)),
        )
    if client.ckks:
        for number in (0.5, -1.25, 3, 2.0):
            check(client, session, Pair(cc.EvalMult(a.theirs, number), a.ours * number, a.clear * number))
            check(client, session, Pair(cc.EvalAdd(a.theirs, number), a.ours + number, a.clear + number))
            check(client, session, Pair(cc.EvalSub(a.theirs, number), a.ours - number, a.clear - number))


def test_long_rotations_are_openfhes(client, session):
    """From N/2 steps on OpenFHE exchanges the rows, too; by 2N - 1 it conjugates."""
    cc = client.context
    if client.ckks:
        slots = client.setting.slots
        clear = np.linspace(-1, 1, slots) + 1j * np.linspace(0.5, -0.25, slots)
        theirs = cc.Encrypt(client.keys.publicKey, cc.MakeCKKSPackedPlaintext(clear.tolist()))
    else:
        theirs = client.encrypted(np.arange(1, DEGREE + 1))
    ours = session.load_ciphertext(client.saved(theirs))
    secret = session.load_secret_key(client.saved(client.keys.secretKey))
    turned = dict(zip(client.long_steps, ours.rotate_many(client.long_steps), strict=True))
    for steps in client.long_steps:
        wanted = session.load_ciphertext(client.saved(cc.EvalRotate(theirs, steps)))
        for found in (ours.rotate(steps), turned[steps]):
            # Both as Hemera decrypts: OpenFHE refuses values of CKKS that it does not take for real.
            a, b = (session.context.decrypt(x, secret) for x in (found, wanted))
            if client.ckks:
                np.testing.assert_allclose(a, b, atol=1e-4, rtol=0)
            else:
                np.testing.assert_array_equal(a, b)
                np.testing.assert_array_equal(
                    np.array(
                        client.context.Decrypt(
                            client.keys.secretKey, client.loaded(session.dump_ciphertext(found))
                        ).GetPackedValue()
                    ),
                    np.array(
                        client.context.Decrypt(
                            client.keys.secretKey, cc.EvalRotate(theirs, steps)
                        ).GetPackedValue()
                    ),
                )


@pytest.mark.parametrize("seed", range(3))
def test_rounds_of_mixed_operations(client, session, seed):
    rng = np.random.default_rng(100 + seed)
    cc = client.context
    pool = [fresh(client, session, 10 * seed + i) for i in range(3)]
    products = {id(pair): 0 for pair in pool}
    for _ in range(12):
        a, b = (pool[i] for i in rng.choice(len(pool), 2))
        depth = max(products[id(a)], products[id(b)])
        kind = rng.choice(["add", "sub", "multiply", "rotate", "plain", "number", "negate"])
        if kind == "add":
            pair = Pair(cc.EvalAdd(a.theirs, b.theirs), a.ours + b.ours, a.clear + b.clear)
        elif kind == "sub":
            pair = Pair(cc.EvalSub(a.theirs, b.theirs), a.ours - b.ours, a.clear - b.clear)
        elif kind == "negate":
            depth = products[id(a)]
            pair = Pair(cc.EvalNegate(a.theirs), -a.ours, -a.clear)
        elif kind == "rotate":
            depth = products[id(a)]
            steps = int(rng.choice(STEPS))
            pair = Pair(cc.EvalRotate(a.theirs, steps), a.ours.rotate(steps), rotated(a.clear, steps))
        elif kind == "multiply" and depth < client.setting.depth - 1:
            depth += 1
            pair = rescaled(client, Pair(cc.EvalMult(a.theirs, b.theirs), a.ours * b.ours, a.clear * b.clear))
        elif kind == "plain" and products[id(a)] < client.setting.depth - 1:
            depth = products[id(a)] + 1
            clear = values(rng, client)
            pair = rescaled(
                client, Pair(cc.EvalMult(a.theirs, client.encoded(clear)), a.ours * clear, a.clear * clear)
            )
        elif kind == "number" and client.ckks and products[id(a)] < client.setting.depth - 1:
            depth = products[id(a)] + 1
            number = float(rng.uniform(-1, 1))
            pair = rescaled(client, Pair(cc.EvalMult(a.theirs, number), a.ours * number, a.clear * number))
        else:
            continue
        pair.clear = pair.clear if client.ckks else pair.clear % PLAIN_MODULUS
        check(client, session, pair)
        pool.append(pair)
        products[id(pair)] = depth


def test_results_compute_on_at_the_client(client, session):
    cc = client.context
    a, b = fresh(client, session, 7), fresh(client, session, 8)
    mixed = (a.ours * b.ours).rotate(1)
    back = client.loaded(session.dump_ciphertext(mixed))
    clear = rotated(a.clear * b.clear, 1)
    if client.setting.scaling == "FIXEDMANUAL":
        back = cc.Rescale(back)
    further = cc.EvalMult(cc.EvalRotate(back, 2), b.theirs)
    assert_close(client, client.decrypted(further), rotated(clear, 2) * b.clear)
    # And back again.
    again = session.load_ciphertext(client.saved(further))
    assert_close(
        client, client.decrypted(client.loaded(session.dump_ciphertext(again))), rotated(clear, 2) * b.clear
    )


def test_keys_that_hemera_makes_serve_openfhe(client):
    session = client.session()
    cc = client.context
    secret = session.load_secret_key(client.saved(client.keys.secretKey))
    theirs = client.saved_keys()
    # EXTENDED encryption has a prime more, which contexts with BV's keys lack.
    lacks_prime = client.setting.encryption == "EXTENDED" and client.setting.key_switching == "BV"
    if lacks_prime:
        with pytest.raises(hm.errors.MismatchError, match="let the client make its own"):
            session.dump_keys(session.context.generate_keys(secret))
    made = session.context.generate_keys(secret, public_key=not lacks_prime, rotations=STEPS)
    files = {"public_key": theirs["public_key"], **session.dump_keys(made)}
    a, b = fresh(client, session, 11), fresh(client, session, 12)
    try:
        lib.ClearEvalMultKeys()
        cc.ClearEvalAutomorphismKeys()
        lib.DeserializeEvalMultKeyString(files["relinearization"], lib.BINARY)
        lib.DeserializeEvalAutomorphismKeyString(files["galois"], lib.BINARY)
        product = cc.EvalMult(a.theirs, b.theirs)
        assert_close(client, client.decrypted(product), a.clear * b.clear)
        for steps in STEPS:
            assert_close(client, client.decrypted(cc.EvalRotate(a.theirs, steps)), rotated(a.clear, steps))
        public = lib.DeserializePublicKeyString(files["public_key"], lib.BINARY)
        assert_close(client, client.decrypted(cc.Encrypt(public, client.encoded(a.clear))), a.clear)
    finally:
        lib.ClearEvalMultKeys()
        cc.ClearEvalAutomorphismKeys()
        lib.DeserializeEvalMultKeyString(theirs["relinearization"], lib.BINARY)
        lib.DeserializeEvalAutomorphismKeyString(theirs["galois"], lib.BINARY)
    key = lib.DeserializePrivateKeyString(session.dump_secret_key(secret), lib.BINARY)
    plaintext = cc.Decrypt(key, a.theirs)
    assert plaintext is not None


def test_contexts_that_hemera_does_not_have_are_named():
    parameters = lib.CCParamsCKKSRNS()
    parameters.SetSecurityLevel(lib.HEStd_NotSet)
    parameters.SetRingDim(DEGREE)
    parameters.SetMultiplicativeDepth(2)
    context = lib.GenCryptoContext(parameters)
    for feature in (lib.PKE, lib.KEYSWITCH, lib.LEVELEDSHE, lib.SCHEMESWITCH):
        context.Enable(feature)
    with pytest.raises(hm.errors.FormatError, match="scheme switching") as caught:
        openfhe.Session(lib.Serialize(context, lib.BINARY))
    assert "versions" not in str(caught.value)  # none would help


def test_contexts_with_multiparty_and_one_party_load():
    client = Client(Setting("ckks-party", "ckks", "FIXEDAUTO", multiparty=True))
    session = client.session()
    pair = fresh(client, session, 1)
    check(client, session, Pair(client.context.EvalSquare(pair.theirs), pair.ours.square(), pair.clear**2))


BOOTSTRAPS = {
    "dense": {"slots": 8, "budget": [1, 1]},
    "fixed": {"slots": 8, "budget": [1, 1], "scaling": "FIXEDAUTO"},
    "manual": {"slots": 8, "budget": [1, 1], "scaling": "FIXEDMANUAL"},
    "extended": {"slots": 16, "budget": [2, 2], "scaling": "FLEXIBLEAUTOEXT"},
    "layers": {"slots": 64, "budget": [2, 2]},
    "uneven": {"slots": 64, "budget": [3, 2]},
    "many": {"slots": 256, "budget": [4, 3], "secret": "SPARSE_TERNARY"},
    "full": {"slots": 1024, "budget": [3, 3]},
    "full-dense": {"slots": 1024, "budget": [1, 1], "secret": "SPARSE_TERNARY"},
    # "precision": bits that results are to have, and no less than OpenFHE's.
    "encapsulated": {"slots": 32, "budget": [2, 1], "secret": "SPARSE_ENCAPSULATED", "precision": 28},
    # OpenFHE's fixed scales leave out how far the moduli are from them: more, the smaller the scale.
    "encapsulated-manual-55": {
        "slots": 32,
        "budget": [2, 1],
        "secret": "SPARSE_ENCAPSULATED",
        "scaling": "FIXEDMANUAL",
        "bits": 55,
        "precision": 22.5,
    },
    "encapsulated-auto-50": {
        "slots": 64,
        "budget": [2, 2],
        "secret": "SPARSE_ENCAPSULATED",
        "scaling": "FIXEDAUTO",
        "bits": 50,
        "precision": 23.5,
    },
    "steps": {"slots": 16, "budget": [1, 1], "steps": [4, 8]},
    # SlotToCoeff first.
    "decode-dense": {"slots": 8, "budget": [1, 1], "decodes_first": True},
    "decode-fixed": {"slots": 8, "budget": [1, 1], "scaling": "FIXEDAUTO", "decodes_first": True},
    "decode-manual": {"slots": 64, "budget": [2, 2], "scaling": "FIXEDMANUAL", "decodes_first": True},
    "decode-extended": {"slots": 16, "budget": [2, 2], "scaling": "FLEXIBLEAUTOEXT", "decodes_first": True},
    "decode-full": {"slots": 1024, "budget": [3, 3], "decodes_first": True},
    "decode-complex": {"slots": 256, "budget": [2, 3], "complex": True, "decodes_first": True},
    "decode-complex-full": {
        "slots": 1024,
        "budget": [3, 2],
        "secret": "SPARSE_TERNARY",
        "complex": True,
        "decodes_first": True,
    },
    "decode-encapsulated": {
        "slots": 32,
        "budget": [2, 1],
        "secret": "SPARSE_ENCAPSULATED",
        "decodes_first": True,
    },
}


@pytest.mark.parametrize("name", BOOTSTRAPS)
def test_bootstraps_are_openfhes(name):
    setting = {
        "scaling": "FLEXIBLEAUTO",
        "secret": "UNIFORM_TERNARY",
        "bits": 59,
        "steps": [0, 0],
        "complex": False,
        "decodes_first": False,
        **BOOTSTRAPS[name],
    }
    slots, budget = setting["slots"], setting["budget"]
    if VERSION < (1, 5) and (setting["decodes_first"] or setting["secret"] == "SPARSE_ENCAPSULATED"):
        pytest.skip("1.4 has CoeffToSlot first alone, and its wheel no encapsulated secrets")
    secret_type = getattr(lib.SecretKeyDist, setting["secret"])
    parameters = lib.CCParamsCKKSRNS()
    parameters.SetSecurityLevel(lib.HEStd_NotSet)
    parameters.SetRingDim(2048)
    parameters.SetSecretKeyDist(secret_type)
    parameters.SetScalingTechnique(getattr(lib.ScalingTechnique, setting["scaling"]))
    parameters.SetScalingModSize(setting["bits"])
    parameters.SetFirstModSize(60)
    parameters.SetBatchSize(slots)
    parameters.SetCKKSDataType(lib.CKKSDataType.COMPLEX if setting["complex"] else lib.CKKSDataType.REAL)
    depth = (4 if setting["decodes_first"] else 3) + openfhe_process.bootstrap_depth(lib, budget, secret_type)
    parameters.SetMultiplicativeDepth(depth)
    cc = lib.GenCryptoContext(parameters)
    for feature in (lib.PKE, lib.KEYSWITCH, lib.LEVELEDSHE, lib.ADVANCEDSHE, lib.FHE):
        cc.Enable(feature)
    order = {"BTSlotsEncoding": True} if setting["decodes_first"] else {}
    cc.EvalBootstrapSetup(budget, setting["steps"], slots, **order)
    keys = cc.KeyGen()
    cc.EvalMultKeyGen(keys.secretKey)
    cc.EvalBootstrapKeyGen(keys.secretKey, slots)
    tag = keys.secretKey.GetKeyTag()

    session = openfhe.Session(lib.Serialize(cc, lib.BINARY), device="cpu")
    session.load_keys(
        relinearization=lib.SerializeEvalMultKeyString(lib.BINARY, tag),
        galois=lib.SerializeEvalAutomorphismKeyString(lib.BINARY, tag),
    )
    random = np.random.default_rng(1)
    clear = random.uniform(-1, 1, slots) + (1j * random.uniform(-1, 1, slots) if setting["complex"] else 0)
    # SlotToCoeff takes the levels of its budget, and OpenFHE one for the correction.
    left = budget[1] + 1 if setting["decodes_first"] else 1
    fresh = cc.MakeCKKSPackedPlaintext(clear.tolist(), 1, depth - left, None, slots)
    low = cc.Encrypt(keys.publicKey, fresh)
    theirs = cc.EvalBootstrap(low)
    ours = session.load_ciphertext(lib.Serialize(low, lib.BINARY)).bootstrap()
    assert session.evaluator.bootstraps == 1
    assert session.bootstrap_input_levels == {slots: budget[1] if setting["decodes_first"] else 1}
    stated = session.metadata(session.load_ciphertext(lib.Serialize(theirs, lib.BINARY)))
    found = session.metadata(ours)
    scales = found.pop("scaling_factor"), stated.pop("scaling_factor")
    assert found == stated
    assert abs(scales[0] / scales[1] - 1) < 1e-14

    def errors(ciphertext, expected):
        plaintext = cc.Decrypt(keys.secretKey, ciphertext)
        plaintext.SetLength(slots)
        found = plaintext.GetCKKSPackedValue() if setting["complex"] else plaintext.GetRealPackedValue()
        return np.abs(np.array(found) - expected)

    def rms(found):
        return float(np.sqrt(np.mean(found**2)))

    # Errors are random: of two samples of one deviation one is larger by that with probability 10^-6. (No
    # more than 32 each, for those of many slots depend on each other.)
    count = min(slots, 32)
    most = float(np.sqrt(stats.f.isf(1e-6, count, count)))
    dumped = session.dump_ciphertext(ours)
    assert isinstance(dumped, bytes)
    back = lib.DeserializeCiphertextString(dumped, lib.BINARY)
    own, other = errors(back, clear), errors(theirs, clear)
    print(f"{name}: root mean square: OpenFHE 2^{np.log2(rms(other)):.1f}, Hemera 2^{np.log2(rms(own)):.1f}")
    # No sine is straighter than 2^-25 at 1 (docs/clients.md).
    assert rms(own) < max(most * rms(other), 2.0**-25)
    if "precision" in setting:
        assert rms(own) < min(rms(other), 2.0 ** -setting["precision"])
    bound = 8 * float(own.max() + other.max()) + 2.0**-18  # of what is computed from both
    if name in ("dense", "decode-dense", "decode-manual"):
        # Twice, with the bits that one iteration has.
        theirs_twice = cc.EvalBootstrap(low, 2, 18)
        x = session.load_ciphertext(lib.Serialize(low, lib.BINARY))
        ours_twice = session.bootstrap(x, iterations=2, precision=18)
        loaded = session.load_ciphertext(lib.Serialize(theirs_twice, lib.BINARY))
        for key in ("level", "noise_scale_degree", "slots"):
            assert session.metadata(ours_twice)[key] == session.metadata(loaded)[key]
        dumped = session.dump_ciphertext(ours_twice)
        assert isinstance(dumped, bytes)
        again = lib.DeserializeCiphertextString(dumped, lib.BINARY)
        assert rms(errors(again, clear)) < max(max(4, most) * rms(errors(theirs_twice, clear)), 2.0**-30)
    # The client goes on.
    waits = setting["scaling"] == "FIXEDMANUAL" and back.GetNoiseScaleDeg() == 2
    further = cc.Rescale(back) if waits else back
    assert errors(cc.EvalMult(further, further), clear * clear).max() < bound
    assert errors(cc.EvalAdd(back, theirs), 2 * clear).max() < bound


def test_the_benchmark_of_a_request(tmp_path, capsys, monkeypatch):
    """It runs beside OpenFHE and from the files that one left, and its answers are right."""
    monkeypatch.setitem(sys.modules, "openfhe", lib)  # that of the other process, where there is none here
    command = ["bench", "requests", "--library", "openfhe", "--n", "8192"]
    timed = [*command, "--seconds", "0.05", "--device", "cpu", "--json", "-"]
    assert main([*command, "--prepare", str(tmp_path)]) == 0
    for beside, arguments in ((True, timed), (False, [*timed, "--files", str(tmp_path)])):
        assert main(arguments) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert {row["scheme"] for row in rows} == {"bfv", "bgv", "ckks"}
        assert all(row["checked"] and (row["library_ms"] is not None) == beside for row in rows)
