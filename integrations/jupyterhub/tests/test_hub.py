"""A real JupyterHub with its proxy, a real jupyter_server with a real kernel, on the workers of a real `mooring up`."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from mooring.client import AsyncMooring
from mooring_jupyterhub.demo.pool import KEY, NAMESPACE
from mooring_jupyterhub.servers import key_prefix
from packages.mooring.tests.acceptance.world import until

pytestmark = [pytest.mark.slow, pytest.mark.realtime]
IDLE_SECONDS = 12  # a busy server is heard of every second
UNTIL_FILE = """
import os, time
while not os.path.exists({path!r}):
    print("computing")
    time.sleep(0.5)
print("ended")
"""


def test_a_server_starts_on_a_warm_worker_runs_a_cell_through_the_proxy_and_gives_the_worker_back(harbour):
    async def scenario(client):
        seconds = await client.start_server("ada")
        async with client.kernel("ada") as kernel:
            printed = await kernel.run("import os; print(os.environ['JUPYTERHUB_API_TOKEN'], 6 * 7)")
        worker = harbour.worker_of("ada")
        await client.stop_server("ada")
        return seconds, printed.split(), worker

    seconds, (token, product), worker = harbour.play(scenario)
    assert product == "42"
    assert seconds < 20, "it is about one second on an idle machine, and half a minute without preloaded modules"
    harbour.until_released("ada")
    assert worker["uid"] not in {found["uid"] for found in harbour.up.workers(KEY) if found["state"] == "idle"}
    assert token not in everything_written(harbour), "the token is in a log, in the audit or in the hub's state"


def everything_written(harbour):
    """Logs of all containers and of Mooring, the audit, the claims, and the pods with their environment."""
    logs = [path.read_text(errors="replace") for path in harbour.up.state.rglob("*.log")]
    answers = [json.dumps(harbour.up.get(path)) for path in ("/v1/audit?limit=500", "/v1/claims?limit=500")]
    return "\n".join([*logs, *answers, harbour.up.err(), harbour.up.kubectl("get", "pods", "-A", "-o", "json").out])


def test_a_killed_hub_finds_its_servers_again_and_their_kernels_have_lost_nothing(harbour):
    harbour.warm()

    async def before(client):
        await client.start_server("grace")
        async with client.kernel("grace") as kernel:
            await kernel.run("kept = 'still here'")
            return kernel.id

    kernel_id = harbour.play(before)
    (claim,) = harbour.open_claims("grace")
    harbour.kill_hub()
    harbour.start_hub()

    async def after(client):
        assert (await client.server("grace"))["ready"]
        async with client.kernel("grace", kernel_id) as kernel:
            printed = await kernel.run("print(kept)")
        await client.stop_server("grace")
        return printed.strip()

    (same,) = harbour.open_claims("grace")
    assert (same["id"], same["epoch"]) == (claim["id"], claim["epoch"])
    assert harbour.play(after) == "still here"
    harbour.until_released("grace")


def test_a_claim_that_a_crashed_hub_did_not_come_to_remember_is_released_with_the_next_start(harbour):
    harbour.warm(2)

    async def orphan():
        key = key_prefix("jupyterhub", "mary", "") + "of-a-hub-that-crashed"
        payload = {"command": ["sleep", "600"]}
        async with AsyncMooring(state=harbour.up.state).claim(KEY, owner="mary", key=key, payload=payload) as claim:
            return claim.detach()

    orphaned = asyncio.run(orphan())

    async def scenario(client):
        await client.start_server("mary")
        claims = [claim["id"] for claim in harbour.open_claims("mary")]
        await client.stop_server("mary")
        return claims

    (claim,) = harbour.play(scenario)
    assert claim != orphaned
    harbour.until_released("mary")


def test_the_user_of_a_lost_worker_reads_why_and_the_claim_is_ended(harbour):
    harbour.warm()
    harbour.play(lambda client: client.start_server("emmy"))
    worker = harbour.worker_of("emmy")
    harbour.up.kubectl("-n", NAMESPACE, "delete", "pod", worker["name"], "--grace-period=0", "--force")

    async def until_gone(client):
        while await client.server("emmy"):
            await asyncio.sleep(0.2)

    harbour.play(until_gone)
    harbour.until_released("emmy")
    (message,) = re.findall(r'id="mooring-ended">([^<]*)<', harbour.page("emmy", "/user/emmy/"))
    assert message.startswith("Your server ended at ") and "its worker was lost" in message
    assert "saved files" in message


def test_a_server_that_cannot_start_says_so_at_once_and_leaves_nothing(harbour):
    harbour.warm()
    homes = harbour.hub.folder / "homes"
    homes.mkdir(exist_ok=True)
    (homes / "noether").write_text("a file where the home folder should be")

    with pytest.raises(RuntimeError, match="Your server ended while it started, with exit code 1"):
        harbour.play(lambda client: client.start_server("noether"))
    harbour.until_released("noether")


def test_the_culler_stops_an_idle_server_and_keeps_one_that_computes(harbour):
    harbour.warm(2)
    stop = harbour.hub.folder / "stop-the-cell"

    async def scenario(client):
        await client.start_server("lise")
        await client.start_server("marie")
        async with client.kernel("marie") as kernel:
            cell = asyncio.create_task(kernel.run(UNTIL_FILE.format(path=str(stop))))
            with harbour.culler(IDLE_SECONDS):
                idle, busy = harbour.open_claims("lise"), harbour.open_claims("marie")
                async with asyncio.timeout(IDLE_SECONDS * 8):
                    while await client.server("lise"):
                        await asyncio.sleep(0.2)
                await asyncio.sleep(IDLE_SECONDS)  # long enough for the other one to be stopped, if it counted as idle
            assert not cell.done() and (await client.server("marie"))["ready"]
            stop.touch()
            printed = await asyncio.wait_for(cell, 60)
        return idle, busy, printed.split()

    (idle,), (busy,), printed = harbour.play(scenario)
    harbour.until_released("lise")
    assert 'id="mooring-ended"' not in harbour.page("lise", "/user/lise/"), "a server that the hub stops is no loss"
    assert idle["worker"]["uid"] not in harbour.up.idle(KEY).values(), "nothing of one user is left for the next"
    (same,) = harbour.open_claims("marie")
    assert (same["id"], same["epoch"]) == (busy["id"], busy["epoch"])
    assert printed[-1] == "ended"
    harbour.play(lambda client: client.stop_server("marie"))
    harbour.until_released("marie")
    harbour.warm(2)


def test_at_the_ceiling_the_drain_ends_the_server_and_its_user_reads_why(harbour):
    harbour.up.kubectl(
        "-n", NAMESPACE, "patch", "workerpool", "users", "--type=merge",
        "-p", json.dumps({"spec": {"protection": {"ceilingSeconds": 5, "graceSeconds": 5}}}),
    )  # fmt: skip
    harbour.warm()
    harbour.play(lambda client: client.start_server("hypatia"))
    node = harbour.worker_of("hypatia")["node"]
    harbour.up.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force")
    harbour.up.kubectl("uncordon", node)
    harbour.until_released("hypatia")

    async def until_gone(client):
        while await client.server("hypatia"):
            await asyncio.sleep(0.2)

    harbour.play(until_gone)
    assert "its node was drained" in harbour.page("hypatia", "/user/hypatia/")


def test_nothing_is_left_of_servers_that_were_stopped(harbour):
    until(lambda: not leftovers(harbour), 60, "no process of a stopped server")


def leftovers(harbour):
    """Processes of kernels, whose servers have all been stopped."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command, folder = entry.read_bytes(), os.readlink(entry.parent / "cwd")
        except OSError:
            continue
        if b"ipykernel_launcher" in command and str(harbour.up.state) in folder:
            found.append(entry.parent.name)
    return found
