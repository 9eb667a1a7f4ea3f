"""One way to write an async test: `async def`. Files that start an event loop themselves are listed with a reason."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

_LOOP = "is about the event loop itself, or runs the same test under asyncio and uvloop"
_LIVES = "one test has several lives: the same seed twice, or many seeds, each on a loop of its own"
_FIXTURE = "a fixture plays once for all tests of a module or session, before there is a test's loop"
_PROGRAM = "is a program of its own"

ALLOWED = {
    "drydock/tests/actors/test_conformance.py": _FIXTURE,
    "drydock/tests/actors/test_storms.py": _LIVES,
    "drydock/tests/api/facts/record.py": _PROGRAM,
    "drydock/tests/api/strategies/test_facts.py": _FIXTURE,
    "drydock/tests/api/strategies/test_recorded.py": _FIXTURE,
    "drydock/tests/nodes/test_real_kubelet.py": _FIXTURE,
    "drydock/tests/processes/test_descriptors.py": _LOOP,
    "drydock/tests/test_cluster.py": _LIVES,
    "drydock/tests/test_streams.py": _LOOP,
    "drydock/tests/virtual/test_failures.py": _LOOP,
    "drydock/tests/virtual/test_loop.py": _LOOP,
    "drydock/tests/virtual/test_real_waits.py": _LOOP,
    "hawser/tests/test_queue_delays.py": _LOOP,
    "hawser/tests/test_reflector.py": _LIVES,
    "hawser/tests/test_reflector_drydock.py": _LIVES,
    "hawser/tests/test_reflector_properties.py": _LIVES,
    "mooring/tests/api/test_connections.py": _LOOP,
    "mooring/tests/campaign/run.py": _PROGRAM,
    "mooring/tests/client/test_runtimes.py": _LOOP,
    "mooring/tests/client/test_trust.py": _LOOP,
    "mooring/tests/controllers/pools/test_probe.py": _LOOP,
    "mooring/tests/fire/__main__.py": _PROGRAM,
    "mooring/tests/fire/links.py": _PROGRAM,
    "mooring/tests/fire/soak.py": _PROGRAM,
    "mooring/tests/ledger/test_embedded.py": _FIXTURE,
    "mooring/tests/ledger/test_twin.py": _LIVES,
    "mooring/tests/nodes/traffic.py": _PROGRAM,
    "mooring/tests/scenarios/harbour.py": _LIVES,
    "mooring/tests/scenarios/test_adoption_kubernetes.py": _FIXTURE,
    "mooring/tests/scenarios/test_claims_during_drains.py": _LIVES,
    "mooring/tests/scenarios/test_crash_sweep.py": _LIVES,
    "mooring/tests/scenarios/test_headroom.py": _LIVES,
    "mooring/tests/scenarios/test_late_grants.py": _LIVES,
    "mooring/tests/scenarios/test_older_cluster.py": _LIVES,
    "mooring/tests/scenarios/test_rotation_kubernetes.py": _FIXTURE,
    "mooring/tests/scenarios/test_silent_pools.py": _LIVES,
    "mooring/tests/scenarios/test_storms.py": _LIVES,
    "mooring/tests/scenarios/test_submit_sweep.py": _LIVES,
    "mooring/tests/scenarios/test_warm_crashes.py": _LIVES,
    "mooring/tests/soak/hurried.py": _PROGRAM,
}


def _starts_a_loop(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return ast.unparse(node).endswith(("asyncio.run", "asyncio.Runner", "uvloop.run"))
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        return "run_virtual" in names or ("play" in names and str(node.module).endswith("harbour"))
    return False


@pytest.mark.slow
def test_only_the_files_listed_here_start_an_event_loop():
    packages = ROOT / "packages"
    found = {
        path.relative_to(packages).as_posix()
        for path in packages.glob("*/tests/**/*.py")
        if any(_starts_a_loop(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert found == set(ALLOWED), "write `async def` tests (CONTRIBUTING.md), or list the file with its reason"
