"""An object that cannot be decoded is answered with the field that is wrong, and with the one that was meant."""

import pytest

from mooring.model.errors import InvalidInput
from mooring.model.submission import read_spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"key": "k", "batchs": []}, "unknown field spec.batchs (did you mean batches?)"),
        ({"key": "k", "batches": [{"nam": "x"}]}, "unknown field spec.batches[0].nam (did you mean name?)"),
        ({"key": "k", "zzz": 1}, "unknown field spec.zzz"),
        ({"key": 5}, "spec.key: expected `str`, got `int`"),
    ],
)
def test_the_wrong_field_is_named(spec: object, message: str):
    with pytest.raises(InvalidInput) as refused:
        read_spec(spec)
    assert refused.value.message == message
    assert refused.value.code == "invalid_input" and refused.value.detail["field"].startswith("spec")


def test_the_fix_of_an_unknown_field_lists_those_that_exist():
    with pytest.raises(InvalidInput) as refused:
        read_spec({"key": "k", "batchs": []})
    assert "batches" in refused.value.fix and refused.value.fix.startswith("fields of spec: ")
