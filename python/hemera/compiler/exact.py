"""Exact programs on whole numbers: by BFV or BGV, modulo a prime that all results fit under. Programs
that are too deep for parameters without bootstraps get some."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from hemera import _core, bfv, bgv
from hemera._noise_warning import budgets_are_known
from hemera.arrays.facts import MOST_WHOLE
from hemera.arrays.layout_search import LayoutChoice, layout_choices
from hemera.arrays.operations import LookUp
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import SplitProgram, split
from hemera.compiler.attempts import Impossible, NotPossibleError, attempted
from hemera.compiler.candidates import Found, LaidOut, Packaging
from hemera.compiler.drafts import Chosen
from hemera.compiler.draws import one_draw
from hemera.compiler.options import Options
from hemera.compiler.passes import ARRAYS, LEVELS, SLOTS, OnArrays, OnSlots, readings_of, traced
from hemera.compiler.repeated import require_repeated
from hemera.compiler.specs import ArraySpec, names_of, require_fitting, spec_of
from hemera.errors import MismatchError, NoiseError, ParameterError, SecurityError
from hemera.integer_parameters import IntegerParameters
from hemera.objects.context import Context
from hemera.package.dry_run import noise_of_a_run
from hemera.package.package import Package
from hemera.parameters import Parameters
from hemera.program.values import SchemeName

_SCHEMES: dict[SchemeName, type[IntegerParameters]] = {"bfv": bfv.Parameters, "bgv": bgv.Parameters}
_MUCH = 0.8
"""A layout takes another one's place if its estimated cost is below this part of it."""
_MOST_BITS = 59
"""The most bits of the plaintext modulus."""
_WAYS_OUT = "Give the inputs narrower ranges, or return parts of the result"
_MOST_DEPTH = 60
_MOST_SLOTS = 1 << 15
"""The most slots of a row."""
_MOST_DEGREE = 1 << 17
_REASONS = {
    "precision_bits": "results are exact",
    "share": "exact results have no errors that noise would hide; show them as they are",
    "shares": "exact results have no errors that noise would hide; show them as they are",
    "layout": "elements lie in slots",
    "device": "bootstraps are placed by noise budgets; plan.cost(device) has the time",
    "calibrate": "ranges that samples show are no bounds; give each input an ArraySpec(shape, range=)",
    "margin": "ranges that samples show are no bounds; give each input an ArraySpec(shape, range=)",
}


