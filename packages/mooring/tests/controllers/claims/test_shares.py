"""Shares of workers: every replica computes the same ones, and a change moves no more than it must."""

from collections import Counter

from mooring.controllers.claims.shares import Shares

REPLICAS = ("a", "b", "c")
UIDS = [f"uid-{number}" for number in range(3000)]


def shares(me, replicas=REPLICAS):
    found = Shares(me)
    found.change(replicas)
    return found


def owners(replicas):
    """Which replicas have each worker in their share."""
    everyone = {me: shares(me, replicas) for me in replicas}
    return {uid: [me for me, one in everyone.items() if one.rank(uid) == 0] for uid in UIDS}


def test_alone_a_replica_has_all_workers_in_its_share():
    assert all(Shares("a").rank(uid) == 0 for uid in UIDS)


def test_each_worker_is_in_one_share_and_shares_are_about_alike():
    found = owners(REPLICAS)
    assert all(len(who) == 1 for who in found.values())
    sizes = Counter(who[0] for who in found.values())
    assert all(900 <= sizes[who] <= 1100 for who in REPLICAS), sizes


def test_when_a_replica_goes_only_its_share_changes_hands():
    before, after = owners(REPLICAS), owners(("a", "b"))
    assert all(before[uid] in (after[uid], ["c"]) for uid in UIDS)


def test_two_replicas_without_own_workers_go_to_different_ones_of_the_third():
    """The ranks of the others are different for each worker, too."""
    a, b, c = (shares(me) for me in REPLICAS)
    for uid in UIDS[:300]:
        assert {a.rank(uid), b.rank(uid), c.rank(uid)} == {0, 1, 2}


def test_a_change_says_whether_anything_is_different():
    found = shares("a", ("a", "b", "c"))
    ranks = [found.rank(uid) for uid in UIDS[:100]]
    assert not found.change(["c", "b"])
    assert found.change(["b"])
    assert max(found.rank(uid) for uid in UIDS[:100]) == 1 < max(ranks)
    assert found.change(["b", "new"])
