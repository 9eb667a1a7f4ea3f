"""Whatever stands in a Submission's open fields: it is refused by name, or every decision about it can be made."""

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from mooring.model.node import Node, Taint
from mooring.model.submission import SubmissionSpec, read_spec
from mooring.model.submission_checks import check_submission
from mooring.planning.fit import UNREAD, preflight
from mooring.planning.placement import plan_placement
from mooring.planning.submissions.gates import Findings, Quota, Site, judge_gates, plan_admission

WORDS = st.text(alphabet="ab1.-é", max_size=4)
LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | WORDS
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=5,
)
AMOUNTS = st.sampled_from(["500m", "1.5Gi", "abc", "", "-1", "1e3", "1e99", "٣", "0x1", "1 Gi", "Inf"]) | JSON
RESOURCES = st.dictionaries(
    st.sampled_from(["requests", "limits", "claims", "request"]),
    st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu", ""]), AMOUNTS, max_size=2) | JSON,
    max_size=3,
)
TOLERATIONS = st.lists(
    st.dictionaries(st.sampled_from(["key", "operator", "value", "effect", "tolerationSeconds"]), JSON, max_size=4),
    max_size=2,
)
NODE = Node("n", "uid-n", ready=True, labels={"pool": "x"}, taints=(Taint("dedicated", "gpu", "NoSchedule"),))
QUOTA = Quota("q", {"requests.cpu": "4", "pods": "10"}, {})


def decide(spec: SubmissionSpec) -> None:
    placed = plan_placement(spec.placement, [NODE])
    pod = placed.on({"containers": [{"name": "main", "resources": spec.resources}]})
    site = Site(placed, preflight(pod, [NODE], UNREAD, (), namespace="n"))
    gates = judge_gates(spec, Findings("search", sites=(site,), permissions={"create jobs": True}, quotas=(QUOTA,)))
    plan_admission(spec, gates)


@given(RESOURCES, TOLERATIONS, st.sampled_from([{}, {"pool": "x"}]))
@example({"requests": {"cpu": "abc"}}, [], {})
@example({"requests": ["cpu"]}, [], {})
@example({}, [{"key": ["a"], "operator": {}}], {"pool": "x"})
def test_open_fields_are_refused_by_name_or_can_be_decided_on(
    resources: dict[str, Any], tolerations: list[Any], selector: dict[str, str]
):
    placement = {"tolerations": tolerations, "nodeSelector": selector}
    spec = read_spec({"key": "k", "program": "p", "batches": [{}], "resources": resources, "placement": placement})
    problems = check_submission(spec)
    assert all(problem.field.startswith(("spec.resources", "spec.placement.tolerations")) for problem in problems)
    if not problems:
        decide(spec)
        msgspec.json.encode(spec)
