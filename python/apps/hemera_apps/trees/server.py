"""The server: owns a model, and gets keys and encrypted samples as bytes. It has no secret key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import hemera
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.trees.ensemble import Ensemble
from hemera.trees.layout import Layout
from hemera.trees.packed import PackedCircuit
from hemera.trees.parameters import Workload, parameters_for
from hemera.trees.quantise import IntegerEnsemble, Quantiser, quantise
from hemera_apps.trees.offer import Offer
from hemera_apps.trees.paper import PaperCircuit, PaperLayout

_PAPER_BATCH = 16
"""Samples of the paper's workload that a CPU evaluates at once, so that what they share stays in its
caches."""


class Server:
    """Scores encrypted samples with a clear model, for one client and one request at a time.

    Args:
        model: the trees, as `read_model` gives them.
        quantiser: the bins of the features; None: `Quantiser.of_model(model)`, which tells clients the
            thresholds.
        samples: how many a request may have; the layout is made for as many.
        workload: "packed", or "paper" for the circuit of the paper.
        parameters: a name of `PARAMETERS`, or parameters of BFV with slots.
        device: of `hemera.Context`.
        threads: of `hemera.Context`.

    Raises:
        ParameterError: when the model does not fit workload, bins or parameters.
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
        self._context = hemera.Context(params, device, threads=threads)
        self._evaluator: hemera.Evaluator | None = None
        self._circuit: PackedCircuit | PaperCircuit | None = None
        self._graphs: dict[tuple[int, ...], hemera.Graph] = {}
        self._operations: dict[str, int] = {}
        self._tally: Counter[str] = Counter()

    @property
    def offer(self) -> bytes:
        """To clients."""
        return self._offer.to_bytes()

    @property
    def params(self) -> hemera.bfv.Parameters:
        """The parameters."""
        return self._offer.params

    @property
    def layout(self) -> Layout | PaperLayout:
        """Where trees and samples lie."""
        return self._offer.layout

    @property
    def context(self) -> hemera.Context:
        """What it computes on."""
        return self._context

    @property
    def operations(self) -> dict[str, int]:
        """How many ciphertexts went through each operation in the first `evaluate`."""
        return dict(self._operations)

    def accept(self, keys: bytes) -> None:
        """Take a client's keys, and encode the model for them.

        Raises:
            FormatError: when they are damaged.
            MismatchError: when they are of other parameters, or no keys (a secret key is refused).
        """
        loaded = self._context.load(keys)
        if not isinstance(loaded, hemera.Keys):
            raise MismatchError(
                f"the server takes evaluation keys (Client.keys), not a {type(loaded).__name__}"
            )
        self._graphs, self._operations = {}, {}
        if isinstance(self.layout, PaperLayout):
            self._evaluator = self._context.bind(loaded, relinearization="lazy")
            self._circuit = PaperCircuit(self._evaluator, self.model, self.layout)
        else:
            self._evaluator = self._context.bind(loaded)
            self._circuit = PackedCircuit(self._evaluator, self.model, self.layout)

    def load(self, request: bytes) -> list[hemera.Ciphertext]:
        """The planes of a request.

        Raises:
            FormatError: when it is damaged.
            MismatchError: when it is of another shape than the offer asks for.
            ParameterError: before `accept`.
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
                "not fit "
                "this server's offer; make it with a Client of that offer"
            )
        return [planes[at] for at in range(len(planes))]

    def evaluate(self, planes: Sequence[hemera.Ciphertext]) -> hemera.Ciphertext:
        """The encrypted scores of the planes of a request: on a GPU a captured graph, from the first call on.

        Raises:
            NoiseError: when the parameters leave no noise budget that is certain.
        """
        self._tally.clear()
        samples = planes[0].shape[0]
        paper = isinstance(self.layout, PaperLayout)
        size = _PAPER_BATCH if paper and self._context.device == "cpu" else samples
        parts = [
            self._run([plane[begin : begin + size] for plane in planes] if size < samples else planes)
            for begin in range(0, samples, size)
        ]
        if self._tally:  # graphs repeat what was counted when they were captured
            self._operations = dict(self._tally)
        return parts[0] if len(parts) == 1 else hemera.concatenate(parts)

    def score(self, request: bytes) -> bytes:
        """The encrypted scores of an encrypted request, in the smallest ciphertexts that hold them."""
        return bytes(self.evaluate(self.load(request)).shrink())

    def _run(self, planes: Sequence[hemera.Ciphertext]) -> hemera.Ciphertext:
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
        if self._context.device != "cpu":
            self._graphs[shape] = self._evaluator.capture(circuit, *planes)
        return answer
