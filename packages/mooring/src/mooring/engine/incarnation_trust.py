"""Which incarnation of the ledger a replica trusts: the one it started with, or a later one that an operator armed."""


class IncarnationTrust:
    """An incarnation that begins after a restore is unarmed until an operator declares it complete.

    One that was never seen unarmed is another database: it is trusted only after a restart.
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
