"""Rules and dashboard of the chart against a real Prometheus that scrapes a real `up`."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from packages.mooring.tests.acceptance.world import Up, shared_up, until
from packages.mooring.tests.chart.prometheus import Prometheus, hurried, rendered_rules, running_prometheus
from packages.mooring.tests.chart.test_chart_files import ALERTS, DASHBOARD
from packages.mooring.tests.requirements import require_prometheus

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

HURRY = 600.0  # an hour of a rule in six seconds
QUIET_SECONDS = 30.0  # the longest `for` of the rules (4 h) and a little more
FIRES_SECONDS = 90.0


@pytest.fixture(scope="module")
def up(request: pytest.FixtureRequest) -> Up:
    return shared_up(request.config, "sandbox")


@pytest.fixture(scope="module")
def prometheus(up: Up) -> Iterator[Prometheus]:
    with running_prometheus([up.url.removeprefix("http://")], hurried(rendered_rules(), HURRY)) as running:
        yield running


def test_promtool_accepts_the_rules(tmp_path: Path):
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(rendered_rules()))
    done = subprocess.run(
        [require_prometheus("promtool"), "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"SUCCESS: {len(ALERTS)} rules found" in done.stdout


def test_every_panel_of_the_dashboard_has_data(prometheus: Prometheus):
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    for expression in expressions:
        asked = expression.replace("$pool", ".*")
        until(lambda asked=asked: prometheus.query(asked), 60, f"data for {json.dumps(asked)}")


def test_a_pause_of_hours_is_reported(prometheus: Prometheus, up: Up):
    up.command("pause", "schedulable", "--reason", "a test")
    try:
        prometheus.until_firing("MooringInvariantPaused", FIRES_SECONDS)
    finally:
        up.command("resume", "schedulable")


def test_a_service_that_does_not_serve_is_reported(prometheus: Prometheus, up: Up):
    service = {
        "apiVersion": "mooring.dev/v1alpha1",
        "kind": "ManagedService",
        "metadata": {"name": "silent", "namespace": "harbour"},
        "spec": {"image": "busybox", "command": ["sleep", "600"], "port": 9},
    }
    up.kubectl("apply", "-f", "-", body=service)
    try:
        prometheus.until_firing("MooringServiceNotServing", FIRES_SECONDS)
    finally:
        up.kubectl("delete", "managedservice", "-n", "harbour", "silent")


def test_a_mooring_that_is_gone_is_reported():
    with running_prometheus(["127.0.0.1:1"], hurried(rendered_rules(), HURRY)) as alone:
        alone.until_firing("MooringDown", FIRES_SECONDS)
