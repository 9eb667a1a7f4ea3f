"""The rules for a pod's volumes."""

from collections.abc import Callable, Iterator
from typing import Any

from drydock.api.answers.causes import duplicate, forbidden, invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.objects.names import dns_label
from hawser.quantity import parse_quantity

_FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_MOST_MODE = 0o777
_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_NEVER_EXPIRES_BEFORE = 10 * 60
_LONGEST_EXPIRATION = 2**32


def wrong_volumes(path: str, volumes: list[dict[str, Any]]) -> tuple[list[Cause], set[str]]:
    """What is wrong, and the names that containers may mount."""
    wrong: list[Cause] = []
    usable: set[str] = set()
    for index, volume in enumerate(volumes):
        mistakes = list(_wrong_volume(f"{path}[{index}]", volume, usable))
        wrong += mistakes
        if not mistakes:
            usable.add(volume["name"])
    return wrong, usable


def _wrong_volume(path: str, volume: dict[str, Any], earlier: set[str]) -> Iterator[Cause]:
    sources = [key for key in _SOURCE_ORDER if key in volume]
    sources += sorted(volume.keys() - {"name", *_SOURCE_ORDER})
    for source in sources[:1]:
        if check := _CHECKS.get(source):
            yield from check(f"{path}.{source}", volume[source])
    for source in sources[1:]:
        yield forbidden(f"{path}.{source}", "may not specify more than 1 volume type")
    name = volume.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    else:
        yield from (invalid(f"{path}.name", name, told) for told in dns_label(name))
    if name in earlier:
        yield duplicate(f"{path}.name", name)


def _wrong_empty_dir(path: str, source: dict[str, Any]) -> Iterator[Cause]:
    limit = source.get("sizeLimit")
    if limit is not None and parse_quantity(limit) < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _wrong_host_path(path: str, source: dict[str, Any]) -> Iterator[Cause]:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from wrong_backsteps(f"{path}.path", source["path"])
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _wrong_files(name: str) -> Callable[[str, dict[str, Any]], Iterator[Cause]]:
    def check(path: str, source: dict[str, Any]) -> Iterator[Cause]:
        if not source.get(name):
            yield required(f"{path}.{name}")
        yield from _wrong_mode(f"{path}.defaultMode", source.get("defaultMode"))
        for index, item in enumerate(source.get("items") or ()):
            yield from _wrong_item(f"{path}.items[{index}]", item)

    return check


def _wrong_item(path: str, item: dict[str, Any]) -> Iterator[Cause]:
    if not item.get("key"):
        yield required(f"{path}.key")
    if not item.get("path"):
        yield required(f"{path}.path")
    else:
        yield from wrong_descent(f"{path}.path", item["path"])
    yield from _wrong_mode(f"{path}.mode", item.get("mode"))


def _wrong_claim(path: str, source: dict[str, Any]) -> Iterator[Cause]:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _wrong_projection(path: str, source: dict[str, Any]) -> Iterator[Cause]:
    yield from _wrong_mode(f"{path}.defaultMode", source.get("defaultMode"))
    for index, projection in enumerate(source.get("sources") or ()):
        token = projection.get("serviceAccountToken")
        if token is None:
            continue
        here = f"{path}.sources[{index}].serviceAccountToken"
        seconds = token.get("expirationSeconds", 0)
        if seconds < _NEVER_EXPIRES_BEFORE:
            yield invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        elif seconds > _LONGEST_EXPIRATION:
            yield invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        if not token.get("path"):
            yield required(f"{here}.path")


def _wrong_mode(path: str, mode: int | None) -> Iterator[Cause]:
    if mode is not None and not 0 <= mode <= _MOST_MODE:
        yield invalid(path, mode, _FILE_MODE)


def wrong_descent(path: str, target: str) -> Iterator[Cause]:
    if target.startswith("/"):
        yield invalid(path, target, "must be a relative path")
    yield from wrong_backsteps(path, target)


def wrong_backsteps(path: str, target: str) -> Iterator[Cause]:
    if ".." in target.split("/"):
        yield invalid(path, target, "must not contain '..'")


_CHECKS: dict[str, Callable[[str, dict[str, Any]], Iterator[Cause]]] = {
    "emptyDir": _wrong_empty_dir,
    "hostPath": _wrong_host_path,
    "secret": _wrong_files("secretName"),
    "persistentVolumeClaim": _wrong_claim,
    "configMap": _wrong_files("name"),
    "projected": _wrong_projection,
}
_SOURCE_ORDER = tuple(_CHECKS)
