"""Which pods a controller takes and which it lets go, as tables."""

from typing import Any

from drydock.actors.workloads.owned_pods import plan_claims
from hawser.fitting.selectors import compile_map
from packages.drydock.tests.actors.shapes import a_pod, ago, names

Object = dict[str, Any]


def test_a_controller_adopts_matching_orphans_and_lets_strangers_loose() -> None:
    owner = {"metadata": {"name": "o", "uid": "o"}}
    matches = compile_map({"app": "x"})
    own = [a_pod("mine", labels={"app": "x"}), a_pod("stranger", labels={"app": "y"})]
    orphans = [
        a_pod("orphan", labels={"app": "x"}),
        a_pod("other"),
        a_pod("dying", labels={"app": "x"}, terminating=True),
    ]
    claims = plan_claims(owner, matches, own, orphans)
    assert (names(claims.owned), names(claims.adopt), names(claims.disown)) == (["mine"], ["orphan"], ["stranger"])
    ending = plan_claims({"metadata": {"name": "o", "uid": "o", "deletionTimestamp": ago(0)}}, matches, own, orphans)
    assert (names(ending.owned), ending.adopt, ending.disown) == (["mine"], (), ())
