"""Every setting, metric and command is documented, and nothing else is."""

import re
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector
from typer.main import get_command

from mooring.cli.main import app
from mooring.control import metrics
from mooring.control.figures import INVARIANT_FIGURES
from mooring.settings import describe_settings

DOCS = Path(__file__).parents[2] / "docs"


def test_every_setting_is_documented_in_its_own_words():
    text = (DOCS / "settings.md").read_text()
    for variable, description in describe_settings().items():
        assert f"| `{variable}` | {description} |" in text
    assert set(re.findall(r"^\| `(MOORING_\w+)`", text, re.MULTILINE)) == set(describe_settings())


def test_every_metric_is_documented():
    documented = set(re.findall(r"^\| `(\w+)`", (DOCS / "metrics.md").read_text(), re.MULTILINE))
    declared: list[Collector] = [value for value in vars(metrics).values() if isinstance(value, MetricWrapperBase)]
    declared.append(INVARIANT_FIGURES)
    exposed = {
        described.name + ("_total" if described.type == "counter" else "")
        for metric in declared
        for described in metric.describe()
    }
    assert documented == exposed


def test_every_command_is_documented():
    commands = set(get_command(app).commands)
    assert commands == set(re.findall(r"`mooring (\w[\w-]*)", (DOCS / "terminal.md").read_text()))


def test_every_document_that_the_readme_links_to_is_there():
    root = DOCS.parent
    for target in re.findall(r"\]\(([^)#]+)\)", (root / "README.md").read_text()):
        assert (root / target).exists(), target
