"""Settings of a Mooring process. Each has an environment variable; docs/settings.md lists them all."""

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import get_type_hints

from mooring.model.errors import InvalidInput


def _setting(default: object, description: str) -> object:
    return field(default=default, metadata={"description": description})


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator may choose. Names in the environment: `MOORING_` + the name in capitals."""

    host: str = _setting("127.0.0.1", "Address the API and the dashboard listen on.")  # type: ignore[assignment]
    port: int = _setting(8080, "Port the API and the dashboard listen on.")  # type: ignore[assignment]
    state: Path = _setting(Path(".state"), "Folder for tokens, the embedded cluster and the embedded database.")  # type: ignore[assignment]
    database: str = _setting("", "PostgreSQL URL; empty starts the embedded server under the state folder.")  # type: ignore[assignment]
    database_connections: int = _setting(10, "Most connections to PostgreSQL.")  # type: ignore[assignment]
    kubeconfig: str = _setting("", "Kubeconfig file; empty means $KUBECONFIG, ~/.kube/config or the pod's own account.")  # type: ignore[assignment]
    context: str = _setting("", "Context of the kubeconfig; empty means its current one.")  # type: ignore[assignment]
    token: str = _setting("", "Bearer token of the API; empty makes one in the state folder.")  # type: ignore[assignment]
    replica: str = _setting("", "Name of this replica; empty means the host's name.")  # type: ignore[assignment]
    log_level: str = _setting("info", "debug, info, warning or error.")  # type: ignore[assignment]

    @classmethod
    def from_environment(cls, environment: dict[str, str] | None = None) -> "Settings":
        """Read every `MOORING_*` variable; an unreadable or unknown one is an error that names it."""
        environment = dict(os.environ) if environment is None else environment
        types = get_type_hints(cls)
        values: dict[str, object] = {}
        for setting in fields(cls):
            variable = f"MOORING_{setting.name.upper()}"
            text = environment.get(variable)
            if text is None:
                continue
            wanted = types[setting.name]
            if wanted is int and not text.isdigit():
                raise InvalidInput(variable, text, "a whole number")
            values[setting.name] = wanted(text)
        return cls(**values)  # type: ignore[arg-type]
