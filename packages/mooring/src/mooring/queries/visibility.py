"""What a reader may see: namespaces by kind, and whether nodes and invariants. Queries are limited to it."""

from copy import copy
from typing import Self

import msgspec


class Namespaces(msgspec.Struct, frozen=True):
    """Some namespaces, or all of them, also those that do not exist yet."""

    everywhere: bool = False
    names: frozenset[str] = frozenset()

    def __contains__(self, namespace: str) -> bool:
        return self.everywhere or namespace in self.names

    @property
    def limit(self) -> frozenset[str] | None:
        """As a filter of the ledger: None means any."""
        return None if self.everywhere else self.names


NOWHERE = Namespaces()
EVERYWHERE = Namespaces(everywhere=True)


class Visibility(msgspec.Struct, frozen=True, kw_only=True):
    """What one reader may see. Those who see the same share their renderings."""

    workerpools: Namespaces = NOWHERE
    warmups: Namespaces = NOWHERE
    submissions: Namespaces = NOWHERE
    managedservices: Namespaces = NOWHERE
    nodes: bool = False
    invariants: bool = False


EVERYTHING = Visibility(
    workerpools=EVERYWHERE,
    warmups=EVERYWHERE,
    submissions=EVERYWHERE,
    managedservices=EVERYWHERE,
    nodes=True,
    invariants=True,
)


class LimitedQueries:
    """Queries that answer everything, until they are limited to what a reader may see."""

    _visibility = EVERYTHING

    def within(self, visibility: Visibility) -> Self:
        """The same queries, limited to what a reader may see."""
        limited = copy(self)
        limited._visibility = visibility
        return limited
