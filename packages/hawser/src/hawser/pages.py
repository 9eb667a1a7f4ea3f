"""Lists of objects: a page of one, and a whole one."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
Items = list


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list; `continue_token` is empty on the last one."""

    items: Items[T]
    resource_version: str
    continue_token: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A whole list, all of it as of one resource version."""

    items: Items[T]
    resource_version: str
