"""Local processes: their logs, their mounts, and above all that none of them outlives its owner."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drydock.processes.leftovers import VARIABLE, end_leftovers
from drydock.processes.supervisor import Attachment, Command, StartFailed, Supervisor

pytestmark = pytest.mark.realtime

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def shell(script: str, folder: Path, **more: object) -> Command:
    return Command(["sh", "-c", script], folder / "out.log", env=ENVIRONMENT, cwd=folder, **more)  # type: ignore[arg-type]


def texts(folder: Path) -> list[tuple[str, str]]:
    rows = [line.split(" ", 3) for line in (folder / "out.log").read_text().splitlines()]
    return [(stream, text) for _, stream, _, text in rows]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)


async def test_output_is_kept_with_its_stream_and_the_exit_code_is_told(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        process = await supervisor.start(shell("echo out; echo err >&2; exit 5", tmp_path))
        assert await process.wait() == 5
        assert sorted(texts(tmp_path)) == [("stderr", "err"), ("stdout", "out")]


async def test_a_signal_shows_as_a_negative_code(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        process = await supervisor.start(shell("exec sleep 60", tmp_path))
        process.signal(signal.SIGTERM)
        assert await process.wait() == -signal.SIGTERM


@pytest.mark.parametrize(("argv", "errno"), [(["no-such-program"], 2), (["/"], 13), (["sh", "nul\0byte"], 22)])
async def test_what_cannot_be_executed_is_told_and_not_started(tmp_path: Path, argv: list[str], errno: int) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        with pytest.raises(StartFailed) as failure:
            await supervisor.start(Command(argv, tmp_path / "out.log", env=ENVIRONMENT))
        assert failure.value.detail["errno"] == errno


async def test_a_process_has_only_the_environment_it_was_given(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        os.environ["MOORING_TEST_SECRET"] = "secret"
        try:
            process = await supervisor.start(shell("env", tmp_path))
            await process.wait()
        finally:
            del os.environ["MOORING_TEST_SECRET"]
        names = {text.partition("=")[0] for _, text in texts(tmp_path)}
        assert names <= {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "DRYDOCK_PROCESS", VARIABLE}


async def test_everything_a_process_started_ends_with_it_also_what_left_its_session(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        script = "sleep 60 & echo $!; setsid sleep 60 & echo $!; sleep 0.2"
        process = await supervisor.start(shell(script, tmp_path))
        await process.wait()
        pids = [int(text) for _, text in texts(tmp_path)]
        assert len(pids) == 2
        wait_until(lambda: not any(is_alive(pid) for pid in pids))


async def test_a_process_whose_start_is_cancelled_is_ended_also_when_it_had_just_started(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        starting = asyncio.create_task(supervisor.start(shell("exec sleep 60", tmp_path)))
        while not supervisor._processes:
            await asyncio.sleep(0)
        [process] = supervisor._processes.values()
        assert not starting.done(), "it has started, and its caller has not been told yet"
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert await asyncio.wait_for(process.wait(), 10) == -signal.SIGKILL


async def test_a_supervisor_whose_start_is_cancelled_leaves_no_program(tmp_path: Path) -> None:
    supervisor = Supervisor(str(tmp_path))
    starting = asyncio.create_task(supervisor.__aenter__())
    while not hasattr(supervisor, "_program"):
        await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert await asyncio.wait_for(supervisor._program.wait(), 10) == -signal.SIGKILL


async def test_leaving_the_block_ends_everything(tmp_path: Path) -> None:
    pids: list[int] = []

    async with Supervisor(str(tmp_path)) as supervisor:
        process = await supervisor.start(shell("trap '' TERM; setsid sleep 60 & echo $!; sleep 60", tmp_path))
        while not (tmp_path / "out.log").exists() or not texts(tmp_path):
            await asyncio.sleep(0.02)
        pids.extend([process.pid, int(texts(tmp_path)[0][1])])
    assert not any(is_alive(pid) for pid in pids)


_OWNER = """
import asyncio, sys
from pathlib import Path
from drydock.processes.supervisor import Command, Supervisor

