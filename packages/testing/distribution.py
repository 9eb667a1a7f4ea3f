"""How a run spreads over processes (`pytest -n`): which tests stay together, and which start first.

Tests that share something costly (a real control plane, a `mooring up`, a PostgreSQL) run in one process, one after
another. All others are spread function by function. What waits for real processes starts first; tests in virtual time
need only the processor and fill the gaps.
"""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_BY_FILE = "{file}"
_BY_FUNCTION = "{function}"
_BY_CASE = "{case}"


@dataclass(frozen=True)
class Group:
    """Tests that run in one process: those under `path`, or only those whose id has `part` too."""

    path: str
    name: str
    part: str = ""


GROUPS = (
    Group("drydock/tests/nodes/test_real", "real nodes"),
    Group("mooring/tests/nodes/", "real nodes"),
    Group("mooring/tests/chart/test_life_cycle", _BY_FILE),
    Group("integrations/jupyterhub/tests/", _BY_FILE),
    Group("mooring/tests/soak/", _BY_FUNCTION),
    Group("mooring/tests/examples/", _BY_FILE),
    Group("integrations/blast/tests/test_live_", "blast demo"),
    Group("integrations/blast/tests/", _BY_FILE),
    Group("buildbot/tests/test_", _BY_FILE),
    Group("github-actions/tests/test_jobs", _BY_FILE),
    Group("github-actions/tests/test_readme", _BY_FILE),
    Group("mooring/tests/acceptance/test_traffic", _BY_FILE),
    Group("mooring/tests/acceptance/test_lives", _BY_FILE),
    Group("mooring/tests/acceptance/test_existing_cluster", _BY_FILE),
    Group("mooring/tests/scenarios/test_kubectl_drain", _BY_FILE),
    Group("mooring/tests/scenarios/test_rotation_kubernetes", _BY_FILE),
    Group("mooring/tests/chart/test_account", _BY_FILE),
    Group("mooring/tests/chart/test_monitoring", _BY_FILE),
    Group("mooring/tests/tools/test_image", _BY_FILE),
    Group("mooring/tests/acceptance/test_settled", "up on kubernetes"),
    Group("mooring/tests/acceptance/", "up on kubernetes", "[kubernetes"),
    Group("mooring/tests/cli/", "up on kubernetes", "[kubernetes"),
    Group("drydock/tests/conformance/", "control plane", "[kubernetes"),
    Group("drydock/tests/actors/kubelet/", "control plane", "[kubernetes"),
    Group("drydock/tests/kubernetes/test_launcher", "control plane"),
    Group("drydock/tests/api/types/test_kubernetes_shapes", "control plane"),
    Group("drydock/tests/api/strategies/test_recorded", "control plane"),
    Group("drydock/tests/test_cluster", "control plane", "::test_nodes_join_a_real_control_plane"),
    Group("drydock/tests/actors/test_conformance", _BY_FILE),
    Group("mooring/tests/conformance/", "kinds on kubernetes", "[kubernetes"),
    Group("mooring/tests/conformance/", _BY_FILE),
    Group("mooring/tests/cli/", "commands"),
    Group("mooring/tests/acceptance/test_refusals", _BY_FILE),
    Group("mooring/tests/pages/", "pages"),
    Group("mooring/tests/acceptance/", "up"),
    Group("mooring/tests/incidents/", _BY_FUNCTION, "real_control_plane"),
    Group("hawser/tests/test_reflector_chaos", _BY_FUNCTION),
    Group("mooring/tests/client/test_runners", _BY_FUNCTION),
    Group("mooring/tests/ledger/test_embedded", _BY_FILE),
    Group("mooring/tests/api/", "api"),
    Group("drydock/tests/conformance/", "embedded cluster"),
    Group("mooring/tests/ledger/", "ledger"),
    Group("mooring/tests/client/", _BY_FILE),
    Group("drydock/tests/test_", _BY_FILE),
    Group("drydock/tests/kubernetes/", _BY_FILE),
    Group("drydock/tests/processes/", _BY_FILE),
    Group("drydock/tests/actors/kubelet/test_process", _BY_FILE),
    Group("mooring/tests/incidents/", "replays of leaked stamps", "leaked"),
    Group("mooring/tests/incidents/", "replays"),
    Group("mooring/tests/scenarios/test_crash_sweep", _BY_FUNCTION),
    Group("mooring/tests/scenarios/test_storms", _BY_FUNCTION),
    Group("mooring/tests/scenarios/test_submit_costs", _BY_FUNCTION),
    Group("mooring/tests/scenarios/test_warm_crashes", _BY_FUNCTION),
    Group("mooring/tests/scenarios/test_silent_pools", _BY_CASE),
    Group("mooring/tests/scenarios/test_submit_sweep", _BY_CASE),
    Group("mooring/tests/scenarios/test_fuzzed_objects", _BY_CASE),
)
_LAST = len(GROUPS)


@cache
def group_of(nodeid: str) -> tuple[int, str]:
    """When a test starts (lower is earlier), and the name that it shares with those it runs with."""
    path, function = nodeid.split("[", 1)[0].split("::", 1)
    for place, group in enumerate(GROUPS):
        if f"/{group.path}" in f"/{path}" and group.part in nodeid:
            return place, group.name.format(file=path, function=f"{path}::{function}", case=nodeid)
    return _LAST, f"{path}::{function}"


class Distribution(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out the groups in their order."""

    _in_order = False

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)[1]

    def _assign_work_unit(self, node: Any) -> None:
        """Give a process its next group, which it needs before it begins the last test of the one it has.

        Behind a long group it gets a short one: a long one would stand in line there while other processes are idle.
        """
        if not self._in_order:
            self.workqueue = OrderedDict(sorted(self.workqueue.items(), key=lambda unit: _place(unit[1])))
            self._in_order = True
        busy = [unit for unit in self.assigned_work[node].values() if not all(unit.values())]
        if any(_place(unit) < _LAST for unit in busy):
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


def _place(unit: dict[str, bool]) -> int:
    return group_of(next(iter(unit)))[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Distribution | None:
    """Ours, unless another one was asked for with `--dist`."""
    return Distribution(config, log) if config.getvalue("dist") == "load" else None
