"""Compiled programs on tables: tables in, statistics out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.array import Array
from hemera.arrays.recorder import Recorder
from hemera.compiler import compiling
from hemera.compiler.agreement import Agreement, compared, expected_bits
from hemera.compiler.compiled import Compiled
from hemera.compiler.draws import draws_of_equal, one_draw
from hemera.compiler.packaged import Local
from hemera.compiler.passes import traced
from hemera.compiler.repeated import require_repeated
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tables.columns import Column
from hemera.compiler.tables.frames import is_of_pandas
from hemera.compiler.tables.results import Frame, Readings, Result
from hemera.compiler.tables.spec import TableSpec
from hemera.compiler.tables.table import Table
from hemera.errors import LevelError, ParameterError, PrecisionError
from hemera.inputs.arguments import Progress

Study = Callable[[Table], Any]
Values = NDArray[Any]

_PRECISION_BITS = 16
_COUNT_ERROR = 0.25
"""The largest error of encrypted counts, which are rounded, by approximations; noise is less than as much."""


def _readings_of(found: Any, *, is_plain: bool) -> Readings:
    """The results of a study.

    Args:
        is_plain: whether the study ran on plain columns, so that plain results may be encrypted ones.
    """
    if not isinstance(found, Mapping):
        return Readings(_as_result("result", found, is_plain))
    if not found:
        raise ParameterError("the function returns nothing; return statistics of the table")
    return Readings({str(name): _as_result(str(name), each, is_plain) for name, each in found.items()})


def _as_result(name: str, found: Any, is_plain: bool) -> Result | Frame:
    if isinstance(found, (Result, Frame)):
        return found
    if isinstance(found, Table) or (isinstance(found, Column) and found.weight is not None):
        raise TypeError(
            f"{name!r} is filtered by encrypted values: which rows are left is not known. Return statistics "
            "of it, or the whole column and its mask"
        )
    if isinstance(found, Column):
        parts = {"": found.elements, "present": found.present}
        encrypted = {
            key: each
            for key, each in parts.items()
            if isinstance(each, Array) or (is_plain and each is not None)
        }
        return Result(
            name,
            encrypted,
            lambda values: _with_missing({**parts, **values}),
            categories=tuple(found.categories),
        )
    if isinstance(found, np.ndarray) and found.dtype.kind in "OUT":  # a key's texts
        labels, codes = np.unique(found, return_inverse=True)
        return Result(name, {}, lambda _: codes, categories=tuple(labels.tolist()))
    if not is_plain and isinstance(found, (bool, int, float, np.generic, np.ndarray)):
        return Result(name, {}, lambda _: np.asarray(found))  # public
    return Result(name, {"": found}, lambda values: values[""])


def _with_missing(values: Mapping[str, Values]) -> Values:
    present = values["present"]
    return values[""] if present is None else np.where(present > 0.5, values[""], np.nan)


class LocalTable(Local):
    """Both parties in this process: statistics of tables, encrypted under a fresh secret key."""

    def __init__(self, plan: CompiledTable, **options: Any) -> None:
        super().__init__(plan.package, watch=plan._watch, **options)
        self._plan = plan

    def __call__(self, *inputs: Any) -> Any:
        """The study's results of a table: numbers, and for groups Series and DataFrames of pandas where the
        table is of pandas, else dicts by the groups' labels.

        Raises:
            MismatchError: for a table with other rows, columns or public keys.
            RangeError: for values outside of their ranges.
        """
        (frame,) = inputs
        return self._plan.decode(super().__call__(*self._plan.encode(frame)), frame)


class _TableProgram:
    """A function on a table as one on the arrays of the columns that it takes."""

    def __init__(
        self, study: Study, spec: TableSpec, samples: Sequence[Values] | None, recorder: Recorder
    ) -> None:
        self._study, self._whole, self.spec = study, spec, spec
        program = traced(self, spec.inputs, recorder, samples or ()).program

        def again() -> Recorder:
            more = Recorder(precision_bits=recorder.precision_bits, margin=recorder.margin)
            return traced(self, spec.inputs, more, samples or ())

        def encrypted(*arrays: Values) -> dict[str, Any]:
            return self.readings_of(arrays).encrypted()

        require_repeated(encrypted, spec.inputs, one_draw(spec.inputs), recorder, again, compares=False)
        taken = program.needed(at for _, at in program.outputs)
        used = {own.name for at, own in program.declared.items() if at in taken}
        columns = [own for own in spec.columns if any(name in used for name, *_ in own.inputs)]
        self.spec = replace(spec, columns=tuple(columns))
        """The spec of the columns that are encrypted."""

    def readings_of(self, arrays: Sequence[Any]) -> Readings:
        """The results for the arrays of `spec`; columns that no result takes have a value of their range."""
        given = dict(zip((own.name for own in self.spec.inputs), arrays, strict=True))
        rows = [given.get(own.name, np.full(own.shape, _possible(own))) for own in self._whole.inputs]
        is_plain = not any(isinstance(each, Array) for each in arrays)
        return _readings_of(self._study(Table.of_arrays(self._whole, rows)), is_plain=is_plain)

    def __call__(self, *arrays: Any) -> dict[str, Any]:
        self.readings = self.readings_of(arrays)
        found = self.readings.encrypted()
        if not found:
            raise ParameterError("all results are public: nothing is computed encrypted")
        return found


def _possible(spec: ArraySpec) -> float:
    """The value of the range that is nearest to 0, which a missing value is."""
    assert spec.range is not None
    nearest = min(max(0.0, spec.range[0]), spec.range[1])
    if spec.step is not None:
        nearest = math.copysign(math.ceil(abs(nearest) / spec.step), nearest) * spec.step
    return nearest


class CompiledTable(Compiled):
    """A compiled program on tables. `compile_table` makes one.

    Its packaged model takes the arrays of `encode`, and gives what `decode` takes.
    """

    def __init__(self, program: _TableProgram, plan: Compiled) -> None:
        super().__init__(replace(plan.made, by_program=True))
        self._readings, self._readings_of, self._spec = program.readings, program.readings_of, program.spec

    @property
    def spec(self) -> TableSpec:
        """The public side of its tables: the columns that the function takes."""
        return self._spec

    def report(self, device: str | None = None) -> str:
        """The parameters, the cost, and a line for each operation: for people."""
        # A study of plain columns has no encrypted parts, with which bits could be compared.
        return self._report(device, None)

    explain = report

    def encode(self, frame: Any) -> list[Values]:
        """The arrays of a table, an argument each of clients and of `Compiled.local`.

        Raises:
            MismatchError, RangeError: as `TableSpec.arrays`.
        """
        return list(self._spec.arrays(frame))

    def decode(self, outputs: Any, frame: Any = None) -> Any:
        """The study's results, of a client's decrypted values: an array, or arrays by name.

        Args:
            outputs: as clients get them.
            frame: the table, whose library labels groups.
        """
        return self._readings.finished(self._by_name(outputs), pandas=is_of_pandas(frame))

    def local(
        self, *, device: str = "cpu", threads: int | None = None, progress: Progress = None
    ) -> LocalTable:
        """Both parties in this process."""
        return LocalTable(self, device=device, threads=threads, progress=progress)

    def clear(self, *inputs: Any) -> Any:
        """The function's results of a table in the clear."""
        (frame,) = inputs
        readings, outputs = self._in_the_clear(self.encode(frame))
        return readings.finished(outputs, pandas=is_of_pandas(frame))

    def _in_the_clear(self, arrays: Sequence[Values]) -> tuple[Readings, dict[str, Values]]:
        readings = self._readings_of(arrays)
        return readings, {name: np.asarray(each) for name, each in readings.encrypted().items()}

    def check(self, *frames: Any, encrypted: int = 1, threads: int | None = None) -> Agreement:
        """The compiled program next to the function, on tables.

        Args:
            frames: tables.
            encrypted: how many of them are encrypted too, in this process.
            threads: of the encrypted runs.

        Raises:
            MismatchError, RangeError: as `encode`.
        """
        samples = _samples(self._spec, frames)
        if samples is None:
            raise ParameterError("check needs a table")
        local = Local(self._package, threads=threads, watch=self._watch) if encrypted else None
        tables = list(zip(*samples, strict=True))
        wanted = (_listed(*self._in_the_clear(arrays)) for arrays in tables)
        clear = (self._finished(self.evaluate_clear)(*arrays) for arrays in tables)
        return compared(wanted, clear, local and self._finished(local), samples, encrypted, {})

    def _finished(self, run: Callable[..., Any]) -> Callable[..., list[Values]]:
        """A run on arrays that gives finished statistics."""
        return lambda *arrays: _listed(self._readings, self._by_name(run(*arrays)))

    def _bits_of(self, samples: Sequence[Values]) -> float:
        """The expected bits of finished statistics, which may have fewer than the sums that are encrypted:
        these cancel, and roots near 0 have half of the bits."""
        noisy = self._noisy()
        named = self._finished(lambda *arrays: dict(zip(self.outputs, noisy(*arrays), strict=True)))
        return expected_bits(self._finished(self._recorded_values), named, samples)

    @property
    def _drawn(self) -> list[Values]:
        """As of `Compiled`; of deviations, which are 0 where all rows are equal, such tables, too."""
        found = super()._drawn
        if not self._readings.has_roots or any(each is not None for each in self.made.examples):
            return found
        return [np.concatenate(each) for each in zip(found, draws_of_equal(self._specs), strict=True)]

    def _by_name(self, outputs: Any) -> dict[str, Values]:
        """The values that clients decrypted, by the names of the outputs."""
        names = list(self.outputs)
        named = outputs if isinstance(outputs, Mapping) else {names[0]: outputs}
        return {name: np.asarray(named[name]) for name in names}

    def __repr__(self) -> str:
        return (
            f"<CompiledTable {self._package.name!r} of {self._spec!r}: depth {self.depth}, {self.params!r}>"
        )


