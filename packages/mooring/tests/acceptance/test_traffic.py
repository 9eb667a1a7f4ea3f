"""The demo is alive: pretend owners claim, work and give back, and none of it outlives Ctrl-C."""

from typing import Any

import pytest

from packages.mooring.tests.acceptance.world import Up, until

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


def claims(up: Up, pool: str, state: str) -> list[dict[str, Any]]:
    return list(up.get(f"/v1/claims?pool={pool}&state={state}")["items"])


def test_owners_come_and_go_jobs_run_and_ctrl_c_gives_everything_back():
    up = Up()
    try:
        up.start()
        until(lambda: claims(up, "builds/previews", "running"), 60, "a preview in use")
        [job, *_] = until(lambda: claims(up, "builds/jobs", "released"), 120, "a job that was done")
        result = up.get(f"/v1/claims/{job['id']}/result")
        assert result["exitCode"] == 0 and result["output"].endswith("page\n")
        for quiet, warm in {"runners/linux": 8, "queries/duck": 4}.items():
            up.until_settled(quiet, warm)
        most = max(up.pool("builds/previews")["status"]["busy"] for _ in range(5))
        assert most <= 3
        held = claims(up, "builds/previews", "running")
        assert up.interrupt() == 0
        until(lambda: not up.processes(), 5, "nothing left")
        up.arguments = ("--no-traffic",)
        up.start()
        ends = {up.get(f"/v1/claims/{claim['id']}")["state"] for claim in held}
        assert ends <= {"released"}, "what was held was given back on the way out"
        assert "Traceback" not in up.err()
    finally:
        up.close()


def test_without_a_demo_nobody_comes():
    up = Up("--no-demo")
    try:
        up.start()
        assert up.get("/v1/pools")["items"] == []
    finally:
        up.close()
