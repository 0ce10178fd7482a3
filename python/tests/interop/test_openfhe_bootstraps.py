"""Contexts of OpenFHE that were set up for bootstraps, of 1.4 and later: their fields, levels and damages."""

import json
import re

import pytest

import hemera as hm
from hemera.interop import openfhe

from .foreign_files import VECTORS, read, read_all

OF_1_4 = read_all(VECTORS / "openfhe-versions" / "1.4.2" / "bootstrap")
LATER = VECTORS / "openfhe" / "ckks-bootstrap-context" / "cryptocontext.json"


@pytest.mark.parametrize(
    "budgets",
    [{8: None}, {8: 3}, {8: 3, 16: 2}, {8: 1, 16: 3}, {8: None, 16: 2}, {8: None, 16: None}],
    ids=str,
)
def test_sessions_tell_the_lowest_level_that_bootstraps_take(budgets):
    """SlotToCoeff first takes the levels of its budget, else (None) one is enough. A plan for ciphertexts of
    any number of slots asks for what the most demanding ones need."""
    text = json.loads(read(LATER))
    scheme = text["value0"]["ptr_wrapper"]["data"]["kt"]["ptr_wrapper"]["data"]["value0"]["value0"]
    settings = scheme["fhe"]["ptr_wrapper"]["data"]["paramMap"]
    (own,) = settings
    settings.clear()
    for number, (slots, budget) in enumerate(budgets.items()):
        setting = json.loads(json.dumps(own))
        data = setting["value"]["ptr_wrapper"]["data"]
        data |= {"slots": slots, "BTSlotsEncoding": budget is not None, "lDec": budget or 2}
        setting["value"]["ptr_wrapper"]["id"] += number
        settings.append({**setting, "key": slots})
    session = openfhe.Session(json.dumps(text).encode(), device="cpu")
    levels = {slots: budget or 1 for slots, budget in budgets.items()}
    assert session.bootstrap_input_levels == levels
    plan = session.evaluator._bootstrap
    assert plan is not None
    assert plan.input_level == max(levels.values())


def fields(text):
    """Fields of JSON, without the versions of classes: OpenFHE's wheels write 0, other builds of it 1."""
    return json.loads(re.sub(rb'"cereal_class_version": [01],', b"", text))


def test_contexts_that_1_4_set_up_for_bootstraps_keep_their_fields():
    """1.4 does not write which side comes first, and reads back what it writes alone."""
    files = {"binary": OF_1_4["cryptocontext.bin"], "json": OF_1_4["cryptocontext.json"]}
    for data in files.values():
        session = openfhe.Session(data, device="cpu")
        assert session.bootstrap_input_levels == {8: 1, 16: 1}
        assert len(session.dump_context()) == len(files["binary"])
        assert fields(session.dump_context(format="json")) == fields(files["json"])
    # The same in the ciphertext's own context, with one setting for each number of slots, too.
    written = session.dump_ciphertext(session.load_ciphertext(OF_1_4["ct.bin"]))
    again = openfhe.Session(written, device="cpu").dump_context(format="json")
    assert fields(again) == fields(files["json"])


@pytest.mark.parametrize("factor", [0, 1, 7, 256, 511])
def test_no_correction_factor_passes_for_a_field_of_another_version(factor):
    """Binary files do not show whether a truth value stands before it."""
    for text, of_1_5 in ((OF_1_4["cryptocontext.json"], False), (read(LATER), True)):
        changed = re.sub(rb'"corFactor": \d+', b'"corFactor": %d' % factor, text)
        assert changed.count(b'"corFactor": %d' % factor) == 1
        for first in (False, True) if of_1_5 else (False,):
            if first:
                changed = changed.replace(b'"BTSlotsEncoding": false', b'"BTSlotsEncoding": true')
            binary = openfhe.Session(changed, device="cpu").dump_context()
            again = openfhe.Session(binary, device="cpu").dump_context(format="json")
            assert fields(again) == fields(changed)


def test_damaged_contexts_of_1_4_are_refused():
    whole = OF_1_4["cryptocontext.bin"]
    for size in (*range(len(whole) - 120, len(whole)), *range(1, len(whole) - 120, 37)):
        with pytest.raises(hm.errors.FormatError, match=r"1\.4 to 1\.6"):
            openfhe.Session(whole[:size], device="cpu")
    with pytest.raises(hm.errors.FormatError, match="left over"):
        openfhe.Session(whole + b"\0", device="cpu")


def test_versions_stand_behind_damage_alone():
    """What no version would make better is no matter of versions."""
    switching = (
        b'"schswitch": {"polymorphic_id": 2147483652, "polymorphic_name": "lbcrypto::SWITCHCKKSRNS", '
        b'"ptr_wrapper": {"id": 2147483677, "data": {}}}'
    )
    text = OF_1_4["cryptocontext.json"]
    changed, count = re.subn(rb'"schswitch": \{\s*"polymorphic_id": 0\s*\}', switching, text)
    assert count == 1
    with pytest.raises(hm.errors.FormatError, match="scheme switching") as caught:
        openfhe.Session(changed, device="cpu")
    assert "versions" not in str(caught.value)
    with pytest.raises(hm.errors.FormatError, match=r"files of OpenFHE .* none of older versions"):
        openfhe.Session(text.replace(b'"corFactor"', b'"corfactor"'), device="cpu")
