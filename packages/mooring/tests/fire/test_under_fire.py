"""Three real replicas, a real control plane and a real PostgreSQL under fire. `make fire` is longer."""

import os
from pathlib import Path

import pytest

from packages.mooring.tests.fire.run import Plan, burn
from packages.mooring.tests.requirements import require_kubernetes

SHORT = Plan(workers=12, rate=4.0, seconds=45.0, fault_every=9.0, seed=3)


@pytest.mark.skipif("MOORING_FIRE" not in os.environ, reason="has not been seen green yet; MOORING_FIRE=1 runs it")
@pytest.mark.kubernetes
@pytest.mark.realtime
async def test_the_judge_finds_nothing_after_faults_on_real_parts(tmp_path: Path) -> None:
    require_kubernetes()
    report = await burn(tmp_path, SHORT)
    print(*report.lines(), sep="\n")
    assert report.violations == []
    assert report.success >= 0.999
    assert len(report.faults) >= 4
