"""Arrays on GPUs, streams of other libraries, and objects that go from device to device."""

import functools
import gc
import sys
import threading
import types
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import hemera as hm
from hemera.inputs import device as device_arrays
from hemera.inputs.device import stream_handle

from .beside import together
from .conftest import make_params
from .refusals import raises, refuse, refuse_each

GPUS = [name for name in hm.devices() if name != "cpu"]
needs_gpu = pytest.mark.skipif(not GPUS, reason="needs a GPU")
SCHEMES = ["ckks", "bfv", "bgv"]


class OnGpu:
    """An array that says it is on a GPU."""

    def __init__(self, **interface):
        self.__cuda_array_interface__ = {"version": 3, "strides": None, "data": (256, False)} | interface


class TensorOnGpu:
    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        raise AssertionError("it must not be taken")


class Stream:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def values(scheme, *shape):
    generator = np.random.default_rng(7)
    if scheme == "ckks":
        return generator.uniform(-1, 1, shape)
    return generator.integers(-6000, 6000, shape)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("array", [OnGpu(shape=(4,), typestr="<f8"), TensorOnGpu()])
@pytest.mark.fact_of_the_cpu("arrays of the CPU")
def test_a_context_on_the_cpu_takes_no_array_of_a_gpu(scheme, array):
    ctx = hm.Context(make_params(scheme), "cpu")
    refuse((lambda: ctx.encode(array), hm.errors.DeviceError, None))
    plain = ctx.encode(values(scheme, 4))
    refuse((lambda: ctx.decode_on_device(plain), hm.errors.DeviceError, "decode"))


class OtherLibrary:
    """A library with two GPUs that exports arrays of its current one alone, as PyTorch does."""

    def __init__(self, name, setter):
        self.current = 0
        self.module = types.ModuleType(name)
        self.module.cuda = types.SimpleNamespace(**{setter: self.device})
        library = self

        class Tensor:
            def __init__(self, index):
                self.index = index

            def __dlpack_device__(self):
                return 2, self.index

            def __dlpack__(self, *, stream):
                if self.index != library.current:
                    raise BufferError("Can't export tensors on a different CUDA device index")
                return types.SimpleNamespace(pointer=256, shape=[4], type="<f8", strides=[1], stream=stream)

        Tensor.__module__ = f"{name}._tensor"
        self.tensor = Tensor

    @contextmanager
    def device(self, index):
        before, self.current = self.current, index
        try:
            yield
        finally:
            self.current = before


@pytest.mark.parametrize(("name", "setter"), [("torch", "device"), ("cupy", "Device")])
@pytest.mark.parametrize("index", [0, 1])
def test_arrays_of_every_gpu_come_in(name, setter, index, monkeypatch):
    """Whatever device is the current one of the library: no GPU is needed to see that."""
    library = OtherLibrary(name, setter)
    monkeypatch.setitem(sys.modules, name, library.module)
    monkeypatch.setattr(device_arrays._core, "stream", lambda _: 77)
    monkeypatch.setattr(device_arrays._core, "import_dlpack", lambda capsule: capsule)
    context = types.SimpleNamespace(device=f"cuda:{index}")

    class Parameter(library.tensor):
        """As users and libraries derive them, in modules of their own."""

    for tensor in (library.tensor(index), Parameter(index)):
        array = device_arrays.foreign_array(tensor, context, "encode")
        assert array is not None
        assert (array.pointer, array.shape, array.owner.stream) == (256, (4,), 77)
        assert library.current == 0
    other = types.SimpleNamespace(device=f"cuda:{1 - index}")
    with pytest.raises(hm.errors.DeviceError, match=f"cuda:{index}, and the context on cuda:{1 - index}"):
        device_arrays.foreign_array(library.tensor(index), other, "encode")


@pytest.mark.fact_of_the_cpu("no streams")
def test_streams_of_other_libraries():
    class Protocol:
        def __cuda_stream__(self):
            return 0, 77

    assert stream_handle(Stream(cuda_stream=5)) == 5  # PyTorch
    assert stream_handle(Stream(ptr=6)) == 6  # CuPy
    assert (stream_handle(Protocol()), stream_handle(0)) == (77, 0)
    refuse_each(stream_handle, ("0", True, None, 1.5), TypeError, "stream")
    refuse((lambda: hm.Context(make_params("ckks"), "cpu", stream=0), hm.errors.ParameterError, "stream"))


