"""Secret keys in custody: under a passphrase, or by a keeper that speaks the transit protocol of OpenBao and
Vault. hashlib and the package cryptography judge."""

import base64
import hashlib
import json
import subprocess
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import hemera as hm
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.objects import sealed as module

from .beside import answering

pytest.importorskip("cryptography", reason="cryptography is an optional package (extra sealing)")

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .refusals import raises, refuse

PASSPHRASE = "schönes Wetter heute"


@pytest.fixture(scope="module")
def ctx():
    return hm.Context(hm.bgv.Parameters.for_circuit(depth=1, slots=4), device="cpu")


@pytest.fixture(scope="module")
def secret(ctx):
    return ctx.generate_secret_key()


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """16 KiB in place of 128 MiB; one test has those."""
    monkeypatch.setattr(module, "_COST", {"n": 1 << 7, "r": 1, "p": 1})


def header_of(data):
    begin = len(module.MAGIC) + 4
    return json.loads(data[begin : begin + int.from_bytes(data[begin - 4 : begin], "little")])


def with_header(data, change):
    """The file with another header, and all else as it is: what whoever has the file can write."""
    header, begin = header_of(data), len(module.MAGIC) + 4
    body = data[begin + int.from_bytes(data[begin - 4 : begin], "little") :]
    change(header)
    told = json.dumps(header).encode()
    return module.MAGIC + len(told).to_bytes(4, "little") + told + body


def test_a_passphrase_opens_what_it_sealed(ctx, secret, monkeypatch):
    monkeypatch.undo()
    data = secret.seal(PASSPHRASE)
    assert bytes(secret)[-64:] not in data
    again = hm.SecretKey.unseal(data, PASSPHRASE, ctx)
    assert ctx.decrypt(ctx.encrypt([1, 2, 3, 4], secret), again).tolist() == [1, 2, 3, 4]
    # The standards, without this package's code.
    cost = header_of(data)["scrypt"]
    assert (cost["n"], cost["r"], cost["p"]) == (1 << 17, 8, 1)
    key = hashlib.scrypt(
        PASSPHRASE.encode(),
        salt=base64.b64decode(cost["salt"]),
        n=1 << 17,
        r=8,
        p=1,
        maxmem=1 << 28,
        dklen=32,
    )
    begin = len(module.MAGIC) + 4 + int.from_bytes(data[len(module.MAGIC) :][:4], "little")
    assert AESGCM(key).decrypt(bytes(12), data[begin:], data[:begin]) == bytes(secret)


def test_two_files_of_one_key_have_nothing_in_common(secret):
    first, second = (secret.seal(PASSPHRASE) for _ in range(2))
    assert header_of(first)["scrypt"]["salt"] != header_of(second)["scrypt"]["salt"]
    assert first[-64:] != second[-64:]


def test_another_passphrase_and_each_changed_byte_are_refused(ctx, secret):
    data = secret.seal(PASSPHRASE)
    refuse((lambda: hm.SecretKey.unseal(data, PASSPHRASE + " ", ctx), FormatError, "does not open"))
    begin = len(module.MAGIC) + 4 + len(json.dumps(header_of(data)))
    for at in [*range(begin + 40), *range(len(data) - 20, len(data))]:
        damaged = bytearray(data)
        damaged[at] ^= 1
        raises((FormatError, MismatchError), "", hm.SecretKey.unseal, bytes(damaged), PASSPHRASE, ctx)
    for end in (0, 5, len(module.MAGIC) + 2, begin - 1, begin, len(data) - 1):
        with pytest.raises(FormatError):
            hm.SecretKey.unseal(data[:end], PASSPHRASE, ctx)


def test_a_cheaper_header_does_not_open_and_a_dear_one_takes_no_memory(ctx, secret):
    """Costs stand in the clear: the last taken, the first refused, and none that was changed."""
    data = secret.seal(PASSPHRASE)

    def costs(**changed):
        return with_header(data, lambda header: header["scrypt"].update(changed))

    refuse((lambda: hm.SecretKey.unseal(costs(n=2), PASSPHRASE, ctx), FormatError, "does not open"))
    with pytest.raises(FormatError, match="does not open"):  # with a spare field, all else as it was
        hm.SecretKey.unseal(costs(spare=1), PASSPHRASE, ctx)
    for bad in ({"n": 1 << 30}, {"n": 1 << 24}, {"p": 17}, {"n": 3}, {"n": 1}, {"r": 0}, {"n": "many"}):
        with pytest.raises(FormatError):
            hm.SecretKey.unseal(costs(**bad), PASSPHRASE, ctx)


def test_a_header_that_is_nested_too_deeply_is_refused(ctx):
    nested = b"[" * 200_000
    with pytest.raises(FormatError, match="no JSON"):
        hm.SecretKey.unseal(module.MAGIC + len(nested).to_bytes(4, "little") + nested, PASSPHRASE, ctx)


