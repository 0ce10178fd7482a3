"""Captured graphs of one client's evaluations of one model: which forms of inputs are captured, and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hemera.errors import DeviceError, MismatchError, OutOfMemoryError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.graph import Graph

_FIRST = 2
"""Times that inputs of a form come before they are captured: who asks once does not pay for it, and what is
encoded when a model first runs is there."""
_FORMS_COUNTED = 256
"""A client chooses the forms, so they must not be without end."""


Capture = Callable[[Sequence[Ciphertext]], Graph]
"""Makes a graph of inputs like these."""


def form_of(x: Ciphertext) -> tuple[object, ...]:
    """The facts that must be the same for inputs that run by one graph."""
    return (x.level, x.scale, x.size, x.slots, x.encoding, x.shape)


class Graphs:
    """Captures the forms of inputs that come most often, and replays them, in the computing thread; the sizes
    may be asked for from any.

    Args:
        limit: graphs that are kept. When there are as many, a form takes the place of the one that came least
            often once it has come twice as often: changing forms do not drive each other out.
        failed: called with the error of a capture, after which there is none any more.
    """

    def __init__(self, limit: int, failed: Callable[[DeviceError], object] = lambda _: None) -> None:
        self._limit, self._failed = limit, failed
        self._graphs: dict[tuple[object, ...], Graph] = {}
        self._came: dict[tuple[object, ...], int] = {}
        self._memory = 0

    def __len__(self) -> int:
        return len(self._graphs)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all graphs, in the device's memory."""
        return self._memory

    def run(self, inputs: Sequence[Ciphertext], capture: Capture) -> list[Ciphertext] | None:
        """The outputs by a graph, or None: the caller computes them.

        Args:
            inputs: of the circuit.
            capture: captures the circuit. It is not kept: it would hold the session, whose graphs these are,
                and evicted keys would stay until a collection of cycles.

        Raises:
            Error: as the circuit does.
        """
        form = tuple(form_of(x) for x in inputs)
        if form not in self._came and len(self._came) >= _FORMS_COUNTED:
            self._came = {kept: self._came[kept] for kept in self._graphs}
        self._came[form] = self._came.get(form, 0) + 1
        if form not in self._graphs and not self._make(form, inputs, capture):
            return None
        try:
            found = self._graphs[form](*inputs)
        except MismatchError:  # more noise than the example had
            return None
        return [found] if isinstance(found, Ciphertext) else list(found)

    def give_up(self) -> None:
        """Forgets all graphs, and captures no more: the device has no room for them."""
        self._limit = 0
        self._graphs.clear()
        self._came.clear()
        self._count()

    def _make(self, form: tuple[object, ...], inputs: Sequence[Ciphertext], capture: Capture) -> bool:
        """Captures a form, if it is worth it and there is room."""
        came = self._came[form]
        if came < _FIRST or self._limit == 0:
            return False
        if len(self._graphs) >= self._limit:
            least = min(self._graphs, key=lambda kept: self._came[kept])
            if came < 2 * self._came[least]:
                return False
            del self._graphs[least]
        try:
            self._graphs[form] = capture(inputs)
        except OutOfMemoryError:
            self.give_up()
            return False
        except DeviceError as error:
            # An operation can not be captured; or the device has failed, which the caller finds out.
            self._failed(error)
            self.give_up()
            return False
        finally:
            self._count()
        return True

    def _count(self) -> None:
        self._memory = sum(graph.memory_bytes for graph in self._graphs.values())
