"""One cluster, user or context of a kubeconfig, read field by field; what is wrong is said with file, field and fix."""

import base64
import errno
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hawser.errors import Misconfigured

MOST_FILE_BYTES = 10_000_000


def read_file(path: Path) -> bytes:
    """The whole file; raises `OSError`, also for one that is too large, or endless as a device."""
    with path.open("rb") as file:
        content = file.read(MOST_FILE_BYTES + 1)
    if len(content) > MOST_FILE_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {MOST_FILE_BYTES} bytes", str(path))
    return content


@dataclass(frozen=True, slots=True)
class Entry:
    """A named part of a kubeconfig. `where` is its path in the file, such as `users[alice].user`."""

    file: Path
    where: str
    fields: Mapping[str, Any]

    def has(self, field: str) -> bool:
        return self.fields.get(field) not in (None, "", [], {})

    def text(self, field: str) -> str:
        """A string; empty when it is not there."""
        value = self.fields.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(field, f"is {type(value).__name__}, not text", "write it as text, in quotes if need be")
        return value

    def flag(self, field: str) -> bool:
        value = self.fields.get(field)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self.wrong(field, f"is {type(value).__name__}, not true or false", "write true or false")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        value = self.fields.get(field) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(field, "is not a list of text", "write a list, each item in quotes if need be")
        return tuple(value)

    def part(self, field: str) -> "Entry":
        """A map inside this one."""
        value = self.fields.get(field)
        if not isinstance(value, dict):
            raise self.wrong(field, "is not a map", "write `name: value` pairs below it")
        return Entry(self.file, self._place(field), value)

    def parts(self, field: str) -> tuple["Entry", ...]:
        """The maps of a list inside this one."""
        value = self.fields.get(field) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.wrong(field, "is not a list of maps", "write a list of `name: value` pairs")
        place = self._place(field)
        return tuple(Entry(self.file, f"{place}[{index}]", item) for index, item in enumerate(value))

    def path(self, field: str) -> Path:
        """A path; a relative one starts at the folder of the kubeconfig."""
        named = self.text(field)
        if "\0" in named:
            raise self.wrong(field, "has a zero byte, so it names no file", "correct the path")
        try:
            return self.file.parent / Path(named).expanduser()
        except RuntimeError as error:
            raise self.wrong(field, f"is {named!r}, the home of a user that does not exist", "correct it") from error

    def content(self, field: str) -> bytes:
        """What `<field>-data` holds in base64, else what is in the file that `<field>` names; else nothing."""
        inline = f"{field}-data"
        if self.source_of(field) == inline:
            try:
                return base64.b64decode("".join(self.text(inline).split()), validate=True)
            except ValueError as error:  # as binascii.Error is, and what is not ASCII
                raise self.wrong(inline, f"is not base64: {error}", "encode the PEM file: base64 -w0 FILE") from error
        if not self.has(field):
            return b""
        path = self.path(field)
        try:
            return read_file(path)
        except OSError as error:
            what = f"names {path}, which cannot be read: {error.strerror}"
            raise self.wrong(field, what, "correct the path or the file's permissions") from error

    def source_of(self, field: str) -> str:
        """The field that `content` reads."""
        return f"{field}-data" if self.has(f"{field}-data") else field

    def wrong(self, field: str, what: str, fix: str) -> Misconfigured:
        """The error for a field."""
        place = self._place(field)
        detail = {"file": str(self.file), "field": place}
        return Misconfigured(f"kubeconfig {self.file}: {place} {what}", fix=fix, detail=detail)

    def _place(self, field: str) -> str:
        return f"{self.where}.{field}" if self.where else field
