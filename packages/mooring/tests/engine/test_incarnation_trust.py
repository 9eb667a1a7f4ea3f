"""Whose rows a replica believes: its own ledger's, and those of a later incarnation that a person armed."""

from mooring.engine.incarnation_trust import IncarnationTrust


def test_the_ledger_it_began_with_is_believed() -> None:
    assert IncarnationTrust("first").expect("first", True) == "first"


def test_a_restored_ledger_is_believed_once_it_is_armed() -> None:
    trust = IncarnationTrust("first")
    assert trust.expect("restored", False) == "first"
    assert trust.expect("restored", True) == "restored"


def test_another_ledger_that_was_armed_all_along_is_not_believed() -> None:
    assert IncarnationTrust("first").expect("empty and new", True) == "first"
