"""A real Prometheus with the rules of the chart, which scrapes what it is given."""

import contextlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from packages.mooring.tests.acceptance.world import until
from packages.mooring.tests.chart.rendering import by_name, template
from packages.mooring.tests.requirements import require_prometheus
from packages.mooring.tests.soak.stage import free_port

SCRAPE_SECONDS = 1
START_SECONDS = 60.0


def rendered_rules() -> dict[str, Any]:
    """The groups of the PrometheusRule, as Helm renders them."""
    objects = by_name(template({"prometheusRule": {"enabled": True}}).out)
    return dict(objects["PrometheusRule", "mooring"]["spec"])


def hurried(rules: dict[str, Any], times: float) -> dict[str, Any]:
    """The same rules with all of their times divided, as replays hurry a real cluster."""

    def shorter(found: "re.Match[str]") -> str:
        seconds = int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] / times
        return f"{max(SCRAPE_SECONDS * 4, round(seconds))}s"

    def hurry(rule: dict[str, Any]) -> dict[str, Any]:
        expression = re.sub(r"(?<=\[)(\d+)([smh])(?=\])", shorter, rule["expr"])
        lasting = "0s" if rule["for"] == "0m" else re.sub(r"(\d+)([smh])", shorter, rule["for"])
        return {**rule, "expr": expression, "for": lasting}

    return {"groups": [{**group, "rules": [hurry(rule) for rule in group["rules"]]} for group in rules["groups"]]}


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Asked over HTTP."""

    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The vector of an expression."""
        answer = httpx.get(f"{self.url}/api/v1/query", params={"query": expression}, timeout=30).json()
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])

    def names(self) -> set[str]:
        """Every name of a series."""
        return set(httpx.get(f"{self.url}/api/v1/label/__name__/values", timeout=30).json()["data"])

    def alerts(self, state: str) -> set[str]:
        """The alerts in a state: pending or firing."""
        found = httpx.get(f"{self.url}/api/v1/alerts", timeout=30).json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in found if alert["state"] == state}

    def until_firing(self, name: str, within: float) -> None:
        until(lambda: name in self.alerts("firing"), within, f"{name} fires", every=0.5)


@contextlib.contextmanager
def running_prometheus(targets: Sequence[str], rules: dict[str, Any]) -> Iterator[Prometheus]:
    """Scrapes these addresses every second, and judges the rules as often."""
    program = require_prometheus()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="mooring-prometheus-") as folder:
        home = Path(folder)
        (home / "rules.yaml").write_text(yaml.safe_dump(rules))
        often = f"{SCRAPE_SECONDS}s"
        config = {
            "global": {"scrape_interval": often, "evaluation_interval": often},
            "rule_files": [str(home / "rules.yaml")],
            "scrape_configs": [{"job_name": "mooring", "static_configs": [{"targets": list(targets)}]}],
        }
        (home / "prometheus.yaml").write_text(json.dumps(config))
        words = [
            program,
            f"--config.file={home / 'prometheus.yaml'}",
            f"--storage.tsdb.path={home / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with open(home / "log", "wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
            try:
                found = Prometheus(f"http://127.0.0.1:{port}")
                until(lambda: process.poll() is not None or _is_ready(found), START_SECONDS, "Prometheus is ready")
                assert process.poll() is None, (home / "log").read_text()
                yield found
            finally:
                process.terminate()


def _is_ready(prometheus: Prometheus) -> bool:
    try:
        return httpx.get(f"{prometheus.url}/-/ready", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
