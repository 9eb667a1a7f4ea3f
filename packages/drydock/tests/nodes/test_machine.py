"""What a machine lacks is named, with the packages that bring it."""

from dataclasses import replace

import pytest

from drydock.nodes.machine import CNI_PLUGINS, PACKAGES, MachineFacts, compute_lacks

COMPLETE = MachineFacts(
    linux=True, root=True, overlay=True, cgroups=True, programs=frozenset(PACKAGES), plugins=frozenset(CNI_PLUGINS)
)


@pytest.mark.parametrize(
    ("facts", "lacks", "packages"),
    [
        (COMPLETE, [], []),
        (replace(COMPLETE, linux=False, root=False), ["Linux"], []),
        (replace(COMPLETE, root=False, cgroups=False), ["root"], []),
        (replace(COMPLETE, cgroups=False), ["writable cgroups in /sys/fs/cgroup"], []),
        (replace(COMPLETE, overlay=False), ["the file system overlay (modprobe overlay)"], []),
        (replace(COMPLETE, programs=frozenset(PACKAGES) - {"runc", "nft"}), ["runc", "nft"], ["runc", "nftables"]),
        (
            replace(COMPLETE, plugins=frozenset(CNI_PLUGINS) - {"ptp"}),
            ["/usr/lib/cni/ptp"],
            ["containernetworking-plugins"],
        ),
    ],
)
def test_everything_that_is_missing_is_named(facts: MachineFacts, lacks: list[str], packages: list[str]) -> None:
    assert compute_lacks(facts) == (lacks, packages)
