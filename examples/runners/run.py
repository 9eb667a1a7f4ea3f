"""Twenty CI jobs on four warm runners of a local Mooring. One runner is killed, one mint fails, no job is lost.

mooring up &
python examples/runners/run.py [--state .state] [--json]
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import pool
from mint import running_mint
from repository import make_repository

from mooring.client import Mooring
from mooring.client.connection import Connection, find_endpoint
from mooring.client.errors import MintFailed

JOBS = 20
BROKEN = (3, 11)  # these jobs test the branch with the bug
KILLED = 6  # the runner of this job is killed
AT_ONCE = 8

# $1 repository, $2 branch, $3 file for the runner's pid and host, $4 additional seconds of the tests
SCRIPT = """
echo "$PPID $(uname -n)" > "$3.part" && mv "$3.part" "$3.$MOORING_EPOCH"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
git clone --quiet --branch "$2" "$1" "$work/clone" && cd "$work/clone" || exit 9
echo "branch $2 with ${CLONE_TOKEN:-no token}"
sleep "$4"
python3 -m unittest 2>&1
"""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one job."""

    job: int
    branch: str
    exit_code: int
    asked: int  # how often it was requested: after a failed mint again
    starts: int
    worker: str
    output: str


class Jobs:
    """All jobs on one repository."""

    def __init__(self, mooring: Mooring, repository: Path, notes: Path) -> None:
        self._mooring = mooring
        self._repository = repository
        self._notes = notes

    def run(self, number: int) -> Report:
        """Run a job once and return its report. A job whose mint failed has not begun, so it is requested again."""
        branch = "broken" if number in BROKEN else "main"
        note = self._notes / f"job-{number}"
        arguments = [str(self._repository), branch, str(note), "3" if number == KILLED else "0"]
        payload = {"command": ["sh", "-c", SCRIPT, "job", *arguments]}
        for asked in range(1, 4):
            try:
                result = self._mooring.run(
                    pool.KEY,
                    owner=f"team-{number % 4}",
                    payload=payload,
                    key=f"{self._notes.name}-job-{number}-{asked}",
                    ttl="30s",
                    timeout="3m",
                    retryable=True,
                )
            except MintFailed as failure:
                print(f"job {number}: {failure.message}; asked again", file=sys.stderr)
                continue
            starts = len(self.runners_of(number))
            return Report(number, branch, result.exit_code, asked, starts, result.worker, result.output)
        raise RuntimeError(f"job {number}: no credentials in three attempts")

    def runners_of(self, number: int) -> list[int]:
        """The pids of the runners that began the job, the latest last."""
        return [int(note.split()[0]) for note in self.notes_of(number)]

    def notes_of(self, number: int) -> list[str]:
        """Pid and host of the runners that began the job, the latest last."""
        notes = self._notes.glob(f"job-{number}.[0-9]*")
        return [note.read_text() for note in sorted(notes, key=lambda note: int(note.suffix[1:]))]

    def kill_a_runner(self) -> None:
        """Kill the runner when the job is running; its worker restarts and does not know the job."""
        while not (pids := self.runners_of(KILLED)):
            time.sleep(0.05)
        os.kill(pids[0], signal.SIGKILL)
        print(f"killed the runner of job {KILLED}, pid {pids[0]}", file=sys.stderr)


def run_all(state: Path) -> tuple[list[Report], dict[str, int]]:
    """The reports, and what was left behind."""
    mooring = Connection(find_endpoint("", "", state))
    kubeconfig = state / "kubeconfig"
    with tempfile.TemporaryDirectory(prefix="mooring-runners-") as folder, running_mint() as mint_url:
        repository = make_repository(Path(folder) / "repository")
        jobs = Jobs(Mooring(state=state), repository, Path(folder))
        asyncio.run(pool.make(kubeconfig, mint_url))
        try:
            asyncio.run(pool.wait_until_warm(mooring))
            threading.Thread(target=jobs.kill_a_runner, daemon=True).start()
            with ThreadPoolExecutor(AT_ONCE) as threads:
                reports = list(threads.map(jobs.run, range(1, JOBS + 1)))
        finally:
            left = asyncio.run(pool.remove(kubeconfig, mooring))
    return reports, left


def find_fault(reports: list[Report], left: dict[str, int]) -> str:
    """What is wrong with the result; empty if nothing."""
    if [report.job for report in reports] != list(range(1, JOBS + 1)):
        return "not every job was reported once"
    for report in reports:
        if report.exit_code != (1 if report.job in BROKEN else 0):
            return f"job {report.job} ended with exit code {report.exit_code}: {report.output}"
        if report.starts != (2 if report.job == KILLED else 1):
            return f"job {report.job} was begun {report.starts} times"
    if sum(report.asked - 1 for report in reports) != 1:
        return "the mint did not fail exactly once"
    return f"left behind: {left}" if any(left.values()) else ""


def main() -> int:
    """0 if every job was reported once and nothing is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=Path(".state"), help="the state folder of `mooring up`")
    parser.add_argument("--json", action="store_true", help="the reports for programs")
    options = parser.parse_args()
    began = time.monotonic()
    reports, left = run_all(options.state)
    fault = find_fault(reports, left)
    if options.json:
        print(json.dumps({"reports": [asdict(report) for report in reports], "left": left, "fault": fault}))
    else:
        for report in reports:
            told = report.output.strip().splitlines()
            print(f"job {report.job:2}  exit {report.exit_code}  {report.worker:12}  {told[0]}: {told[-1]}")
        print(fault or f"{len(reports)} jobs, each reported once, in {time.monotonic() - began:.0f} s; nothing is left")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
