"""Searches on a real `mooring up`: the README as written, a node that is replaced, keys that stay secret."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hawser.clock import SystemClock
from integrations.blast.tests.live import PROGRAM, SHARDS, WITHIN, Demo, search_whole
from integrations.blast.tests.worlds import silent
from mooring.model.submission import name_for
from mooring_blast.databases.local import verify
from mooring_blast.page.client import PageClient
from mooring_blast.store.errors import ObjectDamaged
from packages.mooring.tests.acceptance.world import processes_of, until
from packages.mooring.tests.docs.session import run_step, steps_of

pytestmark = [pytest.mark.realtime, pytest.mark.slow]


async def search(demo: Demo, name: str, text: str) -> str:
    async with aiohttp.ClientSession() as session:
        return await PageClient(session, demo.page, SystemClock()).search(name, text, silent, WITHIN)


def jobs_of(demo: Demo, search: str) -> list[dict[str, Any]]:
    return demo.up.objects("jobs", "-n", "blast", "-l", f"mooring.dev/submission={name_for(search)}")


async def test_the_hits_are_those_of_one_search_over_the_whole(demo: Demo, tmp_path: Path) -> None:
    text = demo.query(0) + demo.query(1)
    found = await search(demo, "first", text)
    assert found == search_whole(demo.dataset, text, tmp_path)
    assert len(found.splitlines()) > 20
    assert len(jobs_of(demo, "first")) == SHARDS + 1


async def test_a_search_goes_on_after_its_control_plane_was_killed(demo: Demo, tmp_path: Path) -> None:
    text = demo.query(1)
    running = asyncio.create_task(search(demo, "killed", text))
    while not jobs_of(demo, "killed"):
        await asyncio.sleep(0.1)
    demo.up.kill()
    await asyncio.to_thread(demo.up.start)
    assert await running == search_whole(demo.dataset, text, tmp_path)
    assert len(jobs_of(demo, "killed")) == SHARDS + 1, "every Job was made once"


def test_a_flipped_byte_on_a_node_is_found_and_the_shard_is_fetched_again(demo: Demo) -> None:
    folder = demo.local_shard(2)
    sequence = folder / "db.nsq"
    damaged = bytearray(sequence.read_bytes())
    damaged[200] ^= 1
    sequence.write_bytes(bytes(damaged))
    with pytest.raises(ObjectDamaged, match=r"db\.nsq is missing or damaged"):
        verify(folder)
    [before] = demo.warm_jobs(2)
    demo.up.kubectl("delete", "job", "-n", "blast", before["metadata"]["name"])

    def fetched_again() -> bool:
        jobs = [job for job in demo.warm_jobs(2) if job["metadata"]["uid"] != before["metadata"]["uid"]]
        return any(job.get("status", {}).get("succeeded") for job in jobs)

    until(fetched_again, 120, "shard 2 again")
    until(lambda: demo.up.get("/v1/warmups/blast/nt")["status"]["phase"] == "Ready", 60, "Ready")
    selector = ("-l", "mooring.dev/shard=2,mooring.dev/dataset")
    assert "the content is wrong" in demo.up.kubectl("logs", "-n", "blast", *selector, "-c", "verify", "--tail=-1").out
    assert verify(demo.local_shard(2)).shard == 2


def test_keys_of_the_store_are_in_the_secret_and_nowhere_else(demo: Demo) -> None:
    secret = json.loads(demo.up.kubectl("get", "secret", "blast-store", "-n", "blast", "-o", "json").out)
    keys = [base64.b64decode(value).decode() for value in secret["data"].values()]
    assert len(keys) == 2
    kinds = "pods,jobs,warmups,submissions,events,configmaps"
    everything = demo.up.kubectl("get", kinds, "-A", "-o", "json").out + demo.log.read_text() + demo.up.err()
    commands = "\n".join(processes_of(demo.up.home).values())
    assert "mooring_blast" in everything and "demo" in commands
    assert not any(key in everything or key in commands for key in keys)


def test_every_line_of_the_readme_works_and_a_replaced_node_loses_nothing(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / ".state").symlink_to(demo.up.state)
    steps = list(steps_of("../integrations/blast/README.md"))
    assert len(steps) == 5
    environment = {"KUBECONFIG": str(demo.up.kubeconfig), "BLAST_PAGE": demo.page}
    for step in steps:
        run_step(step, {**environment, "PATH": f"{Path(PROGRAM).parent}:/usr/bin:/bin"}, tmp_path)
    for batch, name in enumerate(("hits.tsv", "moved.tsv")):
        assert (tmp_path / name).read_text() == search_whole(demo.dataset, demo.query(batch), tmp_path)
