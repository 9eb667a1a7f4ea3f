"""`mooring sandbox`: the embedded cluster alone, until a signal stops it."""

from dataclasses import dataclass
from pathlib import Path

from drydock import RUNTIMES, LocalOptions, plain_nodes, run_local_cluster
from mooring.model.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class SandboxCommand:
    """The arguments of `sandbox`."""

    nodes: int
    state: Path
    port: int
    runtime: str


def run_sandbox(command: SandboxCommand) -> None:
    """Run until SIGINT or SIGTERM; one line on stdout says when it is ready."""
    runtime = next((name for name in RUNTIMES if name == command.runtime), None)
    if runtime is None:
        raise InvalidInput("--runtime", command.runtime, " or ".join(RUNTIMES))
    options = LocalOptions(nodes=plain_nodes(command.nodes), runtime=runtime, port=command.port, context="mooring")
    run_local_cluster(command.state, options)
