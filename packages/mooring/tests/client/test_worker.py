"""The worker's agent against a Mooring behind a real port: real commands, real tokens."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from hawser.clock import Entropy, SystemClock
from hawser.resources import NODES
from mooring.client import Mooring
from mooring.client.errors import LeaseLost
from mooring.client.sessions import InvalidCommand, Session, read_command
from mooring.client.worker import AgentOptions, WorkerAgent
from mooring.model.claim import ClaimState, EndCause
from packages.mooring.tests.client.dock import TOKEN, Front


@pytest.fixture
def mooring(dock):
    return Mooring(dock.url, TOKEN)


@pytest.fixture
def token_file(tmp_path):
    return tmp_path / "token"


def poll_pool(dock, token_file, **spec):
    """A pool with one worker, whose token is where the agent will look."""
    pool = dock.pool(dispatch="Poll", **spec)
    token_file.write_text(dock.worker_token(dock.pods(pool)[0].metadata.name))
    return pool


async def with_agent(options, scenario):
    """Run an agent beside a scenario, then stop it; answers the agent's exit code."""
    agent = WorkerAgent(options, SystemClock(), Entropy())
    running = asyncio.create_task(agent.run())
    await scenario(agent, running)
    agent.stop()
    async with asyncio.timeout(10):
        return await running


