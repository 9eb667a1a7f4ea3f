"""Where each kind is served, and which paths can never be made."""

import pytest

from hawser import resources
from hawser.errors import InvalidInput
from hawser.resources import DEPLOYMENTS, NODES, PODS, Resource

ALL = [value for value in vars(resources).values() if isinstance(value, Resource)]


def test_paths_lead_to_objects_collections_and_subresources() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("a") == "/api/v1/namespaces/a/pods"
    assert PODS.path("a", "b") == "/api/v1/namespaces/a/pods/b"
    assert PODS.path("a", "b", "eviction") == "/api/v1/namespaces/a/pods/b/eviction"
    assert NODES.path(None, "n1") == "/api/v1/nodes/n1"
    assert DEPLOYMENTS.path("a", "b") == "/apis/apps/v1/namespaces/a/deployments/b"


def test_names_of_roles_keep_their_colons() -> None:
    assert resources.CLUSTERROLES.path(None, "system:node").endswith("/clusterroles/system:node")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2Fb"])
def test_a_name_that_would_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        PODS.path("default", name)
    with pytest.raises(InvalidInput):
        PODS.path(name, "pod")


def test_strange_characters_in_a_name_are_escaped() -> None:
    assert PODS.path("a", "b?watch=1 #x").endswith("/pods/b%3Fwatch%3D1%20%23x")


def test_an_object_of_a_namespaced_kind_needs_its_namespace() -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        PODS.path(None, "pod")


def test_a_kind_without_namespaces_takes_none() -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        NODES.path("default", "node")


def test_no_two_kinds_share_a_place() -> None:
    assert len({(kind.group, kind.plural) for kind in ALL}) == len(ALL) == 24


def test_the_raw_resource_is_at_the_same_place() -> None:
    raw = PODS.raw()
    assert raw.view is dict
    assert raw.path("a", "b") == PODS.path("a", "b")
    assert raw.api_version == "v1"
