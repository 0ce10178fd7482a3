"""Captured circuits: operations that are recorded once, and that the device then runs as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hemera import _core
from hemera._process import Lock
from hemera.inputs.arguments import require_type
from hemera.objects.ciphertext import Ciphertext

Circuit = Callable[..., "Ciphertext | Sequence[Ciphertext]"]
"""The argument of `Evaluator.capture`: a function of ciphertexts to one ciphertext, or several."""


class Graph:
    """A captured circuit; `Evaluator.capture` makes one.

    A graph holds the memory of its operations for as long as it lives, and the plaintexts, keys and
    ciphertexts that the circuit uses in addition to its inputs. Calls from several threads take turns.
    """

    def __init__(
        self,
        context: _core.Context,
        bound: Callable[[_core.Ciphertext], Ciphertext],
        circuit: Circuit,
        examples: Sequence[Ciphertext],
    ) -> None:
        """`bound` makes a ciphertext that is bound to the capturing evaluator."""
        if not examples:
            raise _core.ParameterError("capture: give at least one example input")
        self._bound = bound
        self._circuit = circuit
        self._lock = Lock()
        for example in examples:
            require_type(example, Ciphertext, "capture", "ciphertexts as examples")
        self._inputs = [bound(example._native.clone()) for example in examples]
        self._outputs: list[Ciphertext] = []
        self._single = True
        self._recording: _core.Recording | None = None
        # The first run makes the constants of the operations; the recording may not make any.
        self._run_circuit()
        self._memory = sum(own._native.memory_bytes for own in self._inputs)
        if _core.records(context):
            before = context.memory_used
            context.reset_memory_peak()
            self._recording = _core.record(context, self._run_circuit)
            self._memory += max(0, context.memory_peak - before)

    def _run_circuit(self) -> None:
        # Copies: a circuit that changes its arguments in place must not change the graph's inputs.
        result = self._circuit(*[self._bound(own._native.clone()) for own in self._inputs])
        self._single = isinstance(result, Ciphertext)
        outputs = [result] if isinstance(result, Ciphertext) else list(result)
        for output in outputs:
            if not isinstance(output, Ciphertext):
                raise TypeError(f"a captured circuit returns ciphertexts, not {type(output).__name__}")
        self._outputs = outputs

    @property
    def is_recorded(self) -> bool:
        """Whether calls replay a recording; False on the CPU, where they call the circuit."""
        return self._recording is not None

    @property
    def memory_bytes(self) -> int:
        """The bytes of the device's memory that the graph keeps. They are measured during the capture, so
        memory that other threads take at the same time is included."""
        return self._memory

    def __call__(self, *inputs: Ciphertext) -> Ciphertext | tuple[Ciphertext, ...]:
        """Run the circuit.

        Args:
            inputs: ciphertexts like the examples.

        Returns:
            The circuit's results, one ciphertext or a tuple of them, which the caller owns.

        Raises:
            MismatchError: if an input is not like its example; the message names the difference.
        """
        if len(inputs) != len(self._inputs):
            raise _core.MismatchError(
                f"graph: {len(inputs)} inputs were given, but it was captured with {len(self._inputs)}"
            )
        for given in inputs:
            require_type(given, Ciphertext, "graph", "ciphertexts")
        with self._lock:
            for own, given in zip(self._inputs, inputs, strict=True):
                _core.assign(own._native, given._native)
            if self._recording is None:
                self._run_circuit()
            else:
                self._recording.replay()
            results = tuple(self._bound(output._native.clone()) for output in self._outputs)
        return results[0] if self._single else results

    def __repr__(self) -> str:
        how = "recorded" if self.is_recorded else "called"
        return f"<Graph of {len(self._inputs)} inputs and {len(self._outputs)} outputs, {how}>"
