"""`python -m mooring_postgres_gateway.worker`: what runs in a worker's pod. After SIGTERM it finishes its statement.

The environment has `POD_IP`, `POD_UID` and `MOORING_GATEWAY_KEY` (the public key of the gateway).
"""

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path

from hawser.clock import Entropy
from mooring.client.health import answering_health
from mooring.model.errors import Misconfigured
from mooring_postgres_gateway.proof import parse_public_key
from mooring_postgres_gateway.worker.engine import EngineOptions
from mooring_postgres_gateway.worker.server import EngineStore, WorkerIdentity, WorkerServer


async def serve(address: str, port: int, health_port: int, identity: WorkerIdentity, engines: EngineStore) -> None:
    """Until SIGTERM, and then until the session that runs has ended."""
    server = WorkerServer(identity, engines, Entropy())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.draining.set)

    def describe() -> str:
        count, draining = server.sessions, server.draining.is_set()
        return json.dumps({"executing": count > 0, "sessions": count, "draining": draining})

    async with answering_health(address, health_port, describe):
        listening = await asyncio.start_server(server.accept, address, port)
        print(f"answers SQL at {address}:{port}", flush=True)
        await server.draining.wait()
        await server.idle.wait()
        listening.close()
        print("drained", flush=True)


def main() -> None:
    """From the command line and the environment of the pod."""
    parser = argparse.ArgumentParser(prog="python -m mooring_postgres_gateway.worker", description=__doc__)
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--health-port", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=1, help="threads of DuckDB")
    parser.add_argument("--memory", default="512MB", help="memory of DuckDB")
    parser.add_argument("--prelude", type=Path, help="a file with SQL that each session begins with")
    given = parser.parse_args()
    uid, key = os.environ.get("POD_UID", ""), os.environ.get("MOORING_GATEWAY_KEY", "")
    if not uid or not key:
        raise SystemExit("mooring: POD_UID or MOORING_GATEWAY_KEY is not set; the README shows the pool's template")
    try:
        identity = WorkerIdentity(uid, parse_public_key(key))
    except Misconfigured as error:
        raise SystemExit(f"mooring: {error}") from error
    prelude = given.prelude.read_text() if given.prelude else ""
    engines = EngineStore(EngineOptions(given.threads, given.memory, prelude))
    address = os.environ.get("POD_IP", "127.0.0.1")
    asyncio.run(serve(address, given.port, given.health_port, identity, engines))


if __name__ == "__main__":
    main()
