"""Commands that people can paste. What only they can know stands in angle brackets."""

import json
import shlex
from typing import Any

from mooring.model.service import Service


def patch_service(service: Service, **spec: Any) -> str:
    """Change fields of the service's spec."""
    return _patch(service.namespace, "managedservice", service.name, {"spec": spec})


def patch_object(namespace: str, kind: str, name: str, body: dict[str, Any]) -> str:
    """Change any object of the namespace."""
    return _patch(namespace, kind, name, body)


def kubectl(namespace: str, *words: str) -> str:
    """A kubectl command in the namespace, quoted for a shell."""
    return shlex.join(["kubectl", "-n", namespace, *words])


def _patch(namespace: str, kind: str, name: str, body: dict[str, Any]) -> str:
    return kubectl(namespace, "patch", kind, name, "--type", "merge", "-p", json.dumps(body))
