"""Every setting, metric and command is documented, and nothing else is."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

from prometheus_client.metrics import MetricWrapperBase
from typer.main import get_command

import mooring
from mooring.cli.main import app
from mooring.engine.metrics import LeaderGauge
from mooring.queries.metrics import InvariantFigures
from mooring.settings import describe_settings

DOCS = Path(__file__).parents[4] / "docs"


def test_every_setting_is_documented_in_its_own_words():
    text = (DOCS / "reference" / "settings.md").read_text()
    for variable, description in describe_settings().items():
        assert f"| `{variable}` | {description} |" in text
    assert set(re.findall(r"^\| `(MOORING_\w+)`", text, re.MULTILINE)) == set(describe_settings())


def metric_modules() -> list[ModuleType]:
    """The modules of the product that declare metrics."""
    found = pkgutil.walk_packages(mooring.__path__, "mooring.")
    return [importlib.import_module(info.name) for info in found if info.name.endswith(".metrics")]


def exposed_metrics() -> set[str]:
    """The names of all metrics of the product."""
    kinds = (MetricWrapperBase, LeaderGauge, InvariantFigures)
    declared = [value for module in metric_modules() for value in vars(module).values() if isinstance(value, kinds)]
    return {
        described.name + ("_total" if described.type == "counter" else "")
        for metric in declared
        for described in metric.describe()
    }


def test_every_metric_is_documented():
    documented = set(re.findall(r"^\| `(\w+)`", (DOCS / "reference" / "metrics.md").read_text(), re.MULTILINE))
    assert documented == exposed_metrics()


def test_every_command_is_documented():
    commands = set(vars(get_command(app))["commands"])
    text = (DOCS / "reference" / "terminal.md").read_text()
    assert commands >= set(re.findall(r"`mooring (\w[\w-]*)", text))
    rows = re.findall(r"^\|(.*?) \| ", text, re.MULTILINE)  # mentioned elsewhere is not described
    assert commands == {name for row in rows for name in re.findall(r"`mooring (\w[\w-]*)", row)}