@pytest.mark.fact_of_the_cpu("names of devices")
def test_contexts_of_all_devices_are_one_family():
    class OnCpu(hm.Context):
        """The CPU plays the other devices."""

        def __init__(self, params, **options):
            super().__init__(params, **options | {"device": "cpu"})

    ctx = OnCpu(make_params("bfv"))
    other = weakref.ref(ctx.on("cuda:0"))
    gc.collect()
    assert other() is not None, "whoever made it keeps it"
    assert ctx.on("cuda") is other()
    assert ctx.on("cuda:1") is not other()
    assert ctx.on("cuda:1").on("cuda:0") is other(), "all know one another"
    assert ctx.on("cuda:0").on("cuda:2") is ctx.on("cuda:2")
    assert ctx.on("cuda:0").on("cpu") is ctx
    del ctx
    gc.collect()
    assert other() is None, "it lives as long as who made it"


@pytest.mark.parametrize("device", hm.devices())
@pytest.mark.fact_of_the_cpu("names of devices")
def test_an_object_goes_to_a_device_by_name(device):
    ctx = hm.Context(make_params("bfv"), "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.encrypt(np.arange(8), sk)
    there = x.to(device)
    assert there.context.device == device
    assert there.context is ctx.on(device), "one context a device"
    assert bytes(there) == bytes(x)
    assert there.to("cpu").context is ctx
    key = sk.to(device)
    np.testing.assert_array_equal(there.context.decrypt(there, key), np.arange(8))
    raises(hm.errors.DeviceError, "", x.to, "cuda:99")
    raises(hm.errors.MismatchError, "", sk.to, x.context._keyless)


@needs_gpu
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("library", ["torch", "cupy", "jax", "interface"])
@pytest.mark.parametrize("shape", [(16,), (3, 12)])
def test_values_stay_on_the_gpu(scheme, library, shape):
    module = pytest.importorskip("numba.cuda" if library == "interface" else library)
    ctx = hm.Context(make_params(scheme), "cuda")
    sk = ctx.generate_secret_key()
    host = values(scheme, *shape)
    if library == "jax":
        module.config.update("jax_enable_x64", True)
        from jax import dlpack

        array, back = module.device_put(host), lambda a: np.asarray(dlpack.from_dlpack(a))
    elif library == "torch":
        array, back = module.tensor(host, device="cuda"), lambda a: module.from_dlpack(a).cpu().numpy()
    elif library == "cupy":
        array, back = module.asarray(host), lambda a: module.from_dlpack(a).get()
    else:
        array, back = module.to_device(host), lambda a: module.as_cuda_array(a).copy_to_host()
    plain = ctx.encode(array)
    assert (plain.shape, bytes(plain)) == (shape[:-1], bytes(ctx.encode(host)))
    ciphertext = ctx.encrypt(plain, sk)
    decrypted = ctx.decrypt_on_device(ciphertext, sk)
    assert decrypted.device == ctx.device
    # On the device with the zeros that fill the slots up to a power of two.
    found, expected = back(decrypted), ctx.decrypt(ciphertext, sk)
    filled = expected.shape[-1]
    np.testing.assert_array_equal(found[..., :filled], expected)
    np.testing.assert_allclose(found[..., filled:].astype(float), 0, atol=1e-6)
    if scheme == "ckks":
        complex_values = back(ctx.decode_on_device(plain, dtype=complex))
        np.testing.assert_array_equal(
            complex_values[..., :filled], ctx.decode(plain, dtype=complex)[..., :filled]
        )


@needs_gpu
def test_arrays_that_do_not_fit_say_why():
    torch = pytest.importorskip("torch")
    ctx = hm.Context(make_params("ckks"), "cuda")
    refuse((lambda: ctx.encode(torch.zeros(8, device="cuda", dtype=torch.float32)), TypeError, "float32"))
    with pytest.raises(hm.errors.MismatchError, match="contiguous"):
        ctx.encode(torch.zeros(8, 4, device="cuda", dtype=torch.float64).T)
    with pytest.raises(hm.errors.MismatchError, match="no values"):
        ctx.encode(torch.zeros(0, device="cuda", dtype=torch.float64))
    with pytest.raises(hm.errors.ParameterError, match="513 values do not fit in the 512 slots"):
        ctx.encode(torch.zeros(513, device="cuda", dtype=torch.float64))
    with pytest.raises(TypeError, match="int64"):
        hm.Context(make_params("bfv"), "cuda").encode(torch.zeros(8, device="cuda"))


@needs_gpu
def test_work_is_ordered_with_the_streams_of_others():
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    for ctx in (
        hm.Context(make_params("bfv"), "cuda"),
        hm.Context(make_params("bfv"), "cuda", stream=stream),
    ):
        for round_ in range(8):
            with torch.cuda.stream(stream):
                # Long work, then the values; overwritten as soon as they were handed over.
                busy = torch.ones(2048, 2048, device="cuda")
                for _ in range(4):
                    busy = busy @ busy / 2048
                array = torch.arange(1024, device="cuda") + round_ + (busy[0, 0] * 0).long()
                plain = ctx.encode(array)
                array.fill_(-1)
                out = ctx.decode_on_device(plain)
                result = torch.from_dlpack(out) + 1
                del out
                ctx.decode_on_device(ctx.encode(array))
            np.testing.assert_array_equal(result.cpu().numpy(), np.arange(1024) + round_ + 1)


@needs_gpu
def test_threads_have_streams_of_their_own():
    ctx = hm.Context(make_params("ckks"), "cuda")
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, rotations=[1]))
    x = ev.encrypt(values("ckks", 4, 512))
    expected = bytes((x * x).rotate(1) + x.rotate(1))
    results = []

    def square(parts):
        parts.append((x * x).rotate(1))

    def work():
        for _ in range(5):
            # A part is made in a thread that ends, and used here.
            parts = []
            helper = threading.Thread(target=square, args=(parts,))
            helper.start()
            other = x.rotate(1)
            helper.join()
            results.append(bytes(parts[0] + other))

    together(*[work] * 4)
    assert results == [expected] * 20


