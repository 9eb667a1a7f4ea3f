"""Follows the changes that a reflector tells, and objects when they do not add up."""

from typing import Any

from hawser.cache import Change


class Witness:
    """Subscribe its `hear`: an addition, a change or a deletion must fit what was heard before, and never be older."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}
        self.newest: dict[str, int] = {}

    def hear(self, change: Change[Any]) -> None:
        item = change.latest
        name = item.metadata.name
        version = int(item.metadata.resource_version)
        before = self.held.get(name)
        match change.kind:
            case "added":
                assert before is None
                assert version > self.newest.get(name, 0)
                self.held[name] = item
            case "modified":
                assert change.old is before
                assert before is not None
                assert version > self.newest[name]
                assert item.metadata.uid == before.metadata.uid
                self.held[name] = item
            case "deleted":
                assert before is not None
                assert version >= self.newest[name]
                assert item.metadata.uid == before.metadata.uid
                del self.held[name]
        self.newest[name] = version

    @property
    def versions(self) -> dict[str, str]:
        """What should be in the cache by now."""
        return {name: item.metadata.resource_version for name, item in self.held.items()}
