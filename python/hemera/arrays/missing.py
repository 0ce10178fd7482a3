"""Attributes of NumPy's arrays that encrypted ones do not have: errors that name the way out."""

from __future__ import annotations

import numpy as np

from hemera.inputs.arguments import did_you_mean

__all__ = ["IN_PLACE", "missing", "refused"]

_VALUES = (
    "its values are encrypted when the program runs; return it as a result, and take them after decryption"
)
IN_PLACE = (
    "encrypted arrays do not change so: write x = x + y in place of x += y, and np.where(mask, new, x), "
    "np.concatenate and np.insert make another one"
)
"""The advice of errors for functions that change arrays in place."""
_INSTEAD = {
    **dict.fromkeys(("data", "dump", "dumps", "item", "tobytes", "tofile", "tolist", "view"), _VALUES),
    **dict.fromkeys(("fill", "itemset", "put", "resize", "setfield"), IN_PLACE),
    "argpartition": "np.argsort(x) has the order of few elements",
    "conj": "its values are real: the array is its conjugate",
    "conjugate": "its values are real: the array is its conjugate",
    "imag": "its values are real",
    "nonzero": "the shape of its result depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    "partition": "np.sort(x) makes a sorted array",
    "ptp": "np.max(x) - np.min(x) is the same",
    "round": "it jumps; give inputs a step, hm.ArraySpec(shape, range=, step=), and round in the clear",
    "searchsorted": "np.digitize(values, x) of plain edges x is the same",
    "sort": "it changes the array in place; np.sort(x) makes a sorted one",
}

_OTHERWISE = "docs/compile.md has the functions that do; x.approximated(f) is any function of one number"
_FUNCTIONS_INSTEAD = {
    "ptp": "np.max(x) - np.min(x) is the same",
    "nonzero": "its shape depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    "flatnonzero": "its shape depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    "argwhere": "its shape depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    "unique": "its shape depends on the values; np.bincount counts",
    **dict.fromkeys(("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"), IN_PLACE),
}


def refused(function: str) -> str:
    """The error for a function of NumPy, or another library, that takes no encrypted array."""
    way = _FUNCTIONS_INSTEAD.get(function.removeprefix("np."), _OTHERWISE)
    return f"{function} takes no encrypted array: {way}"


def missing(name: str, instance: object) -> AttributeError:
    """The error for an attribute that an encrypted array does not have."""
    own = type(instance)
    told = f"an encrypted array has no {name!r}"
    if name in _INSTEAD:
        told += f": {_INSTEAD[name]}"
    elif not name.startswith("_"):
        told += did_you_mean(name, (each for each in dir(own) if not each.startswith("_")))
        if hasattr(np.ndarray, name):
            told += ". docs/compile.md has the functions and methods of NumPy that there are"
    return AttributeError(told, name=name, obj=instance)
