"""`hemera.compat.orion` as programs import it: with a stand-in for Orion, and with Orion where installed."""

import ast
import importlib
import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
import hemera.compat.orion as orion

CONFIGURATION = {
    "ckks_params": {
        "LogN": 12,
        "LogQ": [55, 40, 40, 40, 40, 40, 40],
        "LogP": [61, 61],
        "LogScale": 40,
        "H": 192,
        "RingType": "standard",
    },
    "orion": {"margin": 2, "embedding_method": "hybrid", "backend": "lattigo", "debug": False},
}


class StandIn:
    """Parameters as Orion reads them of a configuration."""

    def __init__(self, config):
        self.params_json = config
        self.ckks = config["ckks_params"]

    def get_logn(self):
        return int(self.ckks["LogN"])

    def get_logq(self):
        return list(self.ckks["LogQ"])

    def get_logp(self):
        return list(self.ckks["LogP"])

    def get_logscale(self):
        return int(self.ckks["LogScale"])

    def get_ringtype(self):
        return self.ckks["RingType"].lower()


class StandInScheme:
    """The part of Orion's class that the backend meets."""

    def init_scheme(self, config):
        self.backend = self.setup_backend(StandIn(config))
        return self

    def setup_backend(self, params):
        raise AssertionError(f"Lattigo's backend for {params}")

    def compile(self, net):
        return f"compiled {net}"


