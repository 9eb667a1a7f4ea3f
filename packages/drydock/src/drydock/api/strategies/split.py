"""Kinds with a spec and a status: each is written through its own endpoint, and neither writes the other's part."""

from collections.abc import Iterable, Iterator, Sequence

from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object
from drydock.api.patch.json_patch import copy_json

STATUS = "status"


class SplitStrategy:
    """Keeps the parts apart. A kind says what its defaults are, what its status is at first, and what is wrong."""

    def defaults(self, new: Object) -> None:
        """Fill in what the client left out."""

    def on_create(self, new: Object, context: Context) -> None:
        """Decide what only the server decides about a new object."""

    def initial_status(self, new: Object, context: Context) -> Object:
        return {}

    def wrong(self, new: Object) -> Iterator[Cause]:
        """What is wrong with the object as such."""
        return iter(())

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        """What may not change. Only asked when the object itself is written."""
        return iter(())

    def wrong_status(self, new: Object, old: Object) -> Iterator[Cause]:
        """What is wrong with a written status."""
        return iter(())

    def keep_on_status_update(self, new: Object, old: Object) -> None:
        """What besides the spec a status update leaves alone."""

    def prepare_create(self, new: Object, context: Context) -> None:
        self.defaults(new)
        self.on_create(new, context)
        new[STATUS] = self.initial_status(new, context)

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(self.wrong(new))

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        if subresource == STATUS:
            for key in (new.keys() | old.keys()) - {STATUS, "metadata", "apiVersion", "kind"}:
                keep(key, new, old)
            new.setdefault(STATUS, {})
            self.keep_on_status_update(new, old)
        else:
            keep(STATUS, new, old)
            self.defaults(new)

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        if subresource == STATUS:
            return list(self.wrong_status(new, old))
        if new.get("spec") == old.get("spec"):
            return list(self.wrong_update(new, old))
        return [*self.wrong(new), *self.wrong_update(new, old)]


def show_times(conditions: Iterable[Object] | None, *names: str) -> None:
    """Times of conditions that a Go struct shows though they are not set."""
    for condition in conditions or ():
        for name in names:
            condition.setdefault(name, None)


def hide_zeros(status: Object, *names: str) -> None:
    """Counts that a Go struct leaves out when they are zero."""
    for name in names:
        if status.get(name) == 0:
            del status[name]


def keep(key: str, new: Object, old: Object) -> None:
    """The old value, also when that is none."""
    if key in old:
        new[key] = copy_json(old[key])
    else:
        new.pop(key, None)
