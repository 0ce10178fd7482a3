"""SEAL as the client, as the tenseal wheel ships it: its files in, results out, keys of either side."""

import json

import numpy as np
import pytest

from hemera.cli import main
from hemera.interop import seal

sealapi = pytest.importorskip("tenseal.sealapi", reason="tenseal has no wheel for this Python")

# tenseal names BFV and CKKS only; SEAL 4 numbers its schemes so.
SCHEMES = {"bfv": 1, "ckks": 2, "bgv": 3}
SCALE = 2.0**40
BITS = {4096: [40, 29, 40], 8192: [50, 40, 40, 50]}
PLAIN_MODULUS = 65537
STEPS = [1, -2, 7]


class Client:
    """A party that has SEAL alone. Objects travel as files, which is all that its Python interface has."""

    def __init__(self, scheme, degree, folder):
        self.scheme, self.degree, self.folder = scheme, degree, folder
        self.ckks = scheme == "ckks"
        self.scale = SCALE if degree > 4096 else 2.0**29
        self.parms = sealapi.EncryptionParameters(SCHEMES[scheme])
        self.parms.set_poly_modulus_degree(degree)
        if self.ckks:
            self.parms.set_coeff_modulus(sealapi.CoeffModulus.Create(degree, BITS[degree]))
        else:
            level = sealapi.SEC_LEVEL_TYPE.TC128
            self.parms.set_coeff_modulus(sealapi.CoeffModulus.BFVDefault(degree, level))
            self.parms.set_plain_modulus(PLAIN_MODULUS)
        self.context = sealapi.SEALContext(self.parms, True, sealapi.SEC_LEVEL_TYPE.TC128)
        assert self.context.parameters_set()
        self.encoder = (sealapi.CKKSEncoder if self.ckks else sealapi.BatchEncoder)(self.context)
        self.evaluator = sealapi.Evaluator(self.context)
        self.make_keys()

    def make_keys(self):
        self.generator = sealapi.KeyGenerator(self.context)
        self.secret = self.generator.secret_key()
        self.public, self.relin, self.galois = sealapi.PublicKey(), sealapi.RelinKeys(), sealapi.GaloisKeys()
        self.generator.create_public_key(self.public)
        self.generator.create_relin_keys(self.relin)
        elements = [*(pow(3, step, 2 * self.degree) for step in STEPS), 2 * self.degree - 1]
        self.generator.create_galois_keys(elements, self.galois)
        self.use_keys()

    def use_keys(self):
        self.encryptor = sealapi.Encryptor(self.context, self.public, self.secret)
        self.decryptor = sealapi.Decryptor(self.context, self.secret)

    def saved(self, thing):
        path = self.folder / "object"
        thing.save(str(path))
        return path.read_bytes()

    def loaded(self, kind, data):
        path = self.folder / "object"
        path.write_bytes(data)
        thing = getattr(sealapi, kind)()
        thing.load(self.context, str(path))
        return thing

    def plain(self, values):
        plaintext = sealapi.Plaintext()
        if self.ckks:
            self.encoder.encode(values.tolist(), self.scale, plaintext)
        else:
            self.encoder.encode((values % PLAIN_MODULUS).tolist(), plaintext)
        return plaintext

    def encrypted(self, values):
        ciphertext = sealapi.Ciphertext()
        self.encryptor.encrypt(self.plain(values), ciphertext)
        return ciphertext

    def decrypted(self, ciphertext):
        plaintext = sealapi.Plaintext()
        self.decryptor.decrypt(ciphertext, plaintext)
        if self.ckks:
            return np.array(self.encoder.decode_complex(plaintext))
        return np.array(self.encoder.decode_uint64(plaintext))

    def decoded(self, session, ciphertext, key):
        """What Hemera decrypts."""
        values = session.context.decrypt(ciphertext, key, dtype=complex if self.ckks else None)
        return values if self.ckks else values % PLAIN_MODULUS

    def session(self, **options):
        return seal.Session(self.saved(self.parms), scale=self.scale if self.ckks else None, **options)

    def session_with_keys(self):
        session = self.session()
        session.load_keys(
            public_key=self.saved(self.public),
            relinearization=self.saved(self.relin),
            galois=self.saved(self.galois),
        )
        return session

    def values(self, seed):
        random = np.random.default_rng(seed)
        if self.ckks:
            return random.uniform(-1, 1, self.degree // 2) + 1j * random.uniform(-1, 1, self.degree // 2)
        return random.integers(0, PLAIN_MODULUS, self.degree)

    def rolled(self, values, steps):
        """Rotated to the left, in both rows."""
        if self.ckks:
            return np.roll(values, -steps)
        return np.roll(values.reshape(2, -1), -steps, axis=1).ravel()

    def swapped(self, values):
        return values.conj() if self.ckks else values.reshape(2, -1)[::-1].ravel()

    def expect(self, found, wanted, tolerance=2e-3):
        if self.ckks:
            assert np.abs(found - wanted).max() < tolerance
        else:
            assert np.array_equal(found, wanted % PLAIN_MODULUS)


@pytest.fixture(
    scope="module", params=[(s, n) for s in SCHEMES for n in BITS], ids=lambda p: f"{p[0]}-{p[1]}"
)
def client(request, tmp_path_factory):
    return Client(*request.param, tmp_path_factory.mktemp("seal"))


def one(data):
    assert isinstance(data, bytes)
    return data


def same_metadata(session, result, theirs):
    """The result has the level, scale and correction factor that SEAL's own result has."""
    ours = session.metadata(result)
    assert ours["size"] == theirs.size()
    assert ours["is_ntt_form"] == theirs.is_ntt_form()
    assert ours["coeff_modulus_count"] == theirs.coeff_modulus_size()
    assert ours["scale"] == pytest.approx(theirs.scale, rel=1e-14)
    words = np.frombuffer(bytes.fromhex(ours["parms_id"]), "<u8")
    assert words.tolist() == list(theirs.parms_id())


def test_each_operation_is_seals(client):
    """What SEAL computes from the same ciphertexts has the same metadata and values."""
    session = client.session_with_keys()
    a, b, m = (client.values(seed) for seed in range(3))
    x, y = client.encrypted(a), client.encrypted(b)
    plain = client.plain(m)
    p = session.load_ciphertext(client.saved(x))
    q = session.load_ciphertext(client.saved(y))
    weights = session.load_plaintext(client.saved(plain))
    lazy = session.context.bind(session.keys, relinearization="lazy")
    theirs, ours, wanted = {}, {}, {}

    def run(name, operation, *operands):
        theirs[name] = sealapi.Ciphertext()
        getattr(client.evaluator, operation)(*operands, theirs[name])
        return theirs[name]

    run("add", "add", x, y)
    ours["add"], wanted["add"] = p + q, a + b
    run("sub", "sub", x, y)
    ours["sub"], wanted["sub"] = p - q, a - b
    run("negate", "negate", x)
    ours["negate"], wanted["negate"] = -p, -a
    run("add_plain", "add_plain", x, plain)
    ours["add_plain"], wanted["add_plain"] = p + weights, a + m
    run("multiply_plain", "multiply_plain", x, plain)
    ours["multiply_plain"], wanted["multiply_plain"] = p * weights, a * m
    product = run("multiply", "multiply", x, y)
    ours["multiply"], wanted["multiply"] = lazy.multiply(p, q), a * b
    relinearized = run("relinearize", "relinearize", product, client.relin)
    ours["relinearize"], wanted["relinearize"] = p * q, a * b
    rotate = "rotate_vector" if client.ckks else "rotate_rows"
    for step in STEPS:
        run(f"rotate {step}", rotate, x, step, client.galois)
        ours[f"rotate {step}"], wanted[f"rotate {step}"] = p.rotate(step), client.rolled(a, step)
    run("swap", "complex_conjugate" if client.ckks else "rotate_columns", x, client.galois)
    ours["swap"] = p.conjugate() if client.ckks else p.swap_rows()
    wanted["swap"] = client.swapped(a)
    lower = run("mod_switch", "mod_switch_to_next", x)
    ours["mod_switch"] = session.evaluator.at_level(p, p.level - 1)
    wanted["mod_switch"] = a
    if client.ckks:
        run("rescale", "rescale_to_next", relinearized)
        ours["rescale"], wanted["rescale"] = (p * q).rescale(), a * b
    if client.degree > 4096:
        # A sum of ciphertexts whose correction factors differ, which SEAL balances.
        squared = run("lower square", "square", lower)
        squared = run("lower square relinearized", "relinearize", squared, client.relin)
        low = ours["mod_switch"]
        ours["lower square relinearized"] = low * low
        wanted["lower square relinearized"] = a * a
        del theirs["lower square"]
        if not client.ckks:
            run("unequal sum", "add", squared, lower)
            ours["unequal sum"], wanted["unequal sum"] = low * low + low, a * a + a
    assert ours.keys() == theirs.keys()
    for name, result in ours.items():
        same_metadata(session, result, theirs[name])
        back = client.loaded("Ciphertext", one(session.dump_ciphertext(result)))
        client.expect(client.decrypted(back), wanted[name])
        client.expect(client.decrypted(theirs[name]), wanted[name])
        if client.scheme == "bgv":
            # The factor is in the file alone: SEAL's own file of its result has it.
            again = session.load_ciphertext(client.saved(theirs[name]))
            assert session.metadata(again) == session.metadata(result), name


def test_rounds_of_mixed_operations(client):
    """Ciphertexts go to and fro: each side computes on what the other one made."""
    session = client.session_with_keys()
    a, b = client.values(3), client.values(4)
    x, y = client.encrypted(a), client.encrypted(b)
    rotate = client.evaluator.rotate_vector if client.ckks else client.evaluator.rotate_rows
    for _ in range(2 if client.degree > 4096 else 1):
        p, q = (session.load_ciphertext(client.saved(part)) for part in (x, y))
        # With CKKS the scales of the two differ after the first round, and SEAL would not add them.
        total = p.rotate(1) - p if client.ckks else p.rotate(1) + q - p
        product = p * q
        if client.ckks:
            product = product.rescale()
        elif client.degree > 4096:
            product = product.mod_switch()
        total = total.at_level(product.level)
        a, b = client.rolled(a, 1) - a + (0 if client.ckks else b), a * b
        x = client.loaded("Ciphertext", one(session.dump_ciphertext(total, compression="none")))
        y = client.loaded("Ciphertext", one(session.dump_ciphertext(product)))
        client.expect(client.decrypted(x), a)
        client.expect(client.decrypted(y), b)
        # The client goes on by itself.
        turned = sealapi.Ciphertext()
        rotate(y, -2, client.galois, turned)
        y, b = turned, client.rolled(b, -2)
    client.expect(client.decrypted(y), b)


def test_keys_and_ciphertexts_of_hemera(client):
    """SEAL loads keys that Hemera made, encrypts, decrypts and computes with them."""
    session = client.session()
    ctx = session.context
    swap = {"conjugation": True} if client.ckks else {"swap_rows": True}
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk, rotations=STEPS, **swap)
    files = session.dump_keys(keys)
    assert set(files) == {"public_key", "relinearization", "galois"}
    own = Client.__new__(Client)
    own.__dict__.update(client.__dict__)
    own.secret = own.loaded("SecretKey", session.dump_secret_key(sk))
    own.public = own.loaded("PublicKey", files["public_key"])
    own.relin = own.loaded("RelinKeys", files["relinearization"])
    own.galois = own.loaded("GaloisKeys", files["galois"])
    own.use_keys()

    a, b = client.values(5), client.values(6)
    evaluator = ctx.bind(keys)
    x = own.loaded("Ciphertext", one(session.dump_ciphertext(evaluator.encrypt(a))))
    y = own.encrypted(b)
    product, result = sealapi.Ciphertext(), sealapi.Ciphertext()
    own.evaluator.multiply(x, y, product)
    own.evaluator.relinearize_inplace(product, own.relin)
    rotate = own.evaluator.rotate_vector if own.ckks else own.evaluator.rotate_rows
    rotate(product, 7, own.galois, result)
    own.expect(own.decrypted(result), own.rolled(a * b, 7))
    # And Hemera decrypts what SEAL made.
    values = own.decoded(session, session.load_ciphertext(own.saved(result)), sk)
    own.expect(values, own.rolled(a * b, 7))

    # The same keys load again.
    other = client.session()
    loaded = other.load_keys(**files)
    assert loaded.has_public_key
    assert loaded.has_relinearization
    assert loaded.galois_elements == keys.galois_elements


