"""The gateway on a running `mooring up`, and a drain under its queries.

mooring-postgres-gateway-demo [--state .state] [--port 6432]     # a pool and a gateway, until Ctrl-C
mooring-postgres-gateway-demo --drain [--state .state]           # queries while their node is drained
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from mooring.client.connection import Connection, find_endpoint
from mooring_postgres_gateway.command import make_user
from mooring_postgres_gateway.demo_queries import Queries
from mooring_postgres_gateway.pool import pool_manifest, pool_spec
from mooring_postgres_gateway.proof import encode_public_key, load_private_key, write_private_key

NAMESPACE, POOL = "postgres", "duck"
USER, PASSWORD, DATABASE = "demo", "demo", "demo"
_DIRECTORY = f"""
[databases.{DATABASE}]
pool = "{NAMESPACE}/{POOL}"
owner = "demo"
users = ["{USER}"]
idle_seconds = 2.0
"""


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


def prepare(state: Path) -> Path:
    """A key, a directory and a warm pool; returns the folder of the gateway's files."""
    folder = state / "postgres-gateway"
    folder.mkdir(exist_ok=True)
    private = folder / "key.pem"
    key = load_private_key(private) if private.exists() else write_private_key(private)
    (folder / "directory.toml").write_text(make_user(USER, PASSWORD) + _DIRECTORY)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    spec = pool_spec(encode_public_key(key), placement={"nodePool": "blast"})
    kubectl(state, "apply", "-f", "-", body=namespace)
    kubectl(state, "apply", "-f", "-", body=pool_manifest(NAMESPACE, POOL, spec))
    kubectl(state, "-n", NAMESPACE, "wait", "--for=condition=Ready", f"workerpool/{POOL}", "--timeout=120s")
    return folder


def serve(state: Path, port: int) -> int:
    """Prepare, then run the gateway until Ctrl-C."""
    folder = prepare(state)
    words = [sys.executable, "-m", "mooring_postgres_gateway.command", "serve", "--state", str(state)]
    words += ["--directory", str(folder / "directory.toml"), "--key", str(folder / "key.pem"), "--port", str(port)]
    gateway = subprocess.Popen([*words, "--drain-seconds", "10"])
    (folder / "port").write_text(str(port))
    print(f"connect: psql {url(port)}", flush=True)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: gateway.terminate())
    with suppress(KeyboardInterrupt):
        gateway.wait()
    return gateway.wait()


def url(port: int) -> str:
    """Where a client connects."""
    return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/{DATABASE}"


def busy_node(state: Path) -> str:
    """The node of a worker that serves a session."""
    connection = Connection(find_endpoint("", "", state))
    found: dict[str, Any] = connection.get("/v1/workers", {"pool": f"{NAMESPACE}/{POOL}"})
    busy = [str(worker["node"]) for worker in found["items"] if worker["state"] in ("claimed", "busy")]
    if not busy:
        raise SystemExit("no worker is busy")
    return busy[0]


def drain(state: Path) -> int:
    """Drain the node of a busy worker while queries run; returns the number of queries that failed."""
    noted = state / "postgres-gateway" / "port"
    if not noted.exists():
        raise SystemExit(f"no gateway was started in {noted.parent}; start it with 'mooring-postgres-gateway-demo'")
    port = int(noted.read_text())
    queries = Queries(url(port), os.environ.get("PSQL", "psql"))
    queries.start()
    node = busy_node(state)
    print(f"drains {node} while queries run on it", flush=True)
    kubectl(state, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=300s")
    print(f"{node} is drained", flush=True)
    queries.finish()
    kubectl(state, "uncordon", node)
    print(f"{queries.done} queries returned the right rows, {len(queries.failures)} failed")
    for failure in queries.failures:
        print(failure)
    return len(queries.failures)


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(prog="mooring-postgres-gateway-demo", description=__doc__)
    parser.add_argument("--state", type=Path, default=Path(".state"))
    parser.add_argument("--port", type=int, default=6432)
    parser.add_argument("--drain", action="store_true", help="drain a node under the queries of a running demo")
    given = parser.parse_args()
    sys.exit(1 if (drain(given.state) if given.drain else serve(given.state, given.port)) else 0)


if __name__ == "__main__":
    main()