def is_alive(pid):
    """Whether a process runs; one that was killed and not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def options_of(url, token_file, *command):
    return AgentOptions(url, token_file, command, poll_seconds=1.0)


def test_a_command_is_run_and_its_exit_code_and_output_come_back(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)
    script = "import os, sys; print(os.environ['GREETING'], os.environ['MOORING_OWNER']); sys.exit(3)"
    payload = {"command": [sys.executable, "-c", script], "env": {"GREETING": "ahoy"}}

    async def scenario(agent, running):
        result = await asyncio.to_thread(
            mooring.run, pool, owner="acme", payload=payload, ttl="10s", wait="5s", timeout="20s"
        )
        assert (result.exit_code, result.output) == (3, "ahoy acme\n")
        again = await asyncio.to_thread(mooring.run, pool, owner="acme", payload=payload, wait="5s", timeout="20s")
        assert again.exit_code == 3 and again.worker == result.worker

    assert run(with_agent(options_of(dock.url, token_file), scenario)) == 0
    assert dock.open_claims(pool) == 0


def test_without_a_command_in_the_payload_the_workers_own_gets_it_on_stdin(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)
    own = (sys.executable, "-c", "import json, sys; print(json.load(sys.stdin)['task'] * 2)")

    async def scenario(agent, running):
        result = await asyncio.to_thread(mooring.run, pool, owner="acme", payload={"task": "ab"}, timeout="20s")
        assert (result.exit_code, result.output) == (0, "abab\n")

    run(with_agent(options_of(dock.url, token_file, *own), scenario))


def test_a_command_that_cannot_be_started_is_reported(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)

    async def scenario(agent, running):
        for payload, code, told in (
            ({"command": ["/no/such/program"]}, 127, "/no/such/program"),
            ({"command": "ls"}, 126, "list of strings"),
            ({"command": [os.devnull]}, 126, os.devnull),
            ({"nothing": 1}, 126, "no command"),
        ):
            result = await asyncio.to_thread(mooring.run, pool, owner="acme", payload=payload, timeout="20s")
            assert result.exit_code == code and told in result.output

    run(with_agent(options_of(dock.url, token_file), scenario))


def test_only_the_end_of_a_long_output_is_kept_and_odd_bytes_survive(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)
    script = "import sys; sys.stdout.write('x' * 200_000); sys.stdout.flush(); sys.stdout.buffer.write(b'\\xff\\0end')"

    async def scenario(agent, running):
        payload = {"command": [sys.executable, "-c", script]}
        result = await asyncio.to_thread(mooring.run, pool, owner="acme", payload=payload, timeout="20s")
        assert result.output.endswith("x\ufffdend") and len(result.output) < 40_000

    run(with_agent(options_of(dock.url, token_file), scenario))


def test_a_session_outlives_its_ttl_because_its_worker_beats(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)

    async def scenario(agent, running):
        payload = {"command": ["sleep", "2"]}
        result = await asyncio.to_thread(mooring.run, pool, owner="acme", payload=payload, ttl="1s", timeout="20s")
        assert result.exit_code == 0

    run(with_agent(options_of(dock.url, token_file), scenario))


def test_a_session_whose_claim_is_taken_away_is_stopped_with_all_it_started(dock, mooring, token_file, tmp_path, run):
    pool = poll_pool(dock, token_file)
    pids = tmp_path / "pids"
    script = f"sleep 60 & echo $! $$ > {pids}; wait"

    async def scenario(agent, running):
        claim = mooring.claim(pool, owner="acme", ttl="2s", payload={"command": ["sh", "-c", script]})
        await asyncio.to_thread(claim.__enter__)
        async with asyncio.timeout(10):
            while not pids.exists() or len(pids.read_text().split()) < 2:
                await asyncio.sleep(0.05)
        assert agent.executing
        await asyncio.to_thread(claim.close)
        async with asyncio.timeout(10):
            while agent.executing:
                await asyncio.sleep(0.05)
        assert not [pid for pid in pids.read_text().split() if is_alive(pid)]

    run(with_agent(options_of(dock.url, token_file), scenario))


def test_a_holder_sees_that_its_session_is_finished_not_lost(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)

    async def scenario(agent, running):
        def hold():
            with mooring.claim(pool, owner="acme", ttl="1s", payload={"command": ["echo", "done"]}) as claim:
                deadline = time.monotonic() + 10
                while claim.result is None and time.monotonic() < deadline:
                    claim.check()
                    time.sleep(0.05)
                return claim.result

        result = await asyncio.to_thread(hold)
        assert result.exit_code == 0 and result.output == "done\n"

    run(with_agent(options_of(dock.url, token_file), scenario))


def test_a_lost_answer_to_the_report_is_reported_again_once(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)

    async def main():
        with Front(dock.url, lose=2, only=b"/v1/dispatch/done") as front:

            async def scenario(agent, running):
                payload = {"command": ["echo", "hello"]}
                result = await asyncio.to_thread(mooring.run, pool, owner="acme", payload=payload, timeout="20s")
                assert result.output == "hello\n"
                again = await asyncio.to_thread(mooring.run, pool, owner="acme", payload=payload, wait="9s")
                assert again.output == "hello\n"

            return await with_agent(options_of(front.url, token_file), scenario)

    assert run(main()) == 0


def test_polling_goes_on_after_an_outage_of_the_server(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)

    async def main():
        with Front(dock.url, closed=True) as front:

            async def scenario(agent, running):
                await asyncio.sleep(0.5)
                front.closed = False
                result = await asyncio.to_thread(
                    mooring.run, pool, owner="acme", payload={"command": ["true"]}, timeout="20s"
                )
                assert result.exit_code == 0

            return await with_agent(options_of(front.url, token_file), scenario)

    assert run(main()) == 0


def test_a_worker_that_is_not_reused_exits_after_one_session(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file, reuse="Never", protection={"graceSeconds": 1})

    async def scenario(agent, running):
        result = await asyncio.to_thread(mooring.run, pool, owner="acme", payload={"command": ["true"]}, timeout="20s")
        assert result.exit_code == 0
        async with asyncio.timeout(10):
            assert await asyncio.shield(running) == 0

    run(with_agent(options_of(dock.url, token_file), scenario))


def test_a_draining_worker_exits_with_0_and_a_refused_one_with_1(dock, token_file, run):
    pool = poll_pool(dock, token_file)
    node = dock.pods(pool)[0].spec.node_name

    async def until_exit(agent, running):
        async with asyncio.timeout(10):
            await asyncio.shield(running)

    async def drained(agent, running):
        await asyncio.sleep(0.3)
        patch = {"spec": {"unschedulable": True}}
        await asyncio.to_thread(dock.call, dock.client.merge_patch(NODES, node, patch))
        await until_exit(agent, running)

    try:
        assert run(with_agent(AgentOptions(dock.url, token_file, poll_seconds=20.0), drained)) == 0
    finally:
        dock.call(dock.client.merge_patch(NODES, node, {"spec": {"unschedulable": False}}))
    token_file.write_text("nonsense")
    assert run(with_agent(options_of(dock.url, token_file), until_exit)) == 1
    token_file.unlink()
    assert run(with_agent(options_of(dock.url, token_file), until_exit)) == 1


def test_a_session_is_lost_when_no_heartbeat_is_accepted(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file)

    async def main():
        with Front(dock.url) as front:

            async def scenario(agent, running):
                payload = {"command": ["sleep", "30"]}
                claim = mooring.claim(pool, owner="acme", ttl="1s", payload=payload)
                await asyncio.to_thread(claim.__enter__)
                async with asyncio.timeout(10):
                    while not agent.executing:
                        await asyncio.sleep(0.02)
                    claim.detach()
                    front.closed = True
                    while agent.executing:
                        await asyncio.sleep(0.02)
                front.closed = False

            return await with_agent(options_of(front.url, token_file), scenario)

    assert run(main()) == 0


def test_a_lost_session_is_not_taken_for_a_result(dock, mooring, token_file):
    pool = poll_pool(dock, token_file)

    def lose_it():
        while not (found := dock.call(dock.ledger.claims.live("runners", pool.split("/")[1])).claims):
            time.sleep(0.02)
        dock.end(found[0].id, EndCause.WORKER_LOST, "its worker is gone")

    threading.Thread(target=lose_it).start()
    with pytest.raises(LeaseLost):
        mooring.run(pool, owner="acme", payload={"command": ["true"]}, timeout="20s")


def test_no_result_in_time_releases_the_claim(dock, mooring, token_file):
    pool = poll_pool(dock, token_file)
    with pytest.raises(TimeoutError):
        mooring.run(pool, owner="acme", payload={"command": ["true"]}, timeout="0.5s")
    assert dock.open_claims(pool) == 0


def test_after_sigterm_the_process_finishes_its_session_takes_no_other_and_exits(dock, mooring, token_file, tmp_path):
    pool = poll_pool(dock, token_file, slots=2)
    environment = {**os.environ, "MOORING_URL": dock.url, "MOORING_TOKEN_FILE": str(token_file), "POD_IP": "127.64.9.1"}
    agent = subprocess.Popen(
        [sys.executable, "-m", "mooring.client.worker", "--port", "8123", "--", "cat"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        marker = tmp_path / "started"
        payload = {"command": ["sh", "-c", f"touch {marker}; sleep 1.5; echo finished"]}
        claim = mooring.claim(pool, owner="acme", payload=payload)
        with claim:
            deadline = time.monotonic() + 20
            while not marker.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            with urllib.request.urlopen("http://127.64.9.1:8123/healthz", timeout=5) as answer:
                assert json.load(answer) == {"executing": True, "sessions": 1, "draining": False}
            waiting = mooring.claim(pool, owner="acme", payload={"command": ["echo", "taken"]})
            waiting.__enter__()
            agent.send_signal(signal.SIGTERM)
            claim.detach()
        output, errors = agent.communicate(timeout=20)
        assert agent.returncode == 0, errors
        assert "finished" in output and "exit code 0" in errors
        assert dock.claim(claim.id).state is ClaimState.RELEASED
        assert "taken" not in output and dock.claim(waiting.id).delivered_epoch is None
        waiting.close()
    finally:
        agent.kill()
        agent.wait()


@pytest.mark.parametrize(
    "payload",
    [{"command": []}, {"command": ["a\x00b"]}, {"command": [1]}, {"env": {"A=B": "c"}}, {"env": {"A": 1}}, {"cwd": 3}],
)
def test_payloads_without_a_valid_command_are_refused(payload):
    with pytest.raises(InvalidCommand):
        read_command(Session("c", 1, "acme", payload, 30), ["true"])


def test_after_sigterm_a_released_session_ends_at_once_and_not_with_the_next_heartbeat(dock, mooring, token_file, run):
    pool = poll_pool(dock, token_file, reuse="Always")
    payload = {"command": ["sleep", "600"]}

    async def scenario(agent, running):
        claim = mooring.claim(pool, owner="acme", payload=payload, ttl="10m", wait="5s")  # a heartbeat every 15 s
        await asyncio.to_thread(claim.__enter__)
        while not agent.executing:
            await asyncio.sleep(0.02)
        await asyncio.to_thread(mooring.release, claim.id, claim.epoch)
        claim.detach()
        found = await asyncio.to_thread(mooring.find, claim.id)
        assert (found.state, await asyncio.to_thread(mooring.result, found)) == ("released", None)

    assert run(with_agent(options_of(dock.url, token_file), scenario)) == 0


def test_a_claim_that_does_not_exist_is_not_found(mooring):
    assert mooring.find("no-such-claim") is None
