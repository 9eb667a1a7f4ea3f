"""The receiver: `python -m mooring_github_actions`. Settings come from the environment; README.md lists them."""

import asyncio
import os
import signal
import sys

from hawser.clock import SystemClock
from mooring.client import AsyncMooring
from mooring.model.errors import MooringError
from mooring_github_actions.github import GitHub
from mooring_github_actions.receiver import Receiver
from mooring_github_actions.reconciler import Reconciler
from mooring_github_actions.runners import Runners
from mooring_github_actions.server import serving
from mooring_github_actions.settings import Settings, read_settings


async def serve(settings: Settings) -> None:
    """Until SIGTERM or SIGINT."""
    clock, mooring = SystemClock(), AsyncMooring()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with GitHub(settings.installation, settings.key, clock) as github:
        runners = Runners(github, settings.policy.rules, settings.policy.owner, settings.group)
        reconciler = Reconciler(mooring, github, settings.policy, clock)
        receiver = Receiver(settings.secrets, reconciler, runners, mooring, clock)
        async with serving(receiver.application(), settings.host, settings.port):
            working = asyncio.create_task(reconciler.run())
            ended = asyncio.create_task(stopping.wait())
            print(f"receives at http://{settings.host}:{settings.port}/webhook", file=sys.stderr, flush=True)
            try:
                await asyncio.wait({working, ended}, return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    working.result()  # an error nobody expected ends the program; it is started again
            finally:
                working.cancel()


def main() -> int:
    """Run the receiver."""
    try:
        settings = read_settings(os.environ)
        asyncio.run(serve(settings))
    except MooringError as error:
        print(f"mooring-github-actions: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
