"""What holds a namespace up, as tables."""

from typing import Any

from drydock.actors.upkeep.namespaces import Remains, compute_conditions
from packages.drydock.tests.actors.shapes import NOW

Object = dict[str, Any]


def test_a_namespace_tells_what_holds_it_up() -> None:
    remains = Remains(counts={"pods.": 2}, finalizers={"example.com/x": 1})
    told = {one["type"]: one for one in compute_conditions({"status": {}}, remains, NOW)}
    assert (
        told["NamespaceContentRemaining"]["message"] == "Some resources are remaining: pods. has 2 resource instances"
    )
    assert told["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances"
    )
    assert told["NamespaceDeletionContentFailure"]["status"] == "False"
