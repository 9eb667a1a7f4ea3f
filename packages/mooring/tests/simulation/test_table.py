"""The table in the documents comes from the planner as it is."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from mooring.simulation.bars import STARTS, TRACES

ROOT = Path(__file__).resolve().parents[4]


def load_tool() -> ModuleType:
    loader = SourceFileLoader("demand_table", str(ROOT / "tools" / "demand"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_table_was_written_for_the_present_planner() -> None:
    tool = load_tool()
    written = re.search(r"<!-- code: (\w+) -->", tool.PAGE.read_text())
    assert written is not None
    assert written[1] == tool.fingerprint(), "the planner or the simulator changed: run tools/demand"


def test_the_table_has_every_trace_and_start_and_every_bar_is_met_on_every_seed() -> None:
    tool = load_tool()
    rows = re.findall(r"^\| (\w+) \| (\d+) s \|.*\| ([^|]+) \|$", tool.PAGE.read_text(), re.MULTILINE)
    met = {(trace, float(start)): said for trace, start, said in rows}
    for trace in TRACES:
        for start in STARTS:
            assert met[trace, start] == f"{len(tool.SEEDS)} of {len(tool.SEEDS)} seeds", (trace, start)
