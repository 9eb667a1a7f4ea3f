"""Groups are made in every hierarchy and removed with all below them; those of dead owners are found."""

import os
import subprocess
from pathlib import Path

from drydock.nodes.cgroups import (
    cluster_group,
    hierarchies,
    make_group,
    raise_weight,
    remove_group,
    remove_stale_groups,
)


def version_1(root: Path) -> None:
    for name in ("cpuset", "memory"):
        (root / name).mkdir()
    (root / "cpu").symlink_to(root / "memory")
    (root / "cpuset" / "cpuset.cpus").write_text("0-1\n")


def test_a_group_is_made_in_every_hierarchy_and_removed_with_what_is_below(tmp_path: Path) -> None:
    version_1(tmp_path)
    assert [folder.name for folder in hierarchies(tmp_path)] == ["cpuset", "memory"]
    name = cluster_group("abcd")
    make_group(f"{name}/node-1", tmp_path)
    (tmp_path / "memory" / name / "node-1" / "kubepods" / "pod1").mkdir(parents=True)
    remove_group(name, tmp_path)
    assert list(tmp_path.rglob("drydock-*")) == []


def test_the_containers_of_a_cluster_count_as_ten_processes(tmp_path: Path) -> None:
    version_1(tmp_path)
    make_group("drydock-abcd-1", tmp_path)
    (tmp_path / "cpuset/drydock-abcd-1/cpu.shares").write_text("1024\n")
    raise_weight("drydock-abcd-1", tmp_path)
    assert (tmp_path / "cpuset/drydock-abcd-1/cpu.shares").read_text() == "10240"
    assert not (tmp_path / "memory/drydock-abcd-1/cpu.shares").exists()


def test_version_2_passes_its_controllers_on(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    make_group("drydock-abcd-1/node-1", tmp_path)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory"
    assert hierarchies(tmp_path) == [tmp_path]


def test_groups_of_dead_owners_are_removed_and_those_of_living_ones_kept(tmp_path: Path) -> None:
    version_1(tmp_path)
    ended = subprocess.Popen(["true"])
    ended.wait()
    for name in (f"drydock-abcd-{ended.pid}", f"drydock-abcd-{os.getpid()}", "drydock-other"):
        make_group(name, tmp_path)
    assert remove_stale_groups(tmp_path) == [f"drydock-abcd-{ended.pid}"]
    left = sorted(path.name for path in (tmp_path / "memory").iterdir())
    assert left == sorted([f"drydock-abcd-{os.getpid()}", "drydock-other"])
