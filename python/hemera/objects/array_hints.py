"""Hemera's calls in place of NumPy's, for the errors of ciphertexts."""

_DOT = "x.dot(w) sums the slots of x * w, x @ matrix is of CKKS, ev.dot(xs, ys) sums products x * y"
_MAXIMUM = "hm.circuits.maximum(largest=...)(x, y) is near the larger of two, slot by slot, for CKKS"
_MINIMUM = "-hm.circuits.maximum(largest=...)(-x, -y) is near the smaller of two, slot by slot, for CKKS"
IN_PLACE_OF_ABS = "hm.circuits.abs(interval)(x) is near it, for CKKS"
_TRANSPOSED = (
    "the slots are no axis of the batch; encrypt the transposed array, or use hm.circuits.LinearTransform"
)
_COMPARED = "equal messages have different encryptions: decrypt and compare the values"
IN_PLACE_OF_NUMPY = {
    "asarray": "its values are encrypted: ctx.decrypt(x, secret_key) gives an array",
    **dict.fromkeys(("dot", "vdot", "inner", "vecdot", "tensordot", "einsum"), _DOT),
    "matmul": "x @ matrix multiplies by a plain matrix of two axes, for CKKS, x @ w by a vector",
    "sum": "x.sum() makes every slot their sum, hm.add_many(xs) adds ciphertexts",
    "mean": "x.mean() has the mean of CKKS slots in each; BFV and BGV have no division",
    **dict.fromkeys(
        ("var", "std"), "d = x - x.mean() and (d * d).mean() are deviations and variance, for CKKS"
    ),
    "prod": "hm.multiply_many(xs) multiplies ciphertexts",
    "stack": "hm.stack(xs) joins ciphertexts along a new axis",
    **dict.fromkeys(
        ("concatenate", "vstack", "hstack"), "hm.concatenate(xs) joins ciphertexts along their first axis"
    ),
    "roll": "x.rotate(k) turns slots to the left, so np.roll(x, k) is x.rotate(-k)",
    **dict.fromkeys(("reshape", "ravel"), "x.reshape(shape) is of the batch"),
    "copy": "x.copy()",
    **dict.fromkeys(("shape", "ndim", "size"), "x.shape and x.ndim are of the batch, x.slots counts values"),
    "square": "x.square()",
    "negative": "-x",
    "positive": "x.copy()",
    **dict.fromkeys(("power", "float_power"), "x**n for n = 1, 2, 3, ..."),
    **dict.fromkeys(("conjugate", "conj"), "x.conjugate(), for CKKS"),
    "divide": "x / y for plain y and CKKS; nothing divides by a ciphertext, but "
    "hm.circuits.divide(numerator, denominator)(x, y) is near x / y of CKKS, "
    "hm.circuits.inverse(interval) near 1 / x",
    "polyval": "x.polyval(coefficients), for CKKS, the lowest power first",
    **dict.fromkeys(("max", "amax", "maximum.reduce"), _MAXIMUM),
    **dict.fromkeys(("min", "amin", "minimum", "minimum.reduce"), _MINIMUM),
    **dict.fromkeys(("absolute", "fabs", "abs"), IN_PLACE_OF_ABS),
    **dict.fromkeys(("transpose", "T"), _TRANSPOSED),
    **{
        name: f"hm.circuits.{name}(...) is near it on an interval, for CKKS"
        for name in ("exp", "log", "sqrt", "tanh", "sign", "maximum")
    },
    "reciprocal": "hm.circuits.inverse(interval) is near it, for CKKS",
    **dict.fromkeys(("equal", "not_equal", "array_equal", "allclose"), _COMPARED),
    **dict.fromkeys(
        ("less", "less_equal", "greater", "greater_equal"),
        "hm.circuits.compare(gap=...) is an encrypted 0 or 1, for CKKS; else decrypt and compare the values",
    ),
}
"""The call in place of a function of NumPy, by its name."""


IN_PLACE_OF_ATTRIBUTES = {
    **{
        name: IN_PLACE_OF_NUMPY[name]
        for name in (
            *("max", "min", "var", "std", "prod", "T", "transpose", "conj", "ravel", "einsum", "inner"),
            *("sqrt", "exp", "log", "tanh", "roll"),
        )
    },
    "flatten": IN_PLACE_OF_NUMPY["ravel"],
    "argmax": "hm.circuits.argmax(count, gap=...)(x) has 1 in the place of the largest slot, for CKKS; else "
    "decrypt and compare the values",
    **dict.fromkeys(("argmin", "argsort", "sort"), _COMPARED),
    **dict.fromkeys(
        ("decrypt", "tolist", "numpy", "item", "astype", "real", "imag"),
        "ctx.decrypt(x, secret_key) gives its values, to whoever has the secret key",
    ),
}
"""The call in place of an attribute of arrays, by its name."""
