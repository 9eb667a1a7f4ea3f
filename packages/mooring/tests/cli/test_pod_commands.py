"""`claim.exec()` and `claim.logs()` of both SDKs: in the worker that is held, and no longer than it is held."""

import asyncio
import gc
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring import AsyncMooring, InvalidInput, LeaseLost, Mooring
from mooring.model.errors import Refused
from packages.mooring.tests.acceptance.world import Up, until
from packages.mooring.tests.requirements import require_kubectl

DOCUMENTED = Path(__file__).parents[4] / "docs" / "reference" / "sdk.md"
POOL = "queries/duck"
OWNER = "exec-test"


@pytest.fixture(autouse=True)
def kubectl() -> None:
    require_kubectl()


@pytest.fixture
def sdk(up: Up) -> Iterator[Mooring]:
    found = Mooring(up.url, up.token, state=up.state)
    yield found
    assert found.claims(POOL, owner=OWNER) == []


def sleepers(mark: str) -> list[str]:
    """Processes of this machine with the mark in their command line: those of kubectl, and those in the worker."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue  # ended meanwhile
        if mark.encode() in words:
            found.append(words[0].decode())
    return found


def test_a_command_has_its_streams_its_exit_code_and_its_input(sdk: Mooring):
    with sdk.claim(POOL, owner=OWNER, wait="60s") as claim:
        done = claim.exec(["sh", "-c", "cat; echo err >&2; exit 5"], input="ahoy")
    assert (done.exit_code, done.output) == (5, "ahoy") and "err\n" in done.errors


def test_the_log_is_that_of_the_worker(sdk: Mooring):
    with sdk.claim(POOL, owner=OWNER, wait="60s") as claim:
        assert "healthy at" in claim.logs(lines=20)
        with pytest.raises(Refused, match=r"cannot be read: .*previous"):
            claim.logs(previous=True)


def test_a_command_ends_within_two_seconds_of_its_claim(sdk: Mooring, up: Up):
    ended: list[BaseException] = []

    def work() -> None:
        try:
            with sdk.claim(POOL, owner=OWNER, wait="60s") as claim:
                claim.exec(["sleep", "61.5"])
        except LeaseLost as lost:
            ended.append(lost)

    worker = threading.Thread(target=work)
    worker.start()
    until(lambda: sleepers("61.5"), 60, "the command runs")
    (held,) = sdk.claims(POOL, owner=OWNER)
    sdk.release(held.id, reason="a test")
    revoked = time.monotonic()
    worker.join(60)
    assert time.monotonic() - revoked < 2
    assert [type(error) for error in ended] == [LeaseLost]
    until(lambda: not sleepers("61.5"), 60, "its worker is replaced, with what ran in it")


@pytest.mark.realtime
async def test_a_cancelled_command_ends_and_its_worker_is_released_within_two_seconds(up: Up, sdk: Mooring):
    async def work() -> None:
        async with AsyncMooring(up.url, up.token, state=up.state).claim(POOL, owner=OWNER, wait="60s") as claim:
            assert (await claim.exec(["true"])).exit_code == 0
            assert "healthy at" in await claim.logs()
            await claim.exec(["sleep", "62.5"])

    task = asyncio.create_task(work())
    while not await asyncio.to_thread(sleepers, "62.5"):
        await asyncio.sleep(0.1)
    loop, unread = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, context: unread.append(context))
    cancelled = loop.time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.time() - cancelled < 2
    del task
    await asyncio.sleep(0.2)
    gc.collect()
    assert unread == []
    assert not any(program.endswith("kubectl") for program in sleepers("62.5"))


@pytest.mark.parametrize("command", ["ls", [], ["ls", 1]])
def test_a_command_is_a_list_of_words(sdk: Mooring, command: object):
    with sdk.claim(POOL, owner=OWNER, wait="60s") as claim, pytest.raises(InvalidInput, match="command"):
        claim.exec(command)  # type: ignore[arg-type]


def test_the_documented_example_runs(up: Up, monkeypatch, capsys):
    section = DOCUMENTED.read_text().partition("## Commands on the worker")[2]
    example = re.search(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert example is not None and ".exec(" in example[1]
    monkeypatch.setenv("MOORING_STATE", str(up.state))
    exec(compile(example[1], str(DOCUMENTED), "exec"), {"__name__": "example"})
    assert "Linux" in capsys.readouterr().out
