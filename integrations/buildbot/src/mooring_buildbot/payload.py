"""What a claim carries to the pod: how its `buildbot-worker` reaches the master, and as whom. No I/O."""

from dataclasses import dataclass, field
from typing import Any

from mooring.model.errors import InvalidInput

FIELD = "buildbot"
INSTANCE = "mooring_instance"  # file in the worker's info folder: Buildbot shows it, and compares it at the connection
CLAIM = "mooring_claim"


@dataclass(frozen=True, slots=True)
class WorkerLogin:
    """One `buildbot-worker` for one claim. `instance` is new for each claim, the password is not."""

    name: str
    password: str = field(repr=False)
    master: str  # a Twisted endpoint: `tcp:host=...:port=...` or `tls:...`
    instance: str

    def encode(self) -> dict[str, Any]:
        """As payload of a claim."""
        login = {"name": self.name, "password": self.password, "master": self.master, "instance": self.instance}
        return {FIELD: login}


def decode_login(payload: object) -> WorkerLogin:
    """From the payload of a claim; raises `InvalidInput` with the field that is wrong."""
    login = payload.get(FIELD) if isinstance(payload, dict) else None
    if not isinstance(login, dict):
        raise InvalidInput(f"payload.{FIELD}", login, "an object; claim this pool with MooringLatentWorker")
    found = {}
    for name in ("name", "password", "master", "instance"):
        value = login.get(name)
        if not isinstance(value, str) or not value:
            shown = "..." if name == "password" else value
            raise InvalidInput(f"payload.{FIELD}.{name}", shown, "text that is not empty")
        found[name] = value
    return WorkerLogin(**found)
