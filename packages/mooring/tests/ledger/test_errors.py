"""Errors of the database in words."""

import pytest

from mooring.ledger.errors import translated
from mooring.model.errors import Unavailable


def test_a_database_that_hangs_is_described_without_the_name_of_an_exception():
    with pytest.raises(Unavailable) as raised, translated("the database"):
        raise TimeoutError
    assert raised.value.message == "the database does not answer: no answer in time"
