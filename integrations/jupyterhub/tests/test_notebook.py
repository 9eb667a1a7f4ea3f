"""Servers that are forked from a preloader: real processes, with a module in the place of the single-user server."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from hawser.clock import SystemClock
from mooring.client.sessions import Session
from mooring_jupyterhub.notebook import PROGRAM, Host, NotebookRun, Preloader, place_server

pytestmark = pytest.mark.realtime

SERVER = """
import os, signal, sys, time
def main():
    url, token = (os.environ.get(f"JUPYTERHUB_{name}") for name in ("SERVICE_URL", "API_TOKEN"))
    print("argv", sys.argv, "listens at", url, "with", token)
    print("group", os.getpgrp() == os.getpid(), flush=True)
    if "--wait" in sys.argv:
        time.sleep(600)
    sys.exit(5)
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A `jupyterhub.singleuser` of the test, which the preloader imports as the real one."""
    package = tmp_path / "modules" / "jupyterhub"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "singleuser.py").write_text(SERVER)
    for name in ("jupyter_server", "ipykernel"):
        (package.parent / name).mkdir()
        (package.parent / name / "__init__.py").touch()
    (package.parent / "jupyter_server" / "serverapp.py").touch()
    (package.parent / "ipykernel" / "kernelspec.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(package.parent))


def session(*arguments, **env):
    given = {"JUPYTERHUB_SERVICE_URL": "http://0.0.0.0:8888/user/ada/", "JUPYTERHUB_API_TOKEN": "sesame-token", **env}
    return Session("claim-1", 3, "ada", {"command": [PROGRAM, *arguments], "env": given}, 30)


async def until_started(capfd):
    text = ""
    while "group" not in text:
        text += capfd.readouterr().out
        await asyncio.sleep(0.02)
    return text


async def test_servers_are_forked_one_after_another_with_their_own_environment(modules, capfd):
    preloader = await Preloader.start()
    host = Host("127.0.0.9", SystemClock(), preloader)
    first = await NotebookRun(session("--one"), host).run()
    second = await NotebookRun(session("--two", JUPYTERHUB_API_TOKEN="another-token"), host).run()
    await preloader.close()
    assert (first.exit_code, second.exit_code) == (5, 5)
    assert "'--one'] listens at http://127.0.0.9:8888/user/ada/" in first.output
    assert "'--two']" in second.output and "group True" in second.output
    written = first.output + second.output + capfd.readouterr().out
    assert "with ***" in first.output and "sesame-token" not in written and "another-token" not in written


async def test_a_server_is_stopped_and_the_next_one_starts(modules, capfd):
    preloader = await Preloader.start()
    host = Host("127.0.0.9", SystemClock(), preloader)
    run = NotebookRun(session("--wait"), host)
    running = asyncio.create_task(run.run())
    await until_started(capfd)
    await run.stop()
    assert (await running).exit_code == 128 + 15
    assert (await NotebookRun(session(), host).run()).exit_code == 5
    await preloader.close()


async def test_a_server_ends_with_its_preloader_and_later_ones_start_as_ordinary_commands(
    modules, capfd, tmp_path, monkeypatch
):
    program = tmp_path / PROGRAM
    program.write_text(f"#!{sys.executable}\nprint('an ordinary command')\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    preloader = await Preloader.start()
    host = Host("127.0.0.9", SystemClock(), preloader)
    running = asyncio.create_task(NotebookRun(session("--wait"), host).run())
    await until_started(capfd)
    preloader._process.kill()
    ended = await running
    assert ended.exit_code == 126 and "preloader has ended" in ended.output
    assert preloader.lost
    assert "an ordinary command" in (await NotebookRun(session(), host).run()).output
    await preloader.close()


async def test_nothing_is_left_when_the_agent_is_gone(modules, capfd):
    preloader = await Preloader.start()
    run = NotebookRun(session("--wait"), Host("127.0.0.9", SystemClock(), preloader))
    running = asyncio.create_task(run.run())
    await until_started(capfd)
    preloader._channel.shutdown(socket.SHUT_RDWR)  # as the kernel does when the agent is killed
    await preloader._process.wait()
    while Path(f"/proc/{run._pid}").exists():
        await asyncio.sleep(0.02)
    await running
    await preloader.close()


@pytest.mark.parametrize("payload", [None, {"command": "sh"}, {"command": [PROGRAM], "env": {"A": 1}}])
async def test_a_wrong_payload_is_reported(modules, payload):
    preloader = await Preloader.start()
    ended = await NotebookRun(Session("c", 1, "ada", payload, 30), Host("", SystemClock(), preloader)).run()
    await preloader.close()
    assert ended.exit_code == 126 and "payload" in ended.output


@pytest.mark.parametrize(
    ("given", "address", "placed"),
    [
        ("http://0.0.0.0:8888/user/ada/", "10.0.0.1", "http://10.0.0.1:8888/user/ada/"),
        ("http://127.0.0.1:9/", "fd00::1", "http://[fd00::1]:9/"),
    ],
)
def test_a_server_listens_at_the_address_of_its_worker_only(given, address, placed):
    assert place_server({"JUPYTERHUB_SERVICE_URL": given}, address) == {"JUPYTERHUB_SERVICE_URL": placed}
