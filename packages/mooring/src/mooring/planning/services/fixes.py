"""Commands that users can paste. Values that only the user knows are in angle brackets."""

import json
import re
import shlex
from typing import Any

from mooring.model.service import Service

_MARK = "\ue000"  # of a blank for a number; a character for private use, which no value contains
_NUMBER = re.compile(r'"\\ue000(<[A-Z]+>)\\ue000"')


def patch_service(service: Service, **spec: Any) -> str:
    """A command that changes fields of the service's spec."""
    return _patch(service.namespace, "managedservice", service.name, {"spec": spec})


def patch_object(namespace: str, kind: str, name: str, body: dict[str, Any]) -> str:
    """A command that changes any object of the namespace."""
    return _patch(namespace, kind, name, body)


def kubectl(namespace: str, *words: str) -> str:
    """A kubectl command in the namespace, quoted for a shell."""
    return shlex.join(["kubectl", "-n", namespace, *words])


def number_blank(name: str) -> str:
    """A blank for a number in a patch: it is printed without quotes, so that a number takes its place."""
    return f"{_MARK}<{name}>{_MARK}"


def _patch(namespace: str, kind: str, name: str, body: dict[str, Any]) -> str:
    text = _NUMBER.sub(r"\1", json.dumps(body))
    return kubectl(namespace, "patch", kind, name, "--type", "merge", "-p", text)
