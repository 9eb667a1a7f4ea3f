"""Whose rows a replica believes: its own ledger's, and those of a later incarnation that a person armed."""

from typing import cast

from mooring.engine.incarnation_trust import IncarnationTrust
from mooring.ledger.identity import Meta
from mooring.model.errors import Unavailable


class History:
    """The incarnations of a ledger, the oldest first."""

    def __init__(self, *incarnations: str, away: bool = False) -> None:
        self.incarnations = incarnations
        self.away = away

    async def succeeds(self, incarnation_id: str, earlier_id: str) -> bool:
        if self.away:
            raise Unavailable("the ledger is away")
        known = self.incarnations
        return earlier_id in known and incarnation_id in known[known.index(earlier_id) + 1 :]


def trust(history: History) -> IncarnationTrust:
    return IncarnationTrust("first", cast(Meta, history))


async def test_the_ledger_it_began_with_is_believed() -> None:
    assert await trust(History("first")).expect("first", True) == "first"


async def test_a_restored_ledger_is_believed_once_it_is_armed() -> None:
    believed = trust(History("first", "restored"))
    assert await believed.expect("restored", False) == "first"
    assert await believed.expect("restored", True) == "restored"


async def test_a_restored_ledger_that_was_armed_before_the_first_look_is_believed() -> None:
    believed = trust(History("first", "between", "restored"))
    assert await believed.expect("restored", True) == "restored"
    assert await believed.expect("first", True) == "restored", "an earlier one is not believed again"


async def test_a_backup_older_than_the_believed_incarnation_is_believed_if_it_was_seen_unarmed() -> None:
    believed = trust(History("zeroth", "restored"))
    assert await believed.expect("restored", True) == "first"
    await believed.expect("restored", False)
    assert await believed.expect("restored", True) == "restored"


async def test_another_ledger_that_was_armed_all_along_is_not_believed() -> None:
    assert await trust(History("empty and new")).expect("empty and new", True) == "first"


async def test_while_the_history_cannot_be_read_nothing_new_is_believed() -> None:
    history = History("first", "restored", away=True)
    believed = trust(history)
    assert await believed.expect("restored", True) == "first"
    history.away = False
    assert await believed.expect("restored", True) == "restored"
