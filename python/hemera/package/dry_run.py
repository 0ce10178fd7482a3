"""The needs and costs of packaged models: their prepared programs, run where operations are counted."""

from __future__ import annotations

from dataclasses import replace

from hemera import _core
from hemera._noise_warning import budgets_are_known
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.package.interface import Interface
from hemera.package.prepared import PreparedModel, evaluate_apart, inside
from hemera.program.keys import AskedKeys, KeyList
from hemera.program.program import Program
from hemera.times.table import DeviceTimes


def keys_of_a_run(interface: Interface, program: Program) -> KeyList:
    """The keys that a run asks for with the program's parameters. LevelError for too few levels."""
    ledger = Context(interface.params, "ledger", threads=1)
    return KeyList.of(interface.params, asked_keys(interface, program, ledger))


def asked_keys(interface: Interface, program: Program, ledger: Context) -> list[AskedKeys]:
    """The keys that each operation asks for. One request is run, without values.

    Args:
        ledger: of the device "ledger", of the package's parameters or another library's.
    """
    model = PreparedModel(interface, program, ledger, has_values=False)
    _, _, context, levels = inside(model)
    dry = DryRun(context, symmetric=True)
    keys = [dry.asking() for _ in program.nodes]
    own = context.bind(dry.asking())
    with budgets_are_known():
        inputs = dry.encrypted(_fresh_inputs(model), own)
        evaluate_apart(model, own, inputs, [context.bind(each) for each in keys])
    found = []
    for node, each in zip(program.nodes, keys, strict=True):
        by_gadget, by_level = _core.asked_keys(each._native)
        plan = AskedKeys.of_plans(node.operation, program.place(node, context.params, levels))
        found.append(replace(plan, by_gadget=by_gadget, by_level=by_level))
    return found


def noise_of_a_run(model: PreparedModel) -> tuple[list[Ciphertext], list[Ciphertext]]:
    """Inputs as the public key encrypts them, and the outputs: with their levels and bounds on noise, which
    follow from the program alone, and no values.

    Args:
        model: in a context of the device "ledger" and the package's parameters.
    """
    dry = DryRun(model.context)
    with budgets_are_known():
        inputs = dry.encrypted(_fresh_inputs(model), dry.bind(dry.asking()))
        return inputs, model.run(dry.asking(), inputs)


def cost_of(model: PreparedModel, requests: int | None, times: DeviceTimes | None) -> Cost:
    """The cost of a run with the package's keys.

    Args:
        model: in a context of the device "ledger" and the package's parameters.
        requests: at once; None: one, without an axis of requests.
        times: of a device.
    """
    context, keys = model.context, inside(model)[0].keys
    return DryRun(context, symmetric=True).cost(
        lambda evaluator: lambda *inputs: model.run(evaluator, inputs),
        _fresh_inputs(model, () if requests is None else (requests,)),
        needs=keys.all_needs(context),
        times=times,
    )


def _fresh_inputs(model: PreparedModel, requests: tuple[int, ...] = ()) -> list[FreshInput]:
    """The inputs as clients encrypt them."""
    interface, _, context, _ = inside(model)
    levels = interface.input_levels(context.params)
    return [
        FreshInput((*requests, *spec.shape, spec.slots), level)
        for spec, level in zip(interface.inputs, levels, strict=True)
    ]
