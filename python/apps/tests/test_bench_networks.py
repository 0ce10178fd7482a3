"""`hemera bench networks`: compiled networks next to themselves in the clear."""

import json

import numpy as np
import pytest

from hemera.arrays import conv
from hemera.cli import main
from hemera_apps import networks

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")


def row(tmp_path, *options):
    file = tmp_path / "networks.json"
    machine = ("--device", "cpu", "--threads", "2", "--seconds", "0.01")
    assert main(["bench", "networks", *machine, *options, "--json", str(file)]) == 0
    (found,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert isinstance(found, dict)
    return found


@pytest.mark.fact_of_the_cpu("no graphs")
def test_a_small_residual_network(tmp_path):
    found = row(tmp_path, "--small", "--activation", "square")
    assert found["bootstraps"] > 0
    assert found["slots"] == 4 * 8 * 8  # of the image: no copies, which bootstraps would pay
    assert found["bits"] > 7
    assert found["seconds"] > 0
    assert "graph_seconds" not in found
    assert found["key_bytes"] > found["file_bytes"] > 0


def test_images_in_one_ciphertext(tmp_path):
    found = row(tmp_path, "--small", "--activation", "square", "--samples", "2", "--images", "3")
    assert (found["samples"], found["images"]) == (2, 3)
    assert found["slots"] == 2 * 4 * 8 * 8
    assert found["bits"] > 7


def test_resnet_20_has_its_layers(monkeypatch):
    """Section 4.2: 6 n + 2 layers, of which one is the matrix at the end; 0.27 million weights with n = 3."""
    kernels = []

    def counted(x, weights, *others, **options):
        kernels.append(weights)
        return conv(x, weights, *others, **options)

    monkeypatch.setattr(networks, "conv", counted)
    assert networks.resnet(3)(np.zeros((3, 32, 32))).shape == (10,)
    assert sum(each.shape[-1] == 3 for each in kernels) == 19
    assert 0.26e6 < sum(each.size for each in kernels) < 0.28e6


def test_networks_are_the_same_each_time():
    image = np.random.default_rng(0).uniform(size=(1, 28, 28))
    np.testing.assert_array_equal(networks.lola()(image), networks.lola()(image))
    assert networks.lola()(image).shape == (10,)
