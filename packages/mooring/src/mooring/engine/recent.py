"""A memory that cannot grow without bounds."""

from typing import Generic, TypeVar

V = TypeVar("V")

MOST = 10_000


class Recent(Generic[V]):
    """The latest entries only; the oldest goes first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: dict[str, V] = {}

    def put(self, key: str, value: V) -> None:
        self._kept[key] = value
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]

    def pop(self, key: str) -> None:
        self._kept.pop(key, None)

    def get(self, key: str) -> V | None:
        return self._kept.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def __getitem__(self, key: str) -> V:
        return self._kept[key]
