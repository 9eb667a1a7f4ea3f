"""Addresses of clusters: none that the machine uses, none twice."""

from hypothesis import given
from hypothesis import strategies as st

from drydock.nodes.network import MOST_NODES, ClusterNetwork, compute_network


def test_a_cluster_has_one_block_for_nodes_and_pods() -> None:
    network = ClusterNetwork(130)
    assert network.host == "10.130.0.1"
    assert network.node(2).address == "10.130.0.12"
    assert network.node(2).pods == "10.130.2.0/24"


def test_a_block_that_is_in_use_is_passed_over() -> None:
    assert compute_network(0, ["192.0.2.0/24"]) == ClusterNetwork(128)
    assert compute_network(0, ["10.128.5.0/24", "10.129.0.1"]) == ClusterNetwork(130)
    assert compute_network(63, ["10.191.0.0/24"]) == ClusterNetwork(128), "after the last block comes the first"
    assert compute_network(5, ["10.0.0.0/8"]) is None


@given(st.integers(0, 2**32), st.integers(1, MOST_NODES), st.integers(1, MOST_NODES))
def test_no_two_nodes_share_addresses(seed: int, one: int, other: int) -> None:
    network = compute_network(seed, [])
    assert network is not None
    if one != other:
        assert network.node(one).address != network.node(other).address
        assert network.node(one).pods != network.node(other).pods
