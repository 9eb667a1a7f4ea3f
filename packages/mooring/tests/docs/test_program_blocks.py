"""Blocks of Python and parts of manifests that no other test runs."""

import ast
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import yaml

from drydock import VirtualLoop, plain_nodes, virtual_cluster
from hawser.clock import Entropy, SystemClock
from hawser.resources import PODS
from mooring.api.access.static_tokens import parse_tokens
from packages.mooring.tests.docs.blocks import blocks
from packages.mooring.tests.requirements import require_kubernetes

SIGTERM_SOON = "import os, threading\nthreading.Timer(0.5, os.kill, (os.getpid(), 15)).start()\n"


BLOCKS = [*blocks("python"), *blocks("yaml")]  # read here: virtual time starts no process


def texts(page: str, language: str) -> list[str]:
    return [block.text for block in BLOCKS if (block.page, block.language) == (page, language)]


def test_the_gate_of_a_worker_lets_it_exit_after_sigterm() -> None:
    [text] = texts("docs/concepts/health.md", "python")
    done = subprocess.run([sys.executable, "-c", SIGTERM_SOON + text], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


async def run_block(text: str, **names: Any) -> None:
    code = compile(text, "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, {"clock": SystemClock(), "entropy": Entropy(), "PODS": PODS, **names})  # noqa: S307
    assert isinstance(running, Coroutine)
    await running


@pytest.mark.kubernetes
@pytest.mark.realtime
async def test_a_real_control_plane_starts_as_the_page_says(tmp_path: Path) -> None:
    require_kubernetes()
    plane, _ = texts("docs/drydock/using.md", "python")
    await run_block(plane, folder=tmp_path)


async def test_a_pod_follows_its_script() -> None:
    [text] = texts("docs/drydock/using.md", "yaml")
    metadata = yaml.safe_load(text)["metadata"]
    body = {"metadata": {"name": "p", **metadata}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    clock = VirtualLoop.running().clock
    async with virtual_cluster(clock, Entropy(1), plain_nodes(1)) as cluster:
        await cluster.client.create(PODS, body, "default")
        await clock.sleep(4)
        assert await _restarts(cluster.client) == 0
        await clock.sleep(30)
        assert await _restarts(cluster.client) == 1, "the first run ended after 5 s"
        await clock.sleep(600)
        assert await _restarts(cluster.client) == 1, "the second run goes on for ever"


async def _restarts(client: Any) -> int:
    [status] = (await client.get(PODS, "p", "default")).status.container_statuses
    return int(status.restart_count)


async def test_a_pod_gets_its_token_and_a_file_of_tokens_is_read() -> None:
    volumes, tokens = texts("docs/how-to/access.md", "yaml")
    spec = yaml.safe_load(volumes)
    spec["containers"][0] |= {"name": "main", "image": "registry.example/client:1"}
    clock = VirtualLoop.running().clock
    async with virtual_cluster(clock, Entropy(1), plain_nodes(1)) as cluster:
        await cluster.client.create(PODS, {"metadata": {"name": "p"}, "spec": spec}, "default")
    [identity] = parse_tokens(tokens).values()
    assert identity.user == "ci-bot" and "builders" in identity.groups
