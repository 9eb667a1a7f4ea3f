"""The kinds being served: the built-in ones, and the custom ones that come and go with their definitions."""

from collections.abc import Iterable, Sequence

from drydock.api.kinds.kind import Kind


class Catalog:
    """Finds a kind by the words of a request path."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self._custom: dict[str, list[Kind]] = {}
        self.revision = 0  # rises when the kinds change, for caches of what is made from them
        for kind in kinds:
            self._kinds[kind.group, kind.version, kind.plural] = kind

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def kinds(self) -> list[Kind]:
        return list(self._kinds.values())

    def define(self, definition: str, kinds: Sequence[Kind]) -> None:
        """Serve the kinds of a definition instead of those it had before; none ends it."""
        for kind in self._custom.pop(definition, ()):
            del self._kinds[kind.group, kind.version, kind.plural]
        for kind in kinds:
            self._kinds[kind.group, kind.version, kind.plural] = kind
        if kinds:
            self._custom[definition] = list(kinds)
        self.revision += 1
