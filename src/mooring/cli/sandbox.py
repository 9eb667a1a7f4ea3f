"""`mooring sandbox`: the embedded cluster alone, until it is interrupted."""

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from mooring.clock import Entropy, SystemClock
from mooring.model.errors import InvalidInput
from mooring.sandbox.cluster import LocalOptions, RuntimeName, local_sandbox, plain_nodes

RUNTIMES: tuple[RuntimeName, ...] = ("process", "simulated")


@dataclass(frozen=True, slots=True)
class SandboxCommand:
    """What was asked for."""

    nodes: int
    state: Path
    port: int
    runtime: str


def run_sandbox(command: SandboxCommand) -> None:
    """Run until SIGINT or SIGTERM; one line on stdout says when it is ready."""
    asyncio.run(_run(command, _options(command)))


def _options(command: SandboxCommand) -> LocalOptions:
    runtime = next((name for name in RUNTIMES if name == command.runtime), None)
    if runtime is None:
        raise InvalidInput("--runtime", command.runtime, " or ".join(RUNTIMES))
    return LocalOptions(nodes=plain_nodes(command.nodes), runtime=runtime, port=command.port)


async def _run(command: SandboxCommand, options: LocalOptions) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with local_sandbox(command.state, SystemClock(), Entropy(), options) as sandbox:
        print(f"ready: {sandbox.url}  kubectl --kubeconfig {sandbox.kubeconfig} get nodes", flush=True)
        await stop.wait()
        print("stopping", file=sys.stderr)
