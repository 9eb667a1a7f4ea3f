"""Lists that are limited to some namespaces."""

from mooring.ledger.records import AuditFilter, ClaimFilter
from mooring.model.audit import AuditEntry, Subject
from mooring.model.claim import NewClaim
from packages.mooring.tests.ledger.worlds import NOW, World, after


async def test_claims_are_listed_and_counted_within_some_namespaces(world: World) -> None:
    ledger = await world.open()
    for number, namespace in enumerate(("one", "two", "two", "three")):
        new = NewClaim(
            id=f"c{number}", namespace=namespace, pool="p", owner="o", ttl_seconds=60, holder=f"holder of {namespace}"
        )
        await ledger.claims.insert_queued(new, now=NOW, wait_until=after(60))
    for within, expected in ((None, 4), ({"two"}, 2), ({"one", "three"}, 2), (set(), 0)):
        which = ClaimFilter(within=None if within is None else frozenset(within))
        page = await ledger.claims.list(which)
        assert (page.total, len(page.items)) == (expected, expected)
        assert all(within is None or claim.namespace in within for claim in page.items)
        assert all(claim.holder == f"holder of {claim.namespace}" for claim in page.items)
    both = await ledger.claims.list(ClaimFilter(namespace="two", within=frozenset({"one"})))
    assert both.items == ()


async def test_audit_rows_are_listed_within_some_namespaces_or_without_those_of_the_cluster(world: World) -> None:
    ledger = await world.open()
    for number, namespace in enumerate(("one", "two", "")):
        entry = AuditEntry(
            id=str(number),
            at=NOW,
            actor="a",
            replica="r",
            action="x",
            subject=Subject("Pod", namespace, "n", "u"),
            reason="",
            evidence={},
        )
        await ledger.audit.begin(entry)

    async def listed(**limits: object) -> list[str]:
        page = await ledger.audit.list(AuditFilter(**limits))  # type: ignore[arg-type]
        assert page.total == len(page.items)
        return sorted(row.entry.subject.namespace for row in page.items)

    assert await listed() == ["", "one", "two"]
    assert await listed(namespaced=True) == ["one", "two"]
    assert await listed(within=frozenset({"two"}), namespaced=True) == ["two"]
    assert await listed(within=frozenset(), namespaced=True) == []
