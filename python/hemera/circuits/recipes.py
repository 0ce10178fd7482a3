"""Functions from their names and numbers: what files keep of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hemera import _core
from hemera.circuits import activations, elementary
from hemera.circuits.functions import Function

_OF_INTERVALS: dict[str, Callable[..., Function]] = {
    own.__name__: own
    for own in (
        *(elementary.sigmoid, elementary.tanh, elementary.gelu, elementary.exp, elementary.log),
        *(elementary.inverse, elementary.sqrt, elementary.clip),
        *(activations.relu, activations.abs, activations.leaky_relu, activations.silu, activations.softplus),
    )
}
_OF_NUMBERS: dict[str, Callable[..., Function]] = {
    own.__name__: own for own in (elementary.sign, elementary.compare, elementary.maximum)
}


def from_recipe(name: str, recipe: Mapping[str, float]) -> Function:
    """The function of this `Function.name` and `Function.recipe`: what files keep of it.

    Raises:
        ParameterError: for another name, or other numbers than it is made of.
    """
    numbers = dict(recipe)
    try:
        if name in _OF_INTERVALS:
            interval = (numbers.pop("low"), numbers.pop("high"))
            return _OF_INTERVALS[name](interval=interval, **numbers)
        if name == activations.divide.__name__:
            intervals = [
                (numbers.pop(f"{which}_low"), numbers.pop(f"{which}_high"))
                for which in ("numerator", "denominator")
            ]
            return activations.divide(intervals[0], intervals[1], **numbers)
        if name in _OF_NUMBERS:
            return _OF_NUMBERS[name](**numbers)
    except (KeyError, TypeError):
        raise _core.ParameterError(f"{name} is not made of {', '.join(recipe) or 'nothing'}") from None
    known = [*_OF_INTERVALS, activations.divide.__name__, *_OF_NUMBERS]
    raise _core.ParameterError(f"no function is named {name!r}; there are {', '.join(known)}")
