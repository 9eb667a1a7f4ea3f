"""The program of the demo's containers: `python -m mooring.demo fetch|verify|verify-blast|search|merge …`."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mooring.demo.blast import check_database
from mooring.demo.records import search
from mooring.demo.reports import merge_reports, report_path
from mooring.demo.shards import DatasetDamaged, fetch, shard_folder, verify


def main() -> int:
    """Run one step and print its result."""
    asked = _parser().parse_args()
    try:
        print(asked.step(asked), flush=True)
    except DatasetDamaged as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


def _fetch(asked: argparse.Namespace) -> str:
    source = shard_folder(asked.source, asked.shard)
    copied = fetch(source, asked.target)
    return f"fetched {source.name}: {copied} bytes copied, the rest was there already"


def _verify(asked: argparse.Namespace) -> str:
    return f"verified {verify(asked.target)} file(s): every checksum is right"


def _verify_blast(asked: argparse.Namespace) -> str:
    message = _verify(asked)
    if problem := check_database(asked.target):
        raise DatasetDamaged(problem)
    return f"{message}, and BLAST finds the database sound"


def _search(asked: argparse.Namespace) -> str:
    found = search(asked.target, asked.word)
    asked.results.mkdir(parents=True, exist_ok=True)
    report_path(asked.results, asked.name).write_text("".join(f"{line}\n" for line in found))
    return f"{len(found)} record(s) hold {asked.word!r}"


def _merge(asked: argparse.Namespace) -> str:
    return f"merged {merge_reports(asked.results)} hit(s)"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mooring.demo", description=__doc__)
    steps = parser.add_subparsers(required=True)
    fetching = steps.add_parser("fetch")
    fetching.add_argument("--source", type=Path, required=True)
    fetching.add_argument("--shard", **_from_environment("MOORING_SHARD", int))
    fetching.add_argument("--target", **_from_environment("MOORING_SHARD_PATH", Path))
    fetching.set_defaults(step=_fetch)
    for name, step in (("verify", _verify), ("verify-blast", _verify_blast)):
        verifying = steps.add_parser(name)
        verifying.add_argument("--target", **_from_environment("MOORING_SHARD_PATH", Path))
        verifying.set_defaults(step=step)
    searching = steps.add_parser("search")
    searching.add_argument("--target", type=Path, required=True)
    searching.add_argument("--word", required=True)
    searching.add_argument("--name", required=True)
    searching.add_argument("--results", type=Path, required=True)
    searching.set_defaults(step=_search)
    merging = steps.add_parser("merge")
    merging.add_argument("--results", type=Path, required=True)
    merging.set_defaults(step=_merge)
    return parser


def _from_environment(variable: str, kind: Callable[[str], object]) -> dict[str, Any]:
    """An option whose default comes from a variable of the Warmup."""
    given = os.environ.get(variable)
    return {"type": kind, "default": kind(given)} if given else {"type": kind, "required": True}


if __name__ == "__main__":
    sys.exit(main())