def _listed(readings: Readings, outputs: Mapping[str, Values]) -> list[Values]:
    """The finished values, truth values as numbers."""
    return [np.asarray(each, np.float64) for each in readings.values(outputs)]


def compile_table(what: Study, *inputs: Any, calibrate: Any = None, **options: Any) -> CompiledTable:
    """Compile a function on a table into an encrypted program.

        def study(t):
            old = t[t.age > 60]
            return {"stay": old.stay.mean(), "by ward": t.groupby("ward").stay.mean()}

        ranges = {"age": (0, 120), "stay": (0, 90)}
        plan = hm.compile(study, hm.TableSpec.of(frame, ranges=ranges, keys=["ward"]))
        print(plan.local()(frame))

    Args:
        what: the function of a `Table`. Returns a statistic or a column, or a dict of them.
        inputs: the `TableSpec`.
        calibrate: tables, which give ranges to values in between.
        options: those of functions. `precision_bits=` is raised where encrypted counts would not be exact.

    Raises:
        TypeError: for other inputs, and as functions.
        ParameterError: for a function whose results are all public, and as functions.
        MismatchError, LevelError: as functions.
    """
    if len(inputs) != 1:
        raise TypeError(f"a function on a table takes one table, and {len(inputs)} inputs were given")
    (spec,) = inputs
    if options.get("samples", 1) != 1:
        raise ParameterError("samples= is of functions on arrays; a table is one sample")
    frames = () if calibrate is None else calibrate if isinstance(calibrate, (list, tuple)) else (calibrate,)
    bits = float(options.pop("precision_bits", None) or _PRECISION_BITS)
    asked, exact = bits, options.get("scheme", "ckks") != "ckks"
    program = _TableProgram(
        what, spec, _samples(spec, frames), Recorder(precision_bits=math.inf if exact else bits)
    )
    samples = _samples(program.spec, frames)
    options.setdefault("name", str(getattr(what, "__name__", "table")))
    if options.setdefault("layout", "slots") != "slots":
        raise ParameterError("layout= is of functions on arrays; a table is one sample, in slots")
    if exact:
        _require_whole(program.spec)
        del options["layout"]
        return CompiledTable(program, compiling.compile(program, *program.spec.inputs, **options))
    while True:
        try:
            plan = compiling.compile(
                program, *program.spec.inputs, calibrate=samples, precision_bits=bits, **options
            )
        except (PrecisionError, LevelError) as reason:
            if bits == asked:
                raise
            raise PrecisionError(
                f"finished results of {asked:g} bits take {bits:g} bits of what is encrypted, as deviations "
                f"near 0 and counts do: {reason}"
            ) from reason
        # Errors of masks add up over the rows.
        errors = dict(zip(plan.outputs, plan._program.error_bounds(), strict=True))
        error = max((float(errors[name].max()) for name in program.readings.counts()), default=0.0)
        lacking = math.log2(error / _COUNT_ERROR) if error > _COUNT_ERROR else 0.0
        table = CompiledTable(program, plan)
        if not lacking and samples is not None:
            lacking = asked - table._bits_of(samples)
        elif not lacking and program.readings.has_roots:
            lacking = 2 * (asked - table.expected_bits()) - 1
        if lacking <= 1:  # a few draws differ from others
            return table
        bits += math.ceil(lacking)


def _require_whole(spec: TableSpec) -> None:
    """ParameterError for columns that may hold other numbers than whole ones."""
    real = [each.name for each in spec.inputs if each.step is None or each.step % 1]
    if real:
        raise ParameterError(
            f"columns {', '.join(real)} may hold fractions, and exact programs are on whole numbers: make "
            f'the spec with steps={{{real[0]!r}: 1}}, or take scheme="ckks"'
        )


def _samples(spec: TableSpec, frames: Sequence[Any]) -> list[Values] | None:
    """The arrays of tables, of shape (tables, rows) each; None without tables."""
    if not frames:
        return None
    return [np.stack(each) for each in zip(*(spec.arrays(frame) for frame in frames), strict=True)]