async def main():
    folder = Path(sys.argv[1])
    async with Supervisor(str(folder)) as supervisor:
        script = "sleep 60 & echo $!; setsid sleep 60 & echo $!; sleep 60"
        command = Command(["sh", "-c", script], folder / "out.log", env={"PATH": "/usr/bin:/bin"})
        process = await supervisor.start(command)
        print(supervisor.pid, process.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def start_owner(folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    pids = [int(word) for word in owner.stdout.readline().split()]
    wait_until(lambda: (folder / "out.log").exists() and len(texts(folder)) == 2)
    return owner, pids + [int(text) for _, text in texts(folder)]


def test_nothing_outlives_an_owner_that_was_killed(tmp_path: Path) -> None:
    owner, pids = start_owner(tmp_path)
    owner.kill()
    owner.communicate()
    wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_what_outlives_a_killed_supervisor_is_ended_by_the_next_owner_of_its_mark(tmp_path: Path) -> None:
    owner, pids = start_owner(tmp_path)
    os.kill(pids[0], signal.SIGKILL)
    owner.kill()
    owner.communicate()
    end_leftovers(str(tmp_path))
    wait_until(lambda: not any(is_alive(pid) for pid in pids))


async def test_a_supervisor_that_was_killed_is_replaced_at_the_next_start(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        first = await supervisor.start(shell("exec sleep 60", tmp_path))
        os.kill(supervisor.pid, signal.SIGKILL)
        assert await first.wait() == -signal.SIGKILL
        second = await supervisor.start(shell("exit 4", tmp_path))
        assert await second.wait() == 4
        assert not is_alive(first.pid)


async def test_mounts_are_seen_by_the_process_and_by_nobody_else(tmp_path: Path) -> None:
    volume, scratch = tmp_path / "volume", tmp_path / "scratch"
    volume.mkdir()
    scratch.mkdir()
    (volume / "file").write_text("hello")

    async with Supervisor(str(tmp_path)) as supervisor:
        if not supervisor.mounts:
            pytest.skip("no private mounts for this user")
        mounts = [
            (str(volume), "/mooring-test/deep", False),
            (str(volume), "/var/lib/mooring-test", True),
            (str(volume / "file"), "/etc/mooring-test/file", True),
        ]
        script = (
            "cat /mooring-test/deep/file; echo; cat /etc/mooring-test/file; echo; echo new > /mooring-test/deep/new; "
            "touch /var/lib/mooring-test/x 2>/dev/null || echo refused; test -e /etc/hostname && echo host"
        )
        process = await supervisor.start(shell(script, tmp_path, mounts=mounts, scratch=scratch))
        assert await process.wait() == 0
        assert [text for _, text in texts(tmp_path)] == ["hello", "hello", "refused", "host"]
        assert (volume / "new").read_text() == "new\n"
    assert not Path("/mooring-test").exists()
    assert not Path("/var/lib/mooring-test").exists()
    assert not Path("/etc/mooring-test").exists()


def attached(script: str, folder: Path, attachment: Attachment) -> Command:
    return shell(script, folder, attachment=attachment)


async def test_streams_can_be_handed_over_instead_of_a_log(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        (inner_in, ours_in), (ours_out, inner_out), (ours_err, inner_err) = os.pipe(), os.pipe(), os.pipe()
        attachment = Attachment((inner_in, inner_out, inner_err))
        # Without a pipeline, for which the shell itself opens descriptors for a moment.
        script = "read word; echo got $word; echo oops >&2; for one in /proc/$$/fd/*; do printf '%s ' ${one##*/}; done"
        process = await supervisor.start(attached(script, tmp_path, attachment))
        for descriptor in attachment.descriptors:
            os.close(descriptor)
        os.write(ours_in, b"it\n")
        assert await process.wait() == 0
        with os.fdopen(ours_out) as output, os.fdopen(ours_err) as errors:
            first, descriptors = output.read().splitlines()
            assert (first, errors.read()) == ("got it", "oops\n")
        own = {"3", "10", "255"}  # of the shell: the folder that it lists, and its script
        assert set(descriptors.split()) <= {"0", "1", "2", *own}
        os.close(ours_in)
        assert not (tmp_path / "out.log").exists()


async def test_a_terminal_that_is_handed_over_is_the_controlling_one(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        master, slave = os.openpty()
        command = attached(
            "tty; exec 3</dev/tty && echo mine", tmp_path, Attachment((slave, slave, slave), terminal=True)
        )
        process = await supervisor.start(command)
        os.close(slave)
        assert await process.wait() == 0
        shown = b""
        with contextlib.suppress(OSError):  # nobody holds the other end any more
            while data := os.read(master, 1000):
                shown += data
        name, said = shown.split()
        assert name.startswith(b"/dev/pts/") and said == b"mine"
        os.close(master)


async def test_descriptors_of_processes_that_cannot_be_executed_are_let_go(tmp_path: Path) -> None:
    async with Supervisor(str(tmp_path)) as supervisor:
        for _ in range(3):
            ours, inner = os.pipe()
            command = Command(["no-such-program"], tmp_path / "x", attachment=Attachment((inner, inner, inner)))
            with pytest.raises(StartFailed):
                await supervisor.start(command)
            os.close(inner)
            assert os.read(ours, 1) == b""  # nobody else holds the other end
            os.close(ours)