def exact_program(
    what: Callable[..., Any], inputs: Sequence[Any], options: Options, given: Mapping[str, Any]
) -> tuple[list[ArraySpec], Found]:
    """The inputs, and the packaged program.

    Args:
        given: the options that the user names.

    Raises:
        TypeError: when the function depends on values.
        ParameterError: for another scheme, options of approximate programs, ranges and steps that are not
            whole, operations that are not exact, and results or look-ups that are too large.
        MismatchError: for given parameters of another scheme.
        NoiseError: where given parameters leave no noise budget, or an operation takes more than their
            bootstraps leave.
    """
    nothing = {"share": False, "layout": "auto"}
    for name, reason in _REASONS.items():
        if name in given and not (name in nothing and given[name] == nothing[name]):
            raise ParameterError(f"{name}= does not go with scheme={options.scheme!r}: {reason}")
    scheme, params, samples = cast(SchemeName, options.scheme), options.params, options.samples
    if scheme not in _SCHEMES:
        raise ParameterError(f"scheme must be 'ckks', 'bfv' or 'bgv', not {scheme!r}")
    specs = [_whole_spec(*each) for each in zip(inputs, names_of(what, inputs), strict=True)]
    most_slots = _MOST_SLOTS if params is None or params.max_slots == 0 else params.max_slots // 2
    require_fitting(specs, samples, most_slots)

    def recorded() -> Recorder:
        return traced(what, specs, Recorder(precision_bits=math.inf))

    recorder = recorded()
    require_repeated(what, specs, one_draw(specs), recorder, recorded)
    at = ARRAYS.run(OnArrays(recorder.program, specs, scheme))
    parts = split(at.program, most_slots // samples)
    packaging = Packaging(tuple(specs), options, readings=readings_of(recorder, math.inf))
    search = _Search(parts, packaging, samples, scheme, options)
    return specs, search.best() if params is None else search.given(params)


def _whole_spec(given: Any, name: str) -> ArraySpec:
    """The spec of an input, with the step 1 where it has none. ParameterError for one that is not whole."""
    if not isinstance(given, ArraySpec) or given.range is None:
        raise ParameterError(
            f"input {name!r}: exact programs need the range of each: hm.ArraySpec(shape, range=(low, high))"
        )
    if given.clip:
        raise ParameterError(f"input {name!r}: exact programs refuse values outside of the range")
    step = 1 if given.step is None else given.step
    for what, value in (("range", given.range[0]), ("range", given.range[1]), ("step", step)):
        if not math.isfinite(value) or value != int(value) or abs(value) >= MOST_WHOLE:
            raise ParameterError(
                f"input {name!r}: the {what} has {value:g}, and exact programs take whole "
                "numbers up to 2^53; scale values before they are encrypted, such as prices to cents"
            )
    if step < 1:
        raise ParameterError(f"input {name!r}: the step must be 1 or more, not {step:g}")
    spec = spec_of(given, name, None, 0.0)
    assert spec.range is not None
    # The least and the largest multiple of the step.
    low, high = -(-spec.range[0] // step) * step, spec.range[1] // step * step
    if low > high:
        raise ParameterError(
            f"input {spec.name!r}: no multiple of {step:g} is in the range from {spec.range[0]:g} to "
            f"{spec.range[1]:g}"
        )
    return ArraySpec(spec.shape, (low, high), spec.name, float(step), clip=False, dtype=spec.dtype)


class _Search:
    """Parameters, and the program on their slots modulo their prime."""

    def __init__(
        self, parts: SplitProgram, packaging: Packaging, samples: int, scheme: SchemeName, options: Options
    ) -> None:
        self._parts, self._packaging, self._scheme = parts, packaging, scheme
        self._security, self._openings = options.security, options.openings
        self._program, self._samples, self._kind = parts.program, samples, _SCHEMES[scheme]
        self._least = _least_modulus(parts.whole)
        self._layouts: dict[int, LayoutChoice] = {}

    def given(self, params: Parameters) -> Found:
        """The program with the user's parameters."""
        if not isinstance(params, self._kind):
            raise MismatchError(
                f"scheme={self._scheme!r} takes parameters of {self._scheme.upper()}, not {params!r}"
            )
        if params.max_slots == 0:
            raise ParameterError(
                f"the plaintext modulus {params.plain_modulus} has no slots; the least one that has, and "
                f"holds the results, is {_core.least_plain_modulus(self._least, params.degree)}"
            )
        if params.plain_modulus < self._least:
            raise ParameterError(
                f"results up to {(self._least - 1) // 2:.4g} need a plaintext modulus from {self._least} on "
                f"({self._least.bit_length()} bits), and the given one is {params.plain_modulus}"
            )
        if not self._tells_apart(params.plain_modulus):
            raise ParameterError(
                f"values that are looked up are multiples of the plaintext modulus {params.plain_modulus}; "
                "take another one"
            )
        if self._openings is not None and params._native.secret_terms != self._openings.pieces:
            raise MismatchError(
                f"openings are those of {self._openings.pieces} pieces, and the parameters' secret has "
                f"{params._native.secret_terms}; make them with openings="
            )
        found = self._with(params)
        if not _has_budget(found.model, self._openings):
            raise NoiseError(
                f"a program of depth {found.model.program.depth} leaves {params!r} no noise budget that is "
                "certain; leave params= out, or take for_circuit of a larger depth"
            )
        return found

    def best(self) -> Found:
        """With the parameters of the least depth that leave a noise budget, or else with bootstraps."""
        without = attempted(self._without_bootstraps)
        if not isinstance(without, Impossible):
            return without
        try:
            return self._with(self._for_bootstrapping())
        except (NoiseError, ParameterError, SecurityError) as error:
            raise ParameterError(f"{without}. With bootstraps: {error}") from error

    def _for_bootstrapping(self) -> Parameters:
        """The program with the smallest prime that results and slots fit."""
        degree = self._kind.for_bootstrapping(plain_modulus=2, security=self._security).degree
        modulus = self._least
        while True:
            modulus = _core.least_plain_modulus(modulus, degree)
            if self._tells_apart(modulus):
                return self._kind.for_bootstrapping(
                    plain_modulus=modulus, security=self._security, openings=self._openings
                )
            modulus += 1

    def _without_bootstraps(self) -> Found:
        """With the parameters of the least depth that leave a noise budget."""
        found = dict[int, Found | None]()

        def has_budget(depth: int) -> bool:
            found[depth] = self._at(depth)
            return found[depth] is not None

        start = max(1, self._program.depth)
        least = next(filter(has_budget, range(start, max(start, _MOST_DEPTH) + 1)), 0)
        if least == start:  # products of small values may do with less
            least = 1 + bisect.bisect_left(range(1, start), True, key=has_budget)
        if (best := found.get(least)) is not None:
            return best
        raise NotPossibleError(
            f"no {self._scheme.upper()} parameters hold this program, of {self._program.depth} products one "
            "after the other; look up smaller ranges, or take fewer products"
        )

    def _at(self, depth: int) -> Found | None:
        """The program with parameters of a depth; None where they leave no noise budget."""
        found = self._with(self._parameters(depth))
        return found if _has_budget(found.model, self._openings) else None

    def _parameters(self, depth: int) -> Parameters:
        """The smallest with a prime that results and slots fit. NotPossibleError where there are none."""
        slots = 2 * self._samples * max(layout.period for layout in self._choice(1).layouts)
        reason: Exception | None = None
        for bits in range(max(14, self._least.bit_length()), _MOST_BITS + 1):
            try:
                params = self._kind.for_circuit(
                    depth, plain_bits=bits, slots=slots, security=self._security, openings=self._openings
                )
            except ParameterError as error:
                reason = reason or error
                # With fewer bits the largest ring may have no prime; with more a circuit takes more.
                if _core.least_plain_modulus(1 << (bits - 1), _MOST_DEGREE) < 1 << bits:
                    raise NotPossibleError(str(error)) from error
                continue
            if params.plain_modulus >= self._least and self._tells_apart(params.plain_modulus):
                return params
        raise NotPossibleError(
            f"results up to {(self._least - 1) // 2:.4g} need a plaintext modulus of "
            f"{self._least.bit_length()} bits; there are at most {_MOST_BITS}. {_WAYS_OUT}"
        ) from reason

    def _tells_apart(self, modulus: int) -> bool:
        """Whether different values that are looked up differ modulo a prime above their number."""
        tables = [node.operation for node in self._program.nodes if isinstance(node.operation, LookUp)]
        return all(each.step % modulus for each in tables)

    def _choice(self, most_slots: int) -> LayoutChoice:
        if most_slots not in self._layouts:
            first, *others = layout_choices(self._program, most_slots=most_slots, alike=self._parts.alike)
            best = min(others, key=lambda each: each.cost, default=first)
            self._layouts[most_slots] = best if best.cost < _MUCH * first.cost else first
        return self._layouts[most_slots]

    def _with(self, params: Parameters) -> Found:
        """The program with some parameters."""
        assert isinstance(params, IntegerParameters)
        slots, samples = params.max_slots, self._samples
        # Both rows hold the same values, so that a rotation of rows turns each by itself.
        layouts = self._choice(slots // 2 // samples).layouts
        at = SLOTS.run(
            OnSlots(
                self._parts,
                layouts,
                slots,
                samples,
                scheme=self._scheme,
                params=params,
                openings=self._openings,
            )
        )
        chosen = Chosen(params, LEVELS.run(at).steps)
        return self._packaging.found(LaidOut.in_slots(chosen, samples))


def _least_modulus(program: TensorProgram) -> int:
    """The least modulus under which all results fit with their signs, above inputs and the points of tables.

    Raises:
        ParameterError: where no plaintext modulus is that large.
    """
    largest = max(max(map(abs, program.nodes[at].range)) for _, at in program.outputs)
    # Bounds beyond 2^53 are rounded, by less than 2^-30 of the largest number that they came of.
    everywhere = max(max(map(abs, node.range)) for node in program.nodes)
    if everywhere > MOST_WHOLE:
        largest += everywhere * 2.0**-30
    inputs = max(max(map(abs, program.nodes[at].range)) for at in program.inputs)
    least = max(2 * int(largest), int(inputs)) + 1
    for node in program.nodes:
        if isinstance(node.operation, LookUp):
            least = max(least, len(node.operation.values))
    if least.bit_length() > _MOST_BITS:
        at = max(program.outputs, key=lambda each: max(map(abs, program.nodes[each[1]].range)))
        node = program.nodes[at[1]]
        raise ParameterError(
            f"result {at[0]!r} ({node.where}) has values from {node.range[0]:.4g} to {node.range[1]:.4g}, "
            f"which need a plaintext modulus of {least.bit_length()} bits; there are at most {_MOST_BITS}. "
            + _WAYS_OUT
        )
    return least


def _has_budget(model: Package, openings: _core.Openings | None) -> bool:
    """Whether results can be decrypted for certain, or opened, by a run without values."""
    try:
        with budgets_are_known():
            model.cost()
    except NoiseError:
        return False
    if openings is None:
        return True
    outputs = noise_of_a_run(model.planned(Context(model.params, "ledger", threads=1)))[1]
    return all(x.guaranteed_noise_budget >= openings.budget(model.params.degree) for x in outputs)
