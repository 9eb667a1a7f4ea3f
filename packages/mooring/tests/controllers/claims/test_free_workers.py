"""Which worker an owner gets, as tables."""

import msgspec
import pytest

from mooring.controllers.claims.free_workers import FreeWorkers
from mooring.model.pool import PoolSpec, check_spec
from packages.mooring.tests.planning.fleets import TEMPLATE, worker


def spec(**changes):
    return msgspec.convert(
        {"warm": 4, "max": 8, "template": TEMPLATE, "slots": 3, "reuse": "Always", **changes}, PoolSpec
    )


def free(*filed):
    """Workers by (load, tenant), numbered in the order of becoming free."""
    workers = FreeWorkers()
    for number, (load, tenant) in enumerate(filed):
        workers.put(worker(number), load, tenant)
    return workers


def chosen(workers, owner, **changes):
    choice = workers.choose(owner, spec(**changes))
    return None if choice is None else (int(choice.worker.name.removeprefix("linux-")), choice.private)


PER_OWNER = {"sharing": "PerOwner"}
SAME_OWNER = {"reuse": "SameOwner", "sharing": "PerOwner"}
RESERVE = {"reserve": {"acme": 2}}


@pytest.mark.parametrize(
    ("filed", "owner", "changes", "expected"),
    [
        ([(1, ""), (0, ""), (0, "")], "acme", {}, (1, False)),
        ([(0, ""), (1, "acme"), (2, "acme")], "acme", PER_OWNER, (2, True)),
        ([(1, "globex"), (0, "")], "acme", PER_OWNER, (1, False)),
        ([(0, ""), (0, "acme")], "acme", PER_OWNER, (1, False)),
        ([(0, "globex")], "acme", PER_OWNER, (0, False)),
        ([(1, "globex")], "acme", PER_OWNER, None),
        ([(1, "")], "acme", PER_OWNER, None),
        ([(0, ""), (0, "acme")], "acme", SAME_OWNER, (1, True)),
        ([(0, "globex"), (0, "")], "acme", SAME_OWNER, (1, False)),
        ([(0, "globex")], "acme", SAME_OWNER, None),
        ([(0, ""), (0, ""), (0, "")], "globex", RESERVE, (0, False)),
        ([(0, ""), (0, "")], "globex", RESERVE, None),
        ([(0, ""), (1, "")], "globex", RESERVE, (1, False)),
        ([(0, "")], "acme", RESERVE, (0, True)),
        ([(0, ""), (0, ""), (0, "acme")], "globex", {**SAME_OWNER, **RESERVE}, (0, False)),
        ([(0, ""), (0, "acme")], "globex", {**SAME_OWNER, **RESERVE}, None),
        ([], "acme", RESERVE, None),
    ],
    ids=[
        "the least loaded that was free first",
        "an owner fills its own worker",
        "nobody joins another owner",
        "an owner comes back to the worker it used last",
        "an empty worker of another owner may be taken",
        "a busy one may not",
        "nor a busy one whose owner is not known",
        "a returned worker is its owner's",
        "and nobody else's",
        "not even if it is the only one",
        "what is not reserved is for everyone",
        "what is reserved is not",
        "slots beside others are not reserved",
        "a reserve is its owner's, whoever waits",
        "a returned worker counts for the reserve of its owner",
        "and the rest of the reserve is kept",
        "nobody is free",
    ],
)
def test_the_best_worker_for_an_owner(filed, owner, changes, expected):
    assert chosen(free(*filed), owner, **changes) == expected


def test_a_worker_that_changes_its_tenant_is_filed_once():
    workers = free((1, "acme"))
    workers.put(worker(0), 0, "")
    assert workers.filed("uid-0") == ("", 0, 0) and chosen(workers, "globex", **PER_OWNER) == (0, False)
    workers.drop("uid-0")
    assert workers.uids == [] and chosen(workers, "globex", **PER_OWNER) is None


def test_idle_workers_are_those_that_anyone_may_have():
    workers = free((0, ""), (0, "acme"), (1, ""), (2, "globex"))
    assert workers.count_idle(spec(**PER_OWNER)) == 2
    assert workers.count_idle(spec(**SAME_OWNER)) == 1


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"reserve": {"acme": 4}}, []),
        ({"reserve": {"acme": 3, "globex": 2}}, ["spec.reserve"]),
        ({"reserve": {"acme": 0}}, ["spec.reserve.acme"]),
        ({"reserve": {"a b": 1}}, ["spec.reserve"]),
        ({"reuse": "SameOwner"}, ["spec.reuse"]),
        ({"reuse": "SameOwner", "slots": 1}, []),
        (SAME_OWNER, []),
    ],
)
def test_wrong_specs_name_their_field(changes, fields):
    assert [problem.field for problem in check_spec(spec(**changes))] == fields


def ranked(*filed):
    """Workers by (load, rank), numbered in the order of becoming free."""
    workers = FreeWorkers()
    for number, (load, rank) in enumerate(filed):
        workers.put(worker(number), load, rank=rank)
    return workers


@pytest.mark.parametrize(
    ("filed", "expected"),
    [
        ([(0, 1), (0, 0), (0, 0)], 1),
        ([(1, 0), (0, 2)], 1),
        ([(0, 2), (0, 1), (0, 1), (0, 2)], 2),
    ],
    ids=[
        "the own share first, and there the one that was free first",
        "a less loaded worker of another share before the own share",
        "of other shares the nearest, and there the one that was free last",
    ],
)
def test_which_share_a_claim_is_served_from(filed, expected):
    assert chosen(ranked(*filed), "acme") == (expected, False)


def test_only_the_own_share_is_served_if_asked_so():
    choice = ranked((0, 1), (1, 0)).choose_own()
    assert choice is not None and choice.worker.name == "linux-1"
    assert ranked((0, 1)).choose_own() is None


def test_a_worker_whose_rank_changes_is_filed_once():
    workers = ranked((0, 1))
    workers.put(worker(0), 0, rank=0)
    assert workers.count_idle(None) == 1
    assert not workers.others_free
