"""Values that the client in JavaScript encodes and reads, without its module: Python's are the same, NumPy
judges results, and what Python refuses is refused."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.package.maps import client_maps

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node (package nodejs)")
CLIENT = Path(__file__).resolve().parents[3] / "clients" / "javascript"
SCRIPT = f"""
    import {{ readFileSync }} from 'node:fs';
    import {{ Model }} from {json.dumps((CLIENT / "served.mjs").as_uri())};
    const {{ maps, scheme, arrays, slots }} = JSON.parse(readFileSync(0, 'utf8'));
    const typed = (own) => (scheme === 'ckks' ? Float64Array.from(own) : BigInt64Array.from(own, BigInt));
    const secret = {{ encrypt: (values) => Array.from(values, Number), decrypt: typed }};
    const context = {{ describe: () => ({{ scheme }}), generateSecretKey: () => secret }};
    const model = new Model({{ openContext: () => context }}, 'model', '/', maps, 128);
    try {{
      const named = maps.inputs.map((each) => [each.name, model.given(each, arrays[each.name])]);
      const flat = Object.fromEntries(named);
      const count = model.count(flat);
      const encoded = model.encrypt(flat, 0, count);
      console.log(JSON.stringify({{ encoded, ...(slots && model.read([model.decrypt(slots)], count)) }}));
    }} catch (error) {{
      console.log(JSON.stringify({{ error: `${{error.name}}: ${{error.message}}` }}));
    }}"""


def asked(plan, arrays, slots=None):
    interface = plan.package.interface
    given = {"maps": client_maps(interface), "scheme": interface.scheme, "arrays": arrays, "slots": slots}
    found = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)


X = np.array([[1.0, 3.0, 0.0], [2.0, 5.0, 4.0]])
EXACT = {"scheme": "bfv", "security": None}
WHOLE = hm.ArraySpec((2, 3), range=(0, 5), step=1)


@pytest.mark.parametrize("options", [{"security": None}, EXACT], ids=["ckks", "bfv"])
def test_results_are_numpy_s(options):
    def function(x):
        return {"is": x > 2, "sum": np.sum(x, 1), "any": np.any(x > 5), "twice": 2 * x}

    plan = hm.compile(function, WHOLE, **options)
    package = plan.package
    encoded = package.interface.encode(X)
    modulus = getattr(package.params, "plain_modulus", 0)
    values = package.program.evaluate_clear(encoded, modulus)
    slots = {each.name: own.tolist() for each, own in zip(package.outputs, values, strict=True)}
    found = asked(plan, {"x": X.tolist()}, slots)
    for spec, own in zip(package.inputs, encoded, strict=True):
        np.testing.assert_array_equal(found["encoded"][spec.name], own)
    for name, wanted in function(X).items():
        own = np.array(found["results"][name]["values"])
        assert (own.dtype.kind == "b") == (wanted.dtype.kind == "b")
        assert found["results"][name]["shape"] == list(np.shape(wanted))
        np.testing.assert_allclose(own, np.ravel(wanted), atol=2.0**-8)
    assert asked(plan, {"x": X.ravel().tolist()})["encoded"] == found["encoded"]  # row by row


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            X.T.tolist(),
            "MismatchError: x: an array of shape .2,3. is needed for each sample, not one of .3,2.",
        ),
        ([[1, 3], [0, 2, 5, 4]], "MismatchError: .* not one of .2,2."),
        ([X.tolist(), X.tolist()], "MismatchError: .* not one of 12 numbers"),
        ([[1, None, 0], [2, 5, 4]], "TypeError: values are numbers, and null is none"),
        ([[1, "", 0], [2, 5, 4]], 'TypeError: values are numbers, and "" is none'),
        ([[1, 2.5, 0], [2, 5, 4]], "ParameterError: x: the model is for multiples of 1, and 2.5 is none"),
        ([[1, 6, 0], [2, 5, 4]], "ParameterError: x: the model is for values from 0 to 5, not 6"),
    ],
)
def test_what_is_no_array_of_the_model_is_refused(rows, told):
    plan = hm.compile(lambda x: x > 2, WHOLE, security=None)
    assert re.match(told, asked(plan, {"x": rows})["error"])


def test_steps_hold_where_values_are_brought_into_the_range():
    spec, shown = hm.ArraySpec((3,), step=1), np.arange(15.0).reshape(5, 3)
    plan = hm.compile(lambda x: x > 2, spec, calibrate=shown, security=None)
    assert asked(plan, {"x": [1, 300, 3]})["encoded"]["x"][:3] == [1, plan.package.inputs[0].high, 3]
    with pytest.raises(hm.errors.ParameterError, match=r"multiples of 1, and 2\.5 is none"):
        plan.evaluate_clear([1, 2.5, 3])
    assert "multiples of 1, and 2.5 is none" in asked(plan, {"x": [1, 2.5, 3]})["error"]


def test_exact_results_beyond_what_numbers_hold_are_refused():
    plan = hm.compile(lambda x: x * 2**17, hm.ArraySpec((1,), range=(0, 2**37), dtype=int), **EXACT)
    for most, fits in ((2**53 - 1, True), (2**53, False)):
        found = asked(plan, {"x": [1]}, {"output": [str(most)] * plan.params.max_slots})
        assert ("results" in found) == fits
        assert fits or "is beyond 2^53" in found["error"]
