"""What all demos share."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEMO = """
import asyncio
from integrations.stage import run_demo

async def play():
    try:
        print("began", flush=True)
        await asyncio.Event().wait()
    finally:
        print("stopped what it had started", flush=True)
    return 0

run_demo(play())
"""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_demo_that_is_ended_stops_what_it_has_started(number: signal.Signals) -> None:
    command = [sys.executable, "-c", DEMO]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as demo:
        assert demo.stdout is not None
        assert demo.stdout.readline() == "began\n"
        demo.send_signal(number)
        assert demo.stdout.read() == "stopped what it had started\n"
