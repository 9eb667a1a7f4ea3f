"""The command `drydock`: a cluster on this machine, a real control plane, or the programs of one.

drydock up           the embedded cluster, until it is interrupted
drydock kubernetes   a real control plane with drydock's nodes, until it is interrupted
drydock build        find or build the programs of the real control plane, once
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from drydock.cluster import RUNTIMES, LocalOptions, plain_nodes
from drydock.foreground import run_kubernetes, run_local_cluster
from drydock.kubernetes.binaries import build_binaries
from hawser.errors import HawserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 for a failure, printed in one line; argparse ends with 2 for wrong arguments."""
    given = _parser().parse_args(arguments)
    try:
        match given.command:
            case "up":
                run_local_cluster(given.state, _options(given))
            case "kubernetes":
                run_kubernetes(given.state, _options(given))
            case "build":
                _build()
    except HawserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="drydock", description="A Kubernetes on one machine.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="run the embedded cluster until it is interrupted")
    kubernetes = commands.add_parser("kubernetes", help="run a real control plane until it is interrupted")
    for command in (up, kubernetes):
        command.add_argument("--nodes", type=_count, default=1, metavar="N", help="number of nodes (1)")
        command.add_argument("--state", type=Path, default=Path(".drydock"), metavar="DIR", help="state (.drydock)")
        command.add_argument("--port", type=_port, default=0, metavar="N", help="port of the API (0: a free one)")
        command.add_argument("--runtime", choices=RUNTIMES, default="process", help="what runs containers (process)")
    commands.add_parser("build", help="build the programs of the real control plane, once; prints their paths")
    return parser


def _options(given: argparse.Namespace) -> LocalOptions:
    return LocalOptions(nodes=plain_nodes(given.nodes), runtime=given.runtime, port=given.port)


def _build() -> None:
    binaries = build_binaries(lambda line: print(line, file=sys.stderr))
    for path in (binaries.apiserver, binaries.controller_manager, binaries.scheduler, binaries.etcd):
        print(path)


def _count(text: str) -> int:
    return _whole(text, 0, 1000)


def _port(text: str) -> int:
    return _whole(text, 0, 65535)


def _whole(text: str, lowest: int, highest: int) -> int:
    if not text.isascii() or not text.isdecimal() or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")
    return int(text)
