"""Which incarnation of the ledger a replica believes: the one it began with, or a later one that somebody armed."""


class LedgerTrust:
    """Incarnations that begin after a restore are unarmed; seen armed later, they were declared complete by a person.

    One that was never seen unarmed is another database altogether: it is believed only after a restart.
    """

    def __init__(self, incarnation: str) -> None:
        self._expected = incarnation
        self._unarmed: set[str] = set()

    def expect(self, incarnation: str, armed: bool) -> str:
        """What the rails have to compare with, after a look at the ledger as it is now."""
        if not armed:
            self._unarmed.add(incarnation)
        elif incarnation in self._unarmed:
            self._expected = incarnation
        return self._expected
