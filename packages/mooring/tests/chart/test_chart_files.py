"""The files of the chart agree with each other, with the code and with the documents. No Helm is needed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mooring.model.runbook import SITE
from packages.mooring.tests.chart.rendering import CHART
from packages.mooring.tests.docs.test_documentation import exposed_metrics

ROOT = CHART.parents[1]
TEMPLATES = "\n".join(path.read_text() for path in sorted((CHART / "templates").iterdir()))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
ALERTS = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["alerts"]
DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
_SUFFIX = re.compile(r"_(bucket|sum|count)$")


def test_what_the_code_and_the_values_decide_is_written_down(tmp_path: Path):
    subprocess.run([sys.executable, str(ROOT / "tools" / "chart"), str(tmp_path)], check=True)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) >= 10
    for name in written:
        assert (CHART / name).read_text() == (tmp_path / name).read_text(), (
            f"deploy/helm/{name} is old: run tools/chart"
        )


def leaves(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict) and value:
        return [leaf for name, one in value.items() for leaf in leaves(one, f"{path}.{name}")]
    return [path]


@pytest.mark.parametrize("path", leaves(VALUES))
def test_every_value_is_used_by_a_template(path: str):
    parts = path.strip(".").split(".")
    assert any(f".Values.{'.'.join(parts[:count])}" in TEMPLATES for count in range(1, len(parts) + 1)), path
    if len(parts) == 2:
        whole = {"resources", "podSecurityContext", "securityContext", "probes", "priorityClass", "strategy"}
        assert f".Values.{parts[0]}.{parts[1]}" in TEMPLATES or parts[0] in whole, path


def test_every_value_that_a_template_uses_exists():
    for used in set(re.findall(r"\.Values((?:\.[a-zA-Z]+)+)", TEMPLATES)):
        found: object = VALUES
        for part in used.strip(".").split("."):
            assert isinstance(found, dict) and part in found, f".Values{used}"
            found = found[part]


def test_every_alert_has_a_heading_in_the_runbook_and_nothing_else_has():
    headings = re.findall(r"^## (\w+)$", (ROOT / "docs" / "runbook" / "alerts.md").read_text(), re.MULTILINE)
    assert headings == [alert["alert"] for alert in ALERTS]


def test_runbook_links_lead_to_the_page_of_the_alerts():
    address = VALUES["prometheusRule"]["runbookUrl"]
    assert address == f"{SITE}/alerts.html", "as the site builds it: use_directory_urls is false"
    assert (ROOT / "docs" / "runbook" / "alerts.md").is_file()
    assert "use_directory_urls: false" in (ROOT / "mkdocs.yml").read_text()


def queries() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    variables = [one["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]
    return [*panels, *variables, *(alert["expr"] for alert in ALERTS)]


def test_alerts_and_dashboard_use_metrics_that_exist():
    known = exposed_metrics()
    used = {_SUFFIX.sub("", name) for query in queries() for name in re.findall(r"\bmooring_\w+", query)}
    assert len(used) > 20
    assert used - known == set()


def test_every_panel_has_a_title_a_query_and_a_place_of_its_own():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    assert all(panel["title"] and (panel["type"] == "row" or panel["targets"]) for panel in panels)


def test_alerts_say_what_is_wrong_for_how_long_and_how_bad():
    for alert in ALERTS:
        assert set(alert) == {"alert", "expr", "for", "severity", "summary"}
        assert alert["severity"] in ("critical", "warning", "info") and re.fullmatch(r"\d+[mh]", alert["for"])
        assert alert["summary"].endswith(".")
