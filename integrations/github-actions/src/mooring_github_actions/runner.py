"""The program of the pod: GitHub's own runner, for the one job of a session.

    python -m mooring.client.worker -- python -m mooring_github_actions.runner

The agent passes the payload of the claim on stdin; the mint has put the configuration of the runner there.
`ACTIONS_RUNNER_DIR` is the folder of the runner, with `run.sh` (default: /home/runner, as in GitHub's image).
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from mooring.model.errors import InvalidInput

FOLDER = "/home/runner"
NOT_RUNNABLE = 126


def read_command(payload: object, environment: Mapping[str, str]) -> list[str]:
    """The command line of the runner."""
    found = payload.get("jitconfig") if isinstance(payload, dict) else None
    if not isinstance(found, str) or not found:
        raise InvalidInput("payload.jitconfig", found, "text; set spec.mint of the pool to the receiver")
    program = Path(environment.get("ACTIONS_RUNNER_DIR") or FOLDER) / "run.sh"
    if not os.access(program, os.X_OK):
        raise InvalidInput("ACTIONS_RUNNER_DIR", str(program.parent), "a folder with an executable run.sh")
    return [str(program), "--jitconfig", found]


def main() -> None:
    """Become the runner."""
    try:
        command = read_command(json.load(sys.stdin), os.environ)
    except (InvalidInput, ValueError) as error:
        print(f"mooring-github-actions: {error}", file=sys.stderr)
        sys.exit(NOT_RUNNABLE)
    os.chdir(Path(command[0]).parent)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
