"""`mooring-blast`: commands for people, and those that run in pods."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mooring.model.errors import MooringError
from mooring_blast import commands


def main(arguments: list[str] | None = None) -> int:
    """Run one command; an error is one line, and exit code 1."""
    asked = _parser().parse_args(arguments)
    # SIGTERM ends a command as Ctrl-C does, so that the object store of the demo ends with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script in the background ignores it
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        asyncio.run(asked.command(asked))
    except MooringError as error:
        print(f"mooring-blast: {error}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mooring-blast", description="BLAST over shards that Mooring keeps warm.")
    steps = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_people(steps)
    _add_pods(steps)
    return parser


def _add_people(steps: Any) -> None:
    upload = _add(steps, "upload", commands.upload, "upload a database in shards, one folder each")
    upload.add_argument("folder", type=Path)
    _add_generation(upload)
    manifests = _add(steps, "manifests", commands.manifests, "print namespace and Warmup for kubectl apply")
    _add_generation(manifests)
    _add_site(manifests)
    page = _add(steps, "page", commands.page, "serve the page")
    _add_site(page)
    _add_listen(page)
    page.add_argument("--state", type=Path, default=None, help="state folder of a local mooring up")
    query = _add(steps, "query", commands.query, "send a query to the page, and print the hits")
    query.add_argument("file", type=Path, help="FASTA")
    address = os.environ.get("BLAST_PAGE", "http://127.0.0.1:8090")
    query.add_argument("--page", default=address, help="address of the page ($BLAST_PAGE, %(default)s)")
    query.add_argument("--timeout", type=float, default=900.0, help="seconds (%(default)s)")
    demo = _add(steps, "demo", commands.demo, "an S3 server, a database, a Warmup and the page on a local mooring up")
    demo.add_argument("--state", type=Path, default=Path(".state"), help="of mooring up (%(default)s)")
    demo.add_argument("--folder", type=Path, default=None, help="for the database and the objects (STATE/blast)")
    _add_listen(demo)


def _add_pods(steps: Any) -> None:
    fetch = _add(steps, "fetch", commands.fetch, "in a Warmup: fetch a shard")
    fetch.add_argument("--silence", type=float, default=30.0, help="seconds without a byte (%(default)s)")
    fetch.add_argument("--patience", type=float, default=180.0, help="seconds without progress (%(default)s)")
    _from_environment(fetch, "--dataset", "MOORING_DATASET", str)
    _from_environment(fetch, "--generation", "MOORING_GENERATION", str)
    _from_environment(fetch, "--shard", "MOORING_SHARD", int)
    verify = _add(steps, "verify", commands.verify, "in a Warmup: verify a shard")
    for command in (fetch, verify):
        _from_environment(command, "--folder", "MOORING_SHARD_PATH", Path)
    batch = _add(steps, "batch", commands.batch, "in a Submission: search one shard")
    batch.add_argument("--batch", type=int, required=True)
    batch.add_argument("--folder", type=Path, required=True)
    _from_environment(batch, "--shard", "MOORING_SHARD", int)
    merge = _add(steps, "merge", commands.merge, "in a Submission: merge all reports")
    for command in (batch, merge):
        _from_environment(command, "--search", "BLAST_SEARCH", str)


def _add(steps: Any, name: str, command: Callable[..., Any], words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = steps.add_parser(name, help=words, description=words)
    parser.set_defaults(command=command)
    return parser


def _add_generation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--generation", required=True, help="a generation does not change: new content, new generation")


def _add_site(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--namespace", default="blast")
    parser.add_argument("--warmup", default="nt", help="its name (%(default)s)")
    parser.add_argument("--secret", default="blast-store", help="with the keys of the store (%(default)s)")
    parser.add_argument("--image", default="mooring/blast", help="with mooring-blast and blastn in it (%(default)s)")
    parser.add_argument("--python", default="python3", help="of the image (%(default)s)")
    parser.add_argument("--local-path", default="/var/lib/blast", help="on the nodes (%(default)s)")
    parser.add_argument("--pod-store", default="", metavar="URL", help="address of the store for pods ($BLAST_STORE)")
    parser.add_argument(
        "--run-as", type=int, default=None, metavar="UID", help="of the pods; it writes to --local-path"
    )
    parser.add_argument("--node-pool", default="", help="nodes with this label of a node pool")
    parser.add_argument("--node-selector", action="append", default=[], metavar="LABEL=VALUE")


def _add_listen(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--listen", default="127.0.0.1:8090", help="(%(default)s)")


def _from_environment(
    parser: argparse.ArgumentParser, option: str, variable: str, kind: Callable[[str], object]
) -> None:
    given = os.environ.get(variable)
    parser.add_argument(option, type=kind, default=given, required=given is None, help=f"${variable}")
