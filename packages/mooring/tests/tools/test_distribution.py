"""How tests are spread over processes: groups follow the files when these move."""

from pathlib import Path

from packages.testing.distribution import GROUPS, group_of

PACKAGES = Path(__file__).parents[3]
FILES = [
    path.relative_to(PACKAGES.parent).as_posix()
    for room in ("packages", "integrations")
    for path in (PACKAGES.parent / room).glob("*/tests/**/test_*.py")
]


def test_every_group_has_tests():
    assert [group.path for group in GROUPS if not any(group.path in file for file in FILES)] == []


def test_tests_of_one_real_control_plane_share_a_process():
    kubelet, shapes = "packages/drydock/tests/actors/kubelet", "packages/drydock/tests/api/types"
    ids = (f"{kubelet}/test_processes.py::test_a[kubernetes]", f"{shapes}/test_kubernetes_shapes.py::test_b[v1]")
    assert {group_of(nodeid)[1] for nodeid in ids} == {"control plane"}
    assert group_of(f"{kubelet}/test_processes.py::test_a[embedded]")[1] == f"{kubelet}/test_processes.py"


def test_the_seeds_of_a_long_test_are_spread_one_by_one():
    seeds = "packages/mooring/tests/scenarios/test_silent_pools.py::test_a_pool"
    assert group_of(f"{seeds}[0]")[1] != group_of(f"{seeds}[5]")[1]


def test_all_others_are_spread_function_by_function():
    function = "packages/mooring/tests/planning/test_rails.py::test_the_cap"
    assert group_of(f"{function}[one]") == group_of(f"{function}[two]") == (len(GROUPS), function)