def test_secret_key_and_public_key_of_seal(client):
    session = client.session_with_keys()
    sk = session.load_secret_key(client.saved(client.secret))
    a = client.values(7)
    values = client.decoded(session, session.load_ciphertext(client.saved(client.encrypted(a))), sk)
    client.expect(values, a)
    data = one(session.dump_ciphertext(session.evaluator.encrypt(a)))
    client.expect(client.decrypted(client.loaded("Ciphertext", data)), a)
    again = client.loaded("SecretKey", session.dump_secret_key(sk, compression="none"))
    assert client.saved(again) == client.saved(client.secret)


def test_batches(client):
    session = client.session_with_keys()
    rows = [client.values(seed) for seed in (9, 10, 11)]
    batch = session.load_ciphertext([client.saved(client.encrypted(row)) for row in rows])
    assert batch.shape == (3,)
    files = session.dump_ciphertext(batch.rotate(-2) + batch)
    assert isinstance(files, list)
    for row, file in zip(rows, files, strict=True):
        client.expect(client.decrypted(client.loaded("Ciphertext", file)), row + client.rolled(row, -2))


def test_the_benchmark_of_a_request(capsys):
    """It runs, and its answers are right."""
    command = ["bench", "requests", "--n", "8192", "--seconds", "0.02", "--device", "cpu", "--json", "-"]
    assert main(command) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["scheme"] for row in rows} == set(SCHEMES)
    assert all(row["checked"] and row["hemera_ms"] > 0 and row["library_ms"] > 0 for row in rows)


def test_the_benchmark_of_a_request_from_files(tmp_path, capsys):
    """What one machine leaves is enough for another without the library."""
    folder, command = str(tmp_path), ["bench", "requests", "--n", "8192"]
    assert main([*command, "--prepare", folder]) == 0
    timed = [*command, "--files", folder, "--seconds", "0.05", "--device", "cpu", "--json", "-"]
    assert main(timed) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["scheme"] for row in rows} == set(SCHEMES)
    assert all(row["checked"] and row["hemera_ms"] > 0 and row["library_ms"] is None for row in rows)
    assert main([*timed, "--library", "openfhe"]) != 0
    assert "--prepare" in capsys.readouterr().err
