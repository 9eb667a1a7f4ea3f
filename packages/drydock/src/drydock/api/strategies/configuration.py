"""ConfigMaps, Secrets and ServiceAccounts."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

from drydock.api.answers.causes import forbidden, immutable, invalid, required, too_long
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object, PlainStrategy
from drydock.api.objects.names import config_key

_LARGEST = 1024 * 1024
_SEALED = "field is immutable when `immutable` is set"
_NEEDED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"


class ConfigMapStrategy(PlainStrategy):
    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(_wrong_config(new))

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        return [*_unsealed(new, old, "data", "binaryData"), *_wrong_config(new)]


class SecretStrategy(PlainStrategy):
    def prepare_create(self, new: Object, context: Context) -> None:
        new["type"] = new.get("type") or "Opaque"
        if plain := new.pop("stringData", None):
            encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
            new["data"] = {**(new.get("data") or {}), **encoded}

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        new["type"] = new.get("type") or old["type"]
        self.prepare_create(new, context)

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(_wrong_secret(new))

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        wrong = [immutable("type", new["type"])] if new["type"] != old["type"] else []
        return [*wrong, *_unsealed(new, old, "data"), *_wrong_secret(new)]


def _unsealed(new: Object, old: Object, *names: str) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", _SEALED)
    for name in names:
        if (new.get(name) or {}) != (old.get(name) or {}):
            yield forbidden(name, _SEALED)


def _wrong_config(config: Object) -> Iterator[Cause]:
    data: dict[str, str] = config.get("data") or {}
    binary: dict[str, str] = config.get("binaryData") or {}
    for key in data:
        yield from _wrong_key("data", key)
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from _wrong_key("binaryData", key)
    size = sum(len(value.encode()) for value in data.values()) + sum(map(_decoded_size, binary.values()))
    if size > _LARGEST:
        yield too_long("", _LARGEST)


def _wrong_secret(secret: Object) -> Iterator[Cause]:
    data: dict[str, Any] = secret.get("data") or {}
    for key in data:
        yield from _wrong_key("data", key)
    if sum(map(_decoded_size, data.values())) > _LARGEST:
        yield too_long("data", _LARGEST)
    kind = secret["type"]
    if kind == _ACCOUNT_TOKEN and not (secret["metadata"].get("annotations") or {}).get(_ACCOUNT_NAME):
        yield required(f"metadata.annotations[{_ACCOUNT_NAME}]")
    for key in _NEEDED_KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield required("data[username]")
        yield required("data[password]")


def _wrong_key(path: str, key: str) -> Iterator[Cause]:
    return (invalid(f"{path}[{key}]", key, told) for told in config_key(key))


def _decoded_size(value: str) -> int:
    try:
        return len(base64.b64decode(value or ""))
    except binascii.Error:
        return 0
