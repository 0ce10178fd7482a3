"""The entry for the official digits of MNIST: its stages, beside NumPy."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hemera.serving import Interface, PreparedModel

ENTRY = Path(__file__).parents[3] / "bench" / "official" / "ml-inference" / "submission"


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """A copy, with the network compiled."""
    copy = tmp_path_factory.mktemp("entry") / "submission"
    shutil.copytree(ENTRY, copy)
    return copy


def in_the_clear(images):
    """The scores of images of 784 pixels, from the file of weights."""
    with np.load(ENTRY / "weights.npz") as file:
        first, first_bias, second, second_bias = (
            file[name].astype(float) for name in ("first", "first_bias", "second", "second_bias")
        )
        kept = file["kept"]
    return (images[:, kept] @ first + first_bias) ** 2 @ second + second_bias


def some_images(count):
    """Images of the training set, with noise."""
    with np.load(ENTRY / "weights.npz") as file:
        own, kept = file["calibration"] / 255, file["kept"]
    random = np.random.default_rng(count)
    images = random.uniform(0, 1, (count, 784))  # pixels that the network does not take are anything
    images[:, kept] = own[random.integers(0, len(own), count)] + random.normal(0, 0.1, (count, len(kept)))
    return np.asarray(np.round(images.clip(0, 1), 6))


# An image; 2,048 in as many ciphertexts as pixels, with places left, by matrices of 8 bits. On a GPU models
# run before a request, and that of an image is captured: as here, where the CPU says that it captures.
@pytest.mark.parametrize(
    ("size", "name", "count", "error", "captures"),
    [
        (0, "single", 1, 1e-4, False),
        (0, "single", 1, 1e-4, True),
        (1, "small", 6, 1.0, False),
        (2, "medium", 5, 1.0, True),
    ],
)
def test_stages(entry, size, name, count, error, captures, tmp_path, run_stage, monkeypatch):
    monkeypatch.setattr(PreparedModel, "captures", captures)
    if not (entry / "build" / "many.json").exists():
        run_stage(entry, "compile_network")
    images = some_images(count)
    data = tmp_path / "datasets" / name / "intermediate"
    data.mkdir(parents=True)
    np.savetxt(data / "test_pixels.txt", images, fmt="%.6f")
    run_stage(entry, "client_key_generation", str(size))
    run_stage(entry, "server_preprocess_model")
    for stage in ("client_preprocess_input", "client_encode_encrypt_input", "server_encrypted_compute"):
        run_stage(entry, stage, str(size))
    io = tmp_path / "io" / name
    keys = sum(path.stat().st_size for path in (io / "public_keys").iterdir())
    assert 1.5e7 < keys < 1.8e7 if name == "single" else keys < 2e5  # matrices of integers rotate nothing
    # The next stages have the number of images alone, and, of the last instance, twice the same scores.
    whole = count
    if name == "medium":
        whole = 2048 + count
        shutil.copy(
            io / "ciphertexts_download" / "scores0000.bin", io / "ciphertexts_download" / "scores0001.bin"
        )
    np.save(io / "intermediate" / "images.npy", np.zeros((whole, 784)))
    for stage in ("client_decrypt_decode", "client_postprocess"):
        run_stage(entry, stage, str(size))
    expected = in_the_clear(images)
    found = np.load(io / "intermediate" / "scores.npy")
    assert found.shape == (whole, 10)
    digits = np.loadtxt(io / "encrypted_model_predictions.txt", int, ndmin=1)
    for scores, best in ((found[:count], digits[:count]), (found[-count:], digits[-count:])):
        assert np.abs(scores - expected).max() < error
        assert best.tolist() == expected.argmax(1).tolist()
    assert not list((io / "public_keys").glob("*secret*"))


def test_clients_get_no_weights(entry, run_stage):
    if not (entry / "build" / "many.json").exists():
        run_stage(entry, "compile_network")
    for name in ("one", "many"):
        assert (entry / "build" / f"{name}.json").stat().st_size < 3000
        assert (entry / "build" / f"{name}.hemera-model").stat().st_size > 80_000
    many = Interface.from_dict(json.loads((entry / "build" / "many.json").read_text()))
    assert (many.params.degree, len(many.params.primes[-1]), many.depth) == (4096, 2, 1)
    assert many.params.security == ">=128"


def test_pixels_are_those_that_move_hidden_units(load_program):
    train = load_program(ENTRY, "train")
    images, weights = np.ones((3, 784)), np.ones((784, 2))
    images[:, :100] = 0  # dark
    weights[300:472] /= 1000
    images[1:, 700:] = 0.9
    kept = train["kept_pixels"](weights, images)
    assert kept.tolist() == [*range(100, 300), *range(472, 784)]


def test_gradients(load_program):
    """The gradients of training equal differences of the loss."""
    train = load_program(ENTRY, "train")
    random = np.random.default_rng(4)
    weights = [random.normal(0, 0.3, shape) for shape in ((784, 5), (5,), (5, 10), (10,))]
    images, labels = random.random((7, 784)) / 20, random.integers(0, 10, 7).astype(np.uint8)

    def loss():
        first, first_bias, second, second_bias = weights
        scores = (images @ first + first_bias) ** 2 @ second + second_bias
        return float(np.mean(np.log(np.exp(scores).sum(1)) - scores[np.arange(7), labels]))

    for part, gradient in zip(weights, train["_gradients"](weights, images, labels), strict=True):
        place = tuple(random.integers(0, extent) for extent in part.shape)
        part[place] += 1e-5
        above = loss()
        part[place] -= 2e-5
        assert (above - loss()) / 2e-5 == pytest.approx(gradient[place], rel=1e-4, abs=1e-9)
        part[place] += 1e-5
