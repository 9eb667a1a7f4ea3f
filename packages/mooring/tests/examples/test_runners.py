"""The example of CI runners, run as its README says."""

import json
from pathlib import Path

import pytest

from packages.mooring.tests.examples.readmes import running_example

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


def test_twenty_jobs_are_each_reported_once_though_a_runner_is_killed_and_a_mint_fails(tmp_path: Path):
    with running_example("runners", tmp_path, "--json") as (up, done):
        assert done.returncode == 0, done.stdout + done.stderr
        told = json.loads(done.stdout)
        assert told["fault"] == ""
        assert told["left"] == {"pods": 0, "accounts": 0, "claims": 0}
        reports = {report["job"]: report for report in told["reports"]}
        assert sorted(reports) == list(range(1, 21))
        assert [job for job, report in reports.items() if report["exit_code"]] == [3, 11]
        assert [job for job, report in reports.items() if report["starts"] > 1] == [6]
        assert all(f"token-of-team-{job % 4}" in report["output"] for job, report in reports.items())
        states = [claim["state"] for claim in up.get("/v1/claims?pool=ci/runners&limit=100")["items"]]
        assert sorted(states) == ["failed"] + ["released"] * 20
