"""The command `drydock`: a cluster on this machine, a real control plane, or the programs of one.

drydock up           the embedded cluster, until it is interrupted
drydock kubernetes   a real control plane with drydock's nodes, until it is interrupted
drydock nodes        a real control plane with real nodes, until it is interrupted
drydock fault        make something happen to a real node or a container on it
drydock load         give an image to all real nodes
drydock build        find or build the programs of the real control plane, or of real nodes, once
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from drydock.cluster import RUNTIMES, LocalOptions, plain_nodes
from drydock.foreground import run_kubernetes, run_local_cluster, run_nodes
from drydock.kubernetes.binaries import build_binaries
from drydock.kubernetes.components import PlaneOptions
from drydock.nodes.cluster import RealOptions
from drydock.nodes.control import ask
from drydock.nodes.faults import FAULTS
from drydock.nodes.machine import compute_lacks, read_machine
from drydock.nodes.network import MOST_NODES
from drydock.nodes.programs import build_node_programs
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
            case "nodes":
                run_nodes(given.state, RealOptions(given.nodes, PlaneOptions(port=given.port)))
            case "fault":
                ask(given.state, {"do": "fault", "fault": given.fault, "target": given.target})
            case "load":
                ask(given.state, {"do": "load", "archive": str(given.archive.resolve())})
            case "build":
                _build(given.nodes)
    except HawserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="drydock", description="A Kubernetes on one machine.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="run the embedded cluster until it is interrupted")
    kubernetes = commands.add_parser("kubernetes", help="run a real control plane until it is interrupted")
    nodes = commands.add_parser("nodes", help="run a real control plane with real nodes until it is interrupted")
    fault = commands.add_parser(
        "fault", help="make something happen to a real node", formatter_class=argparse.RawTextHelpFormatter
    )
    load = commands.add_parser("load", help="import an image archive on all real nodes")
    build = commands.add_parser("build", help="build the programs of the real control plane, once; prints their paths")
    for command in (up, kubernetes, nodes, fault, load):
        command.add_argument("--state", type=Path, default=Path(".drydock"), metavar="DIR", help="state (.drydock)")
    for command in (up, kubernetes):
        command.add_argument("--nodes", type=_count, default=1, metavar="N", help="number of nodes (1)")
        command.add_argument("--runtime", choices=RUNTIMES, default="process", help="what runs containers (process)")
    for command in (up, kubernetes, nodes):
        command.add_argument("--port", type=_port, default=0, metavar="N", help="port of the API (0: a free one)")
    nodes.add_argument("--nodes", type=_real_count, default=3, metavar="N", help="number of nodes (3)")
    meanings = "\n".join(f"{name}: {meaning}" for name, meaning in FAULTS.items())
    fault.add_argument("fault", choices=FAULTS, metavar="FAULT", help=meanings)
    fault.add_argument("target", metavar="TARGET", help="name of a node; for oom NAMESPACE/POD[/CONTAINER]")
    load.add_argument("archive", type=Path, metavar="ARCHIVE", help="docker or OCI archive")
    build.add_argument("--nodes", action="store_true", help="also those of real nodes")
    return parser


def _options(given: argparse.Namespace) -> LocalOptions:
    return LocalOptions(nodes=plain_nodes(given.nodes), runtime=given.runtime, port=given.port)


def _build(nodes: bool) -> None:
    binaries = build_binaries(_say)
    for path in (binaries.apiserver, binaries.controller_manager, binaries.scheduler, binaries.etcd):
        print(path)
    if nodes:
        for path in build_node_programs(_say):
            print(path)
        lacks, packages = compute_lacks(read_machine())
        if lacks:
            install = f" (apt-get install {' '.join(packages)})" if packages else ""
            _say(f"to run real nodes this machine still needs {', '.join(lacks)}{install}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _count(text: str) -> int:
    return _whole(text, 0, 1000)


def _real_count(text: str) -> int:
    return _whole(text, 1, MOST_NODES)


def _port(text: str) -> int:
    return _whole(text, 0, 65535)


def _whole(text: str, lowest: int, highest: int) -> int:
    if not text.isascii() or not text.isdecimal() or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")
    return int(text)
