"""How a command ends on a signal."""

import signal
import subprocess
import sys

import pytest

COMMAND = """
import argparse, asyncio
from mooring_blast import command

async def wait(asked):
    try:
        print("began", flush=True)
        await asyncio.Event().wait()
    finally:
        print("stopped what it had started", flush=True)

parser = argparse.ArgumentParser()
parser.set_defaults(command=wait)
command._parser = lambda: parser
command.main([])
"""

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_in_the_background_stops_what_it_has_started(number: signal.Signals) -> None:
    background = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", COMMAND]
    with subprocess.Popen(background, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "began\n"
        run.send_signal(number)
        assert run.stdout.read() == "stopped what it had started\n"
