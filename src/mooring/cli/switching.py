"""`pause` and `resume`: flip a kill switch and say what that means."""

import getpass
from urllib.parse import quote

from mooring.client.connection import Connection, Endpoint


def flip(verb: str, invariant: str, reason: str, endpoint: Endpoint) -> None:
    """Flip one switch; the audit trail keeps who did it and why."""
    body = {"reason": reason, "actor": f"cli/{getpass.getuser()}"}
    Connection(endpoint).request("POST", f"/v1/invariants/{quote(invariant, safe='')}/{verb}", body=body)
    told = "paused: it will not act until resumed" if verb == "pause" else "resumed"
    print(f"invariant/{invariant} {told}")