@pytest.fixture
def stand_in(monkeypatch):
    """Packages named orion and torch, with what is used of them. The module's own scheme is made anew."""

    def disabled(call):
        def untraced(*arguments):
            return call(*arguments)

        return untraced

    core = types.ModuleType("orion.core.orion")
    vars(core)["Scheme"] = StandInScheme
    package = types.ModuleType("orion")
    vars(package).update(nn="Orion's layers", __version__="1.0.2")
    compiler = types.ModuleType("torch.compiler")
    vars(compiler)["disable"] = disabled
    for name, module in {
        "orion": package,
        "orion.core": types.ModuleType("orion.core"),
        "orion.core.orion": core,
        "torch": types.ModuleType("torch"),
        "torch.compiler": compiler,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    orion._shared.cache_clear()


@pytest.mark.usefixtures("stand_in")
def test_the_functions_are_those_of_one_scheme():
    try:
        scheme = orion.init_scheme(CONFIGURATION, device="cpu", security=None)
        assert scheme is orion.scheme
        assert isinstance(scheme.backend, orion.Backend)
        assert orion.compile("net") == "compiled net"
        assert (orion.nn, orion.__version__) == ("Orion's layers", "1.0.2")
        with pytest.raises(AttributeError, match="no attribute '__path_of_nothing__'"):
            _ = orion.__path_of_nothing__
        with pytest.raises(AttributeError):
            _ = orion.nothing
        other = orion.make_scheme(device="cpu", security=None).init_scheme(CONFIGURATION)
        assert other is not scheme
        assert other.backend is not scheme.backend
    finally:
        orion._shared.cache_clear()


@pytest.mark.usefixtures("stand_in")
def test_calls_are_not_traced_but_deletions_are():
    """PyTorch would trace calls inside of a compiled layer. Deletions come when Python ends, too."""
    backend = orion.make_scheme(device="cpu", security=None).init_scheme(CONFIGURATION).backend
    for name in dir(orion.Backend):
        if name[0].isupper():
            assert (name in vars(backend)) is not name.startswith("Delete")


@pytest.mark.usefixtures("stand_in")
def test_security_and_bootstraps_follow_from_the_configuration():
    with pytest.raises(hm.errors.SecurityError):
        orion.make_scheme(device="cpu").init_scheme(CONFIGURATION)
    plain = orion.Backend.of(StandIn(CONFIGURATION), device="cpu", security=None)
    assert plain.context.params.levels == 7
    boot = {**CONFIGURATION, "boot_params": {"LogP": [61, 61]}}
    refreshing = orion.Backend.of(StandIn(boot), device="cpu", security=None)
    assert refreshing.context.params.levels > 7
    assert len(refreshing.GetModuliChain()) == 7


def test_without_orion(monkeypatch):
    for name in ("orion", "orion.core.orion"):
        monkeypatch.setitem(sys.modules, name, None)
    orion._shared.cache_clear()
    with pytest.raises(ImportError, match="pip install orion-fhe"):
        orion.init_scheme(CONFIGURATION)
    with pytest.raises(ImportError, match="pip install orion-fhe"):
        _ = orion.models


# --- Orion itself. ---

needs_orion = pytest.mark.skipif(
    importlib.util.find_spec("orion") is None or importlib.util.find_spec("torch") is None,
    reason="Orion and PyTorch are no requirements: pip install orion-fhe",
)


@needs_orion
def test_every_call_of_orions_bindings_has_an_answer():
    found = importlib.util.find_spec("orion.backend.lattigo.bindings")
    assert found is not None
    assert found.origin is not None
    names = {
        node.targets[0].attr
        for node in ast.walk(ast.parse(Path(found.origin).read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "LattigoFunction"
    }
    assert len(names) > 60
    # The constructor is what NewScheme is.
    assert {name for name in names if not hasattr(orion.Backend, name)} == {"NewScheme"}


def network(activation):
    """64 values, two layers with activations between them."""
    on = importlib.import_module("orion.nn")

    class Network(on.Module):
        def __init__(self):
            super().__init__()
            self.flatten = on.Flatten()
            self.first = on.Linear(64, 32)
            self.norm = on.BatchNorm1d(32)
            self.second = on.Linear(32, 10)
            self.act = {
                "square": on.Quad,
                "silu": lambda: on.SiLU(degree=15),
                "relu": lambda: on.ReLU(degrees=[7, 7], logalpha=4),
            }[activation]()

        def forward(self, x):
            return self.second(self.act(self.norm(self.first(self.flatten(x)))))

    return Network()


@needs_orion
@pytest.mark.parametrize(
    ("activation", "bootstraps"), [("square", False), ("silu", False), ("silu", True), ("relu", True)]
)
@pytest.mark.parametrize("fused", [True, False])
def test_networks_of_orion(activation, bootstraps, fused):
    """Orion fits, packs and places; its layers compute on ciphertexts. PyTorch judges."""
    torch = importlib.import_module("torch")
    torch.manual_seed(1)
    config = {**CONFIGURATION, "orion": {**CONFIGURATION["orion"], "fuse_modules": fused}}
    if bootstraps:
        levels = 7 if activation == "silu" else 10
        config["ckks_params"] = {**CONFIGURATION["ckks_params"], "LogQ": [55] + [40] * levels}
        config["boot_params"] = {"LogP": [61, 61]}
    elif activation == "silu":
        config["ckks_params"] = {**CONFIGURATION["ckks_params"], "LogQ": [55] + [40] * 9}
    orion.init_scheme(config, device="cpu", security=None)
    net, images = network(activation), torch.randn(16, 1, 8, 8)
    net.eval()
    # Orion takes the shape of one image from a loader.
    dataset = torch.utils.data.TensorDataset(images, torch.zeros(16))
    orion.fit(net, torch.utils.data.DataLoader(dataset, batch_size=1))
    level = orion.compile(net)
    clear = net(images[:1]).detach().numpy()
    net.he()
    image = orion.encrypt(orion.encode(images[:1], level))
    # Layers change their inputs where they stand, so each run has its own.
    found = net(image).decrypt().decode().numpy()
    tolerance = {"square": 1e-5, "silu": 0.02, "relu": 0.1}[activation]
    np.testing.assert_allclose(found, clear, atol=tolerance)


@needs_orion
def test_keys_and_diagonals_in_orions_files(tmp_path, monkeypatch):
    """A network that Orion saved, with its keys and diagonals, runs after it is loaded again."""
    torch = importlib.import_module("torch")
    monkeypatch.chdir(tmp_path)
    images = torch.randn(4, 1, 8, 8)
    for mode in ("save", "load"):
        torch.manual_seed(1)
        files = {"io_mode": mode, "diags_path": "diagonals.h5", "keys_path": "keys.h5"}
        config = {**CONFIGURATION, "orion": {**CONFIGURATION["orion"], **files}}
        orion.init_scheme(config, device="cpu", security=None)
        net = network("square")
        net.eval()
        orion.fit(net, images[:1])
        level = orion.compile(net)
        clear = net(images[:1]).detach().numpy()
        net.he()
        found = net(orion.encrypt(orion.encode(images[:1], level))).decrypt().decode().numpy()
        np.testing.assert_allclose(found, clear, atol=1e-5)
