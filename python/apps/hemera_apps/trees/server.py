"""The server: it owns a model, and gets keys and encrypted samples as bytes, but no secret key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import hemera
from hemera import _core
from hemera._noise_warning import budgets_are_known
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.objects.evaluator import Relinearization
from hemera.program.keys import AskedKeys, KeyList
from hemera.times import DeviceTimes
from hemera.trees.ensemble import Ensemble
from hemera.trees.layout import Layout
from hemera.trees.packed import PackedCircuit
from hemera.trees.parameters import Workload, parameters_for
from hemera.trees.quantise import IntegerEnsemble, Quantiser, quantise
from hemera_apps.trees.offer import Offer
from hemera_apps.trees.paper import PLANES, PaperCircuit, PaperLayout

_PAPER_BATCH = 16
"""The number of samples of the paper's workload that a CPU evaluates at once. The data that they share then
stays in its caches."""


class Server:
    """Scores encrypted samples with a clear model, for one client and one request at a time.

    Args:
        model: the trees, from `read_model`.
        quantiser: the bins of the features; None: `Quantiser.of_model(model)`, with which clients learn the
            thresholds.
        samples: the most samples of a request; the layout is for as many.
        workload: "packed", or "paper" for the circuit of the paper.
        parameters: a name of `PARAMETERS`, or parameters of BFV with slots.
        device: as for `hemera.Context`.
        threads: as for `hemera.Context`.

    Raises:
        ParameterError: if the model does not fit workload, bins or parameters.
    """

    def __init__(
        self,
        model: Ensemble,
        quantiser: Quantiser | None = None,
        *,
        samples: int,
        workload: Workload = "packed",
        parameters: str | hemera.bfv.Parameters = "auto",
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        bins = Quantiser.of_model(model) if quantiser is None else quantiser.for_depth(model.depth)
        params = parameters_for(parameters, model, workload, bins)
        self.model: IntegerEnsemble = quantise(model, bins, params.plain_modulus.bit_length())
        features = model.features
        if workload == "paper":
            layout: Layout | PaperLayout = PaperLayout.choose(params.degree, self.model)
        else:
            scores, trees, _ = features.shape
            layout = Layout.choose(params.degree, scores, trees, samples, model.depth)
            features = features[:, :, self.model.nodes]
        self._offer = Offer(params, layout, features, bins, self.model.scale, self.model.classes, samples)
        # A circuit works at the highest level, for any number of samples.
        self._offer = replace(self._offer, keys=self._asked_keys())
        self._context = hemera.Context(params, device, threads=threads)
        self._evaluator: hemera.Evaluator | None = None
        self._circuit: PackedCircuit | PaperCircuit | None = None
        self._graphs: dict[tuple[int, ...], hemera.Graph] = {}
        self._operations: dict[str, int] = {}
        self._tally: Counter[str] = Counter()

    @property
    def offer(self) -> bytes:
        """The offer, for clients."""
        return self._offer.to_bytes()

    @property
    def params(self) -> hemera.bfv.Parameters:
        """The parameters."""
        return self._offer.params

    @property
    def layout(self) -> Layout | PaperLayout:
        """The places of trees and samples."""
        return self._offer.layout

    @property
    def context(self) -> hemera.Context:
        """The server's context."""
        return self._context

    @property
    def operations(self) -> dict[str, int]:
        """The number of ciphertexts that each operation made in the first `evaluate`."""
        return dict(self._operations)

    def cost(self, samples: int | None = None, *, device: str | None = None, threads: int = 1) -> Cost:
        """The cost of a request, counted without values: see `hemera.cost`.

        Args:
            samples: of the request, in the paper's circuit; None: as many as the offer is for. A packed
                request has the offer's shape, whatever its samples.
            device: a table of times.
            threads: of the CPU.
        """
        times = None if device is None else DeviceTimes.find(device)
        dry = self._dry_run(threads)
        return dry.cost(self._prepared, self._fresh_planes(samples or self._offer.samples), times=times)

    def _dry_run(self, threads: int = 1) -> DryRun:
        context = hemera.Context(self.params, "ledger", threads=threads)
        return DryRun(context, symmetric=True, relinearization=self._relinearization)

    def _asked_keys(self) -> KeyList:
        """The keys that the circuit asks for."""
        dry = self._dry_run()
        keys = dry.asking()
        evaluator = dry.bind(keys)
        with budgets_are_known():
            self._circuit_of(evaluator)(*dry.encrypted(self._fresh_planes(1), evaluator))
        return KeyList.of(self.params, [AskedKeys(*_core.asked_keys(keys._native))])

    def _fresh_planes(self, samples: int) -> list[FreshInput]:
        """The fresh planes of a request."""
        if isinstance(self.layout, PaperLayout):
            return [FreshInput((samples, self.params.max_slots))] * PLANES
        planes = self.layout.groups * self._offer.features.shape[2] * self.model.planes
        return [FreshInput((self.layout.chunks, self.params.max_slots))] * planes

    @property
    def _relinearization(self) -> Relinearization:
        return "lazy" if isinstance(self.layout, PaperLayout) else "eager"

    def _circuit_of(self, evaluator: hemera.Evaluator) -> PackedCircuit | PaperCircuit:
        if isinstance(self.layout, PaperLayout):
            return PaperCircuit(evaluator, self.model, self.layout)
        return PackedCircuit(evaluator, self.model, self.layout)

    def _prepared(self, evaluator: hemera.Evaluator) -> Callable[..., hemera.Ciphertext]:
        """The scores of planes, by an evaluator that may have no values."""
        circuit = self._circuit_of(evaluator)
        return lambda *planes: self._in_parts(circuit, planes)

    def accept(self, keys: bytes) -> None:
        """Take a client's keys, and encode the model for them.

        Raises:
            FormatError: if they are damaged.
            MismatchError: if they are of other parameters, or no keys (a secret key is refused).
        """
        loaded = self._context.load(keys)
        if not isinstance(loaded, hemera.Keys):
            raise MismatchError(
                f"the server takes evaluation keys (Client.keys), not a {type(loaded).__name__}"
            )
        self._graphs, self._operations = {}, {}
        self._evaluator = self._context.bind(loaded, relinearization=self._relinearization)
        self._circuit = self._circuit_of(self._evaluator)

    def load(self, request: bytes) -> list[hemera.Ciphertext]:
        """The planes of a request.

        Raises:
            FormatError: if the request is damaged.
            MismatchError: if the request does not have the shape of the offer.
            ParameterError: if there are no keys yet (`accept`).
        """
        if self._evaluator is None:
            raise ParameterError("the server has no keys yet; call accept(keys) first")
        planes = self._evaluator.load(request)
        if isinstance(self.layout, PaperLayout):
            good = planes.ndim == 2 and len(planes) == 6 and planes.shape[1] <= self._offer.samples
        else:
            nodes = self._offer.features.shape[2]
            good = planes.shape == (
                self.layout.groups * nodes * self.model.planes,
                self.layout.chunks,
            )
        if not good or planes.slots != self.params.max_slots:
            raise MismatchError(
                f"the request has ciphertexts of shape {planes.shape} and {planes.slots} slots, which do "
                "not fit this server's offer; make it with a Client of that offer"
            )
        return [planes[at] for at in range(len(planes))]

    def evaluate(self, planes: Sequence[hemera.Ciphertext]) -> hemera.Ciphertext:
        """The encrypted scores of the planes of a request. On a GPU later calls replay a captured graph.

        Raises:
            NoiseError: if the parameters leave no guaranteed noise budget.
        """
        self._tally.clear()
        result = self._in_parts(self._run, planes)
        if self._tally:  # graphs repeat what was counted when they were captured
            self._operations = dict(self._tally)
        return result

    def _in_parts(
        self, circuit: Callable[..., hemera.Ciphertext], planes: Sequence[hemera.Ciphertext]
    ) -> hemera.Ciphertext:
        """The scores, of as many samples at once as the device takes best."""
        samples = planes[0].shape[0]
        paper = isinstance(self.layout, PaperLayout)
        size = _PAPER_BATCH if paper and not _captures(planes[0].context) else samples
        parts = [
            circuit(*([plane[begin : begin + size] for plane in planes] if size < samples else planes))
            for begin in range(0, samples, size)
        ]
        return parts[0] if len(parts) == 1 else hemera.concatenate(parts)

    def score(self, request: bytes) -> bytes:
        """The encrypted scores of an encrypted request, in the smallest ciphertexts that hold them."""
        return bytes(self.evaluate(self.load(request)).shrink())

    def _run(self, *planes: hemera.Ciphertext) -> hemera.Ciphertext:
        circuit, shape = self._circuit, planes[0].shape
        if circuit is None or self._evaluator is None:
            raise ParameterError("the server has no keys yet; call accept(keys) first")
        if shape in self._graphs:
            answer = self._graphs[shape](*planes)
            assert isinstance(answer, hemera.Ciphertext)
            return answer
        before = circuit.counts
        answer = circuit(*planes)
        self._tally.update({name: count - before[name] for name, count in circuit.counts.items()})
        if not answer.guaranteed_noise_budget > 0:
            raise NoiseError(
                "the parameters leave no noise budget for this model; take parameters='auto', or larger ones"
            )
        if _captures(self._context):
            self._graphs[shape] = self._evaluator.capture(circuit, *planes)
        return answer


def _captures(context: hemera.Context) -> bool:
    """Whether circuits are captured as graphs: on a GPU."""
    return context.device not in ("cpu", "ledger")
