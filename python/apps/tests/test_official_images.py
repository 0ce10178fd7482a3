"""The entry for the official images of CIFAR-10: its stages on a small network, beside NumPy."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hemera.errors import FileError, NoiseError
from hemera_apps.bench.official_images import Images

ENTRY = Path(__file__).parents[3] / "bench" / "official" / "ml-inference" / "cifar10"

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")


def convolved(x, weights, stride, padding):
    """As its definition has it: a sum over the places of the kernel."""
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    size = (x.shape[1] - weights.shape[2]) // stride + 1
    found = np.zeros((len(weights), size, size))
    for row, column in np.ndindex(weights.shape[2:]):
        places = x[:, row : row + stride * size : stride, column : column + stride * size : stride]
        found += np.tensordot(weights[:, :, row, column], places[:, :size, :size], 1)
    return found


def in_the_clear(parts, images):
    """The scores, from the file of weights."""
    scores = []
    for image in images:
        x = convolved(image - parts["mean"][:, None, None], parts["first"], 1, 1)
        for block in range(sum(name.startswith("inner") for name in parts)):
            h = (x + parts[f"moved{block}"][:, None, None]) ** 2 if f"moved{block}" in parts else x
            stride = 2 if f"short{block}" in parts else 1
            y = convolved(h, parts[f"inner{block}"], stride, 1) + parts[f"bias{block}"][:, None, None]
            x = convolved(h, parts[f"short{block}"], 2, 0) if stride == 2 else x
            x = x + convolved(y**2, parts[f"outer{block}"], 1, 1)
        last = (x + parts["moved"][:, None, None]) ** 2
        scores.append(last.mean((1, 2)) @ parts["last"] + parts["last_bias"])
    return np.stack(scores)


@pytest.fixture
def toy(tmp_path):
    """A copy of the entry with a small network, and six images: two in the second of its ciphertexts."""
    shutil.copytree(ENTRY, tmp_path / "submission", ignore=shutil.ignore_patterns("build", "__pycache__"))
    Images().make_data(tmp_path, "toy", np.random.default_rng(3))
    random = np.random.default_rng(4)
    pixels = tmp_path / "datasets" / "small" / "intermediate" / "test_pixels.txt"
    np.savetxt(pixels, random.random((6, 192)), fmt="%.6f")
    return tmp_path


def test_stages_and_wrong_results(toy, run_stage, monkeypatch, refuse):
    monkeypatch.setenv("HEMERA_REPEATS", "1")
    workload = Images()
    for stage, arguments in workload.stages("toy"):
        run_stage(toy / "submission", stage, *arguments)
    with np.load(toy / "submission" / "weights.npz") as file:
        parts = dict(file)
    images = np.loadtxt(toy / "datasets" / "small" / "intermediate" / "test_pixels.txt").reshape(6, 3, 8, 8)
    expected = in_the_clear(parts, images)
    io = toy / "io" / "small"
    found = np.load(io / "intermediate" / "scores.npy")
    assert found.shape == (6, 10)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    classes = io / "encrypted_model_predictions.txt"
    right = classes.read_text()
    assert right == "".join(f"{each}\n" for each in expected.argmax(1))
    assert len(list((io / "ciphertexts_upload").iterdir())) == 2
    for folder in workload.sent(toy, "toy").values():
        assert any(folder.iterdir())
        assert not list(folder.rglob("*secret*"))
    steps = json.loads(workload.steps(toy, "toy").read_text(encoding="utf-8"))
    assert 0 < steps["Repeated computation"] < steps["Total"]
    facts = workload.check(toy, "toy")
    assert facts["as_in_the_clear"] == 6
    error = np.abs(found - expected).max() / max(1, np.abs(expected).max())
    assert facts["bits"] == pytest.approx(-np.log2(error), abs=0.02)
    # Wrong ones end it.
    classes.write_text(right[2:])
    refuse((lambda: workload.check(toy, "toy"), NoiseError, "CIFAR-10: 5 labels came, of 6 images"))
    last = expected[5].argmin()
    classes.write_text(f"{right[:-2]}{last}\n")
    with pytest.raises(NoiseError, match="1 labels are not those of the network in the clear"):
        workload.check(toy, "toy")
    labels = toy / "datasets" / "small" / "intermediate" / "test_labels.txt"
    labels.write_text(f"{right[:-2]}{last}\n")
    classes.write_text(right)
    assert workload.check(toy, "toy")["right"] == 5


def test_one_image_and_clients_without_weights(toy, run_stage):
    """The single image has a program and keys of its own."""
    data = toy / "datasets"
    (data / "small").rename(data / "single")
    pixels = data / "single" / "intermediate" / "test_pixels.txt"
    pixels.write_text(pixels.read_text().splitlines()[2] + "\n")
    run_stage(toy / "submission", "compile_network", "--toy")
    build = toy / "submission" / "build"
    for name in ("one", "few"):
        described = json.loads((build / f"{name}.json").read_text())
        assert described["encoding"].get("samples", 1) == {"one": 1, "few": 4}[name]
        assert (
            (build / f"{name}.json").stat().st_size < 12_000 < (build / f"{name}.hemera-model").stat().st_size
        )
    for stage, arguments in Images().stages("single")[1:]:
        run_stage(toy / "submission", stage, *arguments)
    facts = Images().check(toy, "single")
    assert facts["as_in_the_clear"] == 1
    assert facts["bits"] > 15


def test_files_of_cifar10(tmp_path):
    """Rows of a label and the pixels of each channel, drawn without one twice."""
    (tmp_path / "submission").mkdir()
    random = np.random.default_rng(1)
    rows = random.integers(0, 256, (300, 3073)).astype(np.uint8)
    rows[:, 0] = np.arange(300) % 10
    rows.tofile(tmp_path / "test_batch.bin")
    Images(tmp_path).make_data(tmp_path, "small", np.random.default_rng(2))
    data = tmp_path / "datasets" / "small" / "intermediate"
    labels, pixels = np.loadtxt(data / "test_labels.txt", int), np.loadtxt(data / "test_pixels.txt")
    assert pixels.shape == (100, 3072)
    places = [int(np.flatnonzero((rows[:, 1:] == np.rint(each * 255)).all(1))[0]) for each in pixels]
    assert (len(set(places)), labels.tolist()) == (100, rows[places, 0].tolist())
    rows.tofile(tmp_path / "test_batch.bin")
    with (tmp_path / "test_batch.bin").open("ab") as file:
        file.write(b"1")
    with pytest.raises(FileError, match=r"test_batch\.bin has 921901 bytes, not a multiple of the 3073"):
        Images(tmp_path).make_data(tmp_path / "other", "small", np.random.default_rng(2))
    with pytest.raises(FileError, match=r"can not read .*missing.test_batch\.bin: No such file"):
        Images(tmp_path / "missing").make_data(tmp_path / "third", "small", np.random.default_rng(2))


@pytest.mark.parametrize("before", [True, False])
def test_folding(before, load_program, tmp_path):
    """A network in PyTorch, with its norms, gives the scores of its folded arrays, as the entry's network."""
    torch = pytest.importorskip("torch")
    trained = load_program(ENTRY, "training_network")
    torch.manual_seed(1)
    net = trained["TrainedNetwork"](2, 2, before=before).double()
    with torch.no_grad():
        for part in net.parameters():
            part.add_(0.1 * torch.randn_like(part))
        for square in net.squares():
            square.start()
        batches = torch.randn(3, 8, 3, 16, 16, dtype=torch.double)
        for batch in batches:
            net(batch)
        for square in net.squares():
            square.settle()
        images = torch.rand(3, 3, 16, 16, dtype=torch.double)
        mean, deviation = (
            torch.tensor(trained[name], dtype=torch.double)[:, None, None] for name in ("MEAN", "DEVIATION")
        )
        expected = net((images - mean) / deviation).numpy()
        parts = trained["folded"](net)
        scores, far = trained["folded_scores"](parts, images)
        first = torch.stack([net.first(batch) for batch in batches]).numpy()
    np.testing.assert_allclose(scores.numpy(), expected, rtol=1e-6)
    arrays = {name: part.numpy() for name, part in parts.items()} | {"mean": np.array(trained["MEAN"])}
    np.testing.assert_allclose(in_the_clear(arrays, images.numpy()), expected, rtol=1e-9)
    np.testing.assert_allclose(far[-1].numpy(), np.abs(expected).max(1), rtol=1e-6)
    assert len(far) == len(net.squares()) + 1
    square = net.squares()[0]
    if before:  # of the first convolution's values
        np.testing.assert_allclose(square.mean.numpy(), np.median(first.mean((1, 3, 4)), 0), atol=1e-6)
        np.testing.assert_allclose(square.variance.numpy(), np.median(first.var((1, 3, 4)), 0), rtol=1e-6)
    path = tmp_path / "weights.npz"
    np.savez(path, calibration=np.zeros((1, 3, 16, 16), np.uint8), **arrays)
    network = load_program(ENTRY, "network")["Network"](path)
    found = np.stack([network(image) for image in images.numpy()])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_trained_network(load_program):
    """On the training images that reach farthest: scores as the definition has them, and bounded."""
    network = load_program(ENTRY, "network")["Network"]()
    with np.load(ENTRY / "weights.npz") as file:
        parts = {name: file[name].astype(float) for name in file.files}
    assert network.calibration.shape == (64, 3, 32, 32)
    images = parts["calibration"][::16] / 255
    expected = in_the_clear(parts, images)
    np.testing.assert_allclose(np.stack([network(image) for image in images]), expected, rtol=1e-9)
    assert np.abs(expected).max() < 10
    assert (ENTRY / "weights.npz").stat().st_size < 1_000_000