@needs_gpu
def test_graphs_may_be_called_from_several_threads():
    ctx = hm.Context(make_params("ckks"), "cuda")
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, rotations=[1]))
    inputs = [ev.encrypt(values("ckks", 512) + i) for i in range(3)]
    graph = ev.capture(lambda a: (a * a).rotate(1), inputs[0])
    expected = [bytes((a * a).rotate(1)) for a in inputs]
    wrong = []

    def work(which):
        for _ in range(10):
            if bytes(graph(inputs[which])) != expected[which]:
                wrong.append(which)

    together(*(functools.partial(work, at) for at in range(3)))
    assert not wrong


@pytest.mark.skipif(len(GPUS) < 2, reason="needs two GPUs")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_gpus_share_the_work(scheme):
    torch = pytest.importorskip("torch")
    ctx = hm.Context(make_params(scheme), GPUS[0])
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk, rotations=[1])
    ev = ctx.bind(keys)
    other = ctx.on(GPUS[1])
    x = ev.encrypt(values(scheme, 4, 512))
    expected = bytes((x * x).rotate(1))
    there = x.to(other.bind(keys.to(GPUS[1])))
    assert there.context.device == GPUS[1]
    results = {}

    def work(part):
        for _ in range(5):
            results[part.context.device] = bytes((part * part).rotate(1))

    together(*(functools.partial(work, each) for each in (x, there)))
    assert results == {GPUS[0]: expected, GPUS[1]: expected}
    assert bytes(((there * there).rotate(1)).to(GPUS[0])) == expected
    # An array of one GPU is not an array of the other.
    array = torch.ones(512, device=GPUS[1], dtype=torch.float64 if scheme == "ckks" else torch.int64)
    back = torch.from_dlpack(other.decode_on_device(other.encode(array)))
    assert str(back.device) == GPUS[1]
    np.testing.assert_allclose(back.cpu().numpy().real[:512], 1, atol=1e-6)
    refuse((lambda: ctx.encode(array), hm.errors.DeviceError, None))