def test_a_keeper_wraps_the_key(ctx, secret):
    keeper = Fernet(Fernet.generate_key())
    data = secret.seal(keeper.encrypt)
    again = hm.SecretKey.unseal(data, keeper.decrypt, ctx)
    assert bytes(again) == bytes(secret)
    with pytest.raises(InvalidToken):  # the keeper's own error
        hm.SecretKey.unseal(data, Fernet(Fernet.generate_key()).decrypt, ctx)
    with pytest.raises(FormatError, match="has 31 bytes"):
        hm.SecretKey.unseal(data, lambda wrapped: keeper.decrypt(wrapped)[:31], ctx)
    refuse((lambda: hm.SecretKey.unseal(data, lambda _: bytes(32), ctx), FormatError, "does not open"))


def test_what_hides_nothing_is_refused(secret):
    for wrap in (lambda key: key, lambda key: b"wrapped:" + key, lambda _: None):
        raises(ParameterError, "bytes that hide the key", secret.seal, wrap)
    refuse((lambda: secret.seal(""), ParameterError, "empty passphrase"))


def test_the_other_way_of_opening_is_named(ctx, secret):
    keeper = Fernet(Fernet.generate_key())
    with pytest.raises(MismatchError, match="sealed under a key that a KMS or HSM keeps"):
        hm.SecretKey.unseal(secret.seal(keeper.encrypt), PASSPHRASE, ctx)
    with pytest.raises(MismatchError, match="sealed under a passphrase"):
        hm.SecretKey.unseal(secret.seal(PASSPHRASE), keeper.decrypt, ctx)
    refuse((lambda: hm.SecretKey.unseal(bytes(secret), PASSPHRASE, ctx), FormatError, "no sealed secret key"))
    other = hm.Context(hm.bgv.Parameters.for_circuit(depth=2, slots=4), device="cpu")
    refuse((lambda: hm.SecretKey.unseal(secret.seal(PASSPHRASE), PASSPHRASE, other), MismatchError, None))


@pytest.fixture
def transit():
    """The address of a keeper with a key "hemera", by the protocol of the transit engine."""
    key = Fernet(Fernet.generate_key())

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            granted = self.headers["X-Vault-Token"] == "token"
            if granted and self.path == "/v1/transit/encrypt/hemera":
                wrapped = key.encrypt(base64.b64decode(given["plaintext"])).decode()
                told = {"data": {"ciphertext": f"vault:v1:{wrapped}"}}
            elif granted and self.path == "/v1/transit/decrypt/hemera":
                plain = key.decrypt(given["ciphertext"].removeprefix("vault:v1:"))
                told = {"data": {"plaintext": base64.b64encode(plain).decode()}}
            else:
                self.send_error(403)
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, *_):
            pass

    with answering(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


def program_of_page(begin):
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    program = page.partition(f"```python\n{begin}")[2].partition("```")[0]
    return compile(begin + program, "docs/security.md", "exec")


def test_the_page_on_transit_engines(ctx, secret, transit):
    """The program of docs/security.md."""
    names = {"BAO": transit, "TOKEN": "token", "sk": secret, "ctx": ctx, "hm": hm}
    names |= {"base64": base64, "json": json, "urllib": urllib}
    exec(program_of_page("def ask("), names)
    assert bytes(names["again"]) == bytes(secret)
    names["TOKEN"] = "another"
    refuse((lambda: hm.SecretKey.unseal(names["data"], names["unwrap"], ctx), urllib.error.HTTPError, None))


SOFTHSM = Path("/usr/lib/softhsm/libsofthsm2.so")


@pytest.mark.skipif(not SOFTHSM.exists(), reason="SoftHSM is not installed (package softhsm2)")
def test_the_page_on_pkcs11(ctx, secret, tmp_path, monkeypatch):
    """The program of docs/security.md, by SoftHSM's token."""
    pkcs11 = pytest.importorskip("pkcs11", reason="python-pkcs11 is an optional package")
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm2.conf").write_text(f"directories.tokendir = {tmp_path}/tokens\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm2.conf"))
    tool = (
        *("softhsm2-util", "--init-token", "--free", "--label", "hemera", "--pin", "1234", "--so-pin"),
        "4321",
    )
    subprocess.run(tool, check=True, capture_output=True)
    names = {"MODULE": str(SOFTHSM), "PIN": "1234", "sk": secret, "ctx": ctx, "hm": hm}
    names["pkcs11"] = pkcs11
    with pkcs11.lib(str(SOFTHSM)).get_token(token_label="hemera").open(rw=True, user_pin="1234") as hsm:
        kept = hsm.generate_key(pkcs11.KeyType.AES, 256, label="custody", store=True)
        assert kept[pkcs11.Attribute.NEVER_EXTRACTABLE]
    exec(program_of_page("def session("), names)
    assert bytes(names["again"]) == bytes(secret)
    names["PIN"] = "9999"
    refuse((lambda: hm.SecretKey.unseal(names["data"], names["unwrap"], ctx), pkcs11.PinIncorrect, None))
    names["PIN"] = "1234"
    for at in range(16):  # of the first block, by which CBC changes the key's bits
        changed = with_header(names["data"], lambda header, at=at: flip_wrapped(header, at))
        raises(FormatError, "does not open", hm.SecretKey.unseal, changed, names["unwrap"], ctx)


def flip_wrapped(header, at):
    wrapped = bytearray(base64.b64decode(header["wrapped"]))
    wrapped[at] ^= 1
    header["wrapped"] = base64.b64encode(wrapped).decode()
