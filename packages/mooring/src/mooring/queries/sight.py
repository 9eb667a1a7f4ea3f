"""What a reader may see: namespaces by kind, and whether nodes and invariants. Queries are limited to it."""

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


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What one reader may see. Equal sights share their renderings."""

    workerpools: Namespaces = NOWHERE
    warmups: Namespaces = NOWHERE
    submissions: Namespaces = NOWHERE
    managedservices: Namespaces = NOWHERE
    nodes: bool = False
    invariants: bool = False


EVERYTHING = Sight(
    workerpools=EVERYWHERE,
    warmups=EVERYWHERE,
    submissions=EVERYWHERE,
    managedservices=EVERYWHERE,
    nodes=True,
    invariants=True,
)
