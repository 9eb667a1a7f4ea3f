"""`mooring arm`: declare the claims of a restored ledger complete, so that rules act again."""

import getpass

from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput


def arm(reason: str, endpoint: Endpoint) -> None:
    """Arm the incarnation that is there now; the audit trail keeps who did it and why."""
    if not reason.strip():
        raise InvalidInput("--reason", reason, "how you know that the claims are complete; the audit trail keeps it")
    connection = Connection(endpoint)
    found = connection.get("/v1/ledger")
    if found["armed"]:
        print(f"ledger/{found['incarnation']} is armed already ({found['cause']})")
        return
    body = {"incarnation": found["incarnation"], "reason": reason, "actor": f"cli/{getpass.getuser()}"}
    connection.request("POST", "/v1/ledger/arm", body=body)
    print(f"ledger/{found['incarnation']} armed: rules act again ({found['cause']} since {found['since']})")
