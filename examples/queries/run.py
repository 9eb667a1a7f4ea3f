"""A query continues while its node is drained.

mooring up &
python examples/queries/run.py [--state .state] [--seconds 60]
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pool import NAME, NAMESPACE, PORT, pool_manifest
from queries import QueryDied, ask, calibrate, expected, heavy_sql

from mooring.client import Mooring
from mooring.client.connection import Connection, find_endpoint


def kubectl(state: Path, *arguments: str, body: object = None) -> str:
    """Run one command; its errors go to the terminal."""
    done = subprocess.run(
        ["kubectl", "--kubeconfig", str(state / "kubeconfig"), *arguments],
        input=json.dumps(body) if body is not None else None,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def apply_pool(state: Path) -> None:
    """Create the namespace and the pool on the demo's work nodes, and wait until it is warm."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    kubectl(state, "apply", "-f", "-", body=namespace)
    kubectl(state, "apply", "-f", "-", body=pool_manifest(placement={"nodePool": "blast"}))
    kubectl(state, "-n", NAMESPACE, "wait", "--for=condition=Ready", f"workerpool/{NAME}", "--timeout=60s")


def node_of(connection: Connection, worker: str) -> str:
    """The node of a worker."""
    detail: dict[str, Any] = connection.get(f"/v1/workers/{NAMESPACE}/{worker}", {})
    return str(detail["worker"]["node"])


def await_cordon(connection: Connection, node: str) -> None:
    """Until Mooring has seen that the drain closed the node: a claim that comes before may still get a worker there."""
    while any(one["name"] == node and one["schedulable"] for one in connection.get("/v1/nodes", {})["items"]):
        time.sleep(0.1)


def play(state: Path, seconds: float) -> None:
    """Claim, query, drain meanwhile, and compare the rows with the expected ones."""
    apply_pool(state)
    endpoint = find_endpoint("", "", state)
    connection = Connection(endpoint)
    mooring = Mooring(endpoint.url, endpoint.token)
    key = f"{NAMESPACE}/{NAME}"
    with mooring.claim(key, owner="analyst", ttl="5m", wait="1m") as claim:
        address, node = claim.worker.address, node_of(connection, claim.worker.name)
        rows = calibrate(address, PORT, seconds)
        print(f"{rows:,} rows on {claim.worker.name} at {node}: about {seconds:.0f} s")
        answers: list[Any] = []

        def run_query() -> None:
            try:
                answers.append(ask(address, PORT, heavy_sql(rows)))
            except QueryDied as died:
                answers.append(died)

        query = threading.Thread(target=run_query)
        query.start()
        command = ["kubectl", "--kubeconfig", str(state / "kubeconfig"), "drain", node, "--ignore-daemonsets"]
        drain = subprocess.Popen(
            [*command, "--delete-emptydir-data"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        await_cordon(connection, node)
        with mooring.claim(key, owner="somebody-else", ttl="1m", wait="1m") as other:
            elsewhere = node_of(connection, other.worker.name)
            print(f"meanwhile a new query lands on {other.worker.name} at {elsewhere}")
            assert elsewhere != node
        query.join()
    (answer,) = answers
    if isinstance(answer, QueryDied):
        sys.exit(f"the query died: {answer}")
    assert [tuple(row[:3]) for row in answer["rows"]] == expected(rows)
    print(f"the query returned its {len(answer['rows'])} rows after {answer['seconds']} s")
    _, refused = drain.communicate(timeout=120)
    print(f"the drain waited for it, and ended with {drain.returncode}: {len(refused.splitlines())} lines of kubectl")
    kubectl(state, "uncordon", node)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=Path(".state"))
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    play(given.state, given.seconds)


if __name__ == "__main__":
    main()
