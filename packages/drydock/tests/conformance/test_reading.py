"""What a reader may rely on: lists, pages, watches, versions and errors."""

import asyncio

from hawser.errors import BadRequest, ObjectNotFound, TooNew, error_from_answer
from hawser.resources import CONFIGMAPS, PODS
from hawser.transport import Request
from packages.drydock.tests.conformance.world import HostedCluster, Probe


async def _some(p: Probe, number: int) -> None:
    for index in range(number):
        await p.make(CONFIGMAPS, f"c-{index}", metadata={"labels": {"even": str(index % 2 == 0).lower()}})


def test_absence_is_a_404_with_the_kind_and_the_name(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        error = await p.refusal(p.client.get(PODS, "none", p.namespace))
        assert isinstance(error, ObjectNotFound)
        assert error.message == 'pods "none" not found'
        assert error.status.details.kind == "pods" and error.status.details.name == "none"

    cluster.run(probe)


def test_a_list_comes_in_pages_that_belong_together(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _some(p, 7)
        seen: list[str] = []
        versions = set()
        token = ""
        while True:
            page = await p.client.list_page(
                CONFIGMAPS, p.namespace, label_selector="even", field_selector="", limit=3, continue_token=token
            )
            seen += [item.metadata.name for item in page.items]
            versions.add(page.resource_version)
            token = page.continue_token
            if not token:
                break
            if len(seen) == 3:
                await p.make(CONFIGMAPS, "c-3a", metadata={"labels": {"even": "late"}})
        assert seen == [f"c-{index}" for index in range(7)]
        assert len(versions) == 1

    cluster.run(probe)


def test_a_continue_token_that_makes_no_sense_is_refused(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        attempt = p.client.list_page(
            CONFIGMAPS, p.namespace, label_selector="", field_selector="", limit=3, continue_token="nonsense"
        )
        assert isinstance(await p.refusal(attempt), BadRequest)

    cluster.run(probe)


def test_label_selectors_select(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _some(p, 4)
        for selector, expected in {
            "even=true": {"c-0", "c-2"},
            "even!=true,even": {"c-1", "c-3"},
            "even in (true,maybe)": {"c-0", "c-2"},
            "even notin (true),even": {"c-1", "c-3"},
            "!odd,even": {"c-0", "c-1", "c-2", "c-3"},
        }.items():
            found = await p.client.list(CONFIGMAPS, p.namespace, label_selector=selector)
            assert {item.metadata.name for item in found.items} == expected, selector

    cluster.run(probe)


def test_field_selectors_select_and_unknown_ones_are_refused(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod("a", nodeSelector={"disk": "ssd"})
        await p.pod("b", nodeSelector={"disk": "hdd"})
        await p.until_running("a")
        await p.until_running("b")
        found = await p.client.list(PODS, p.namespace, field_selector="spec.nodeName=plain-1,status.phase=Running")
        assert [item.metadata.name for item in found.items] == ["a"]
        assert isinstance(await p.refusal(p.client.list(PODS, p.namespace, field_selector="spec.wrong=1")), BadRequest)

    cluster.run(probe)


def test_a_watch_tells_every_change_in_order_from_the_lists_version_on(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        listing = await p.client.list(CONFIGMAPS, p.namespace)
        async with p.client.watch(CONFIGMAPS, p.namespace, resource_version=listing.resource_version) as events:
            await p.make(CONFIGMAPS, "c", data={"n": "1"})
            await p.client.merge_patch(CONFIGMAPS, "c", {"data": {"n": "2"}}, p.namespace)
            await p.client.delete(CONFIGMAPS, "c", p.namespace)
            seen = []
            async for event in events:
                seen.append((event.type, event.object.metadata.name, int(event.object.metadata.resource_version)))
                if event.type == "DELETED":
                    break
        assert [(type_, name) for type_, name, _ in seen] == [("ADDED", "c"), ("MODIFIED", "c"), ("DELETED", "c")]
        assert [version for _, _, version in seen] == sorted({version for _, _, version in seen})

    cluster.run(probe)


def test_an_object_that_no_longer_matches_the_selector_is_deleted_to_the_watch(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        listing = await p.client.list(CONFIGMAPS, p.namespace)
        watch = p.client.watch(
            CONFIGMAPS, p.namespace, resource_version=listing.resource_version, label_selector="in=yes"
        )
        async with watch as events:
            await p.make(CONFIGMAPS, "c", metadata={"labels": {"in": "yes"}})
            await p.client.merge_patch(CONFIGMAPS, "c", {"metadata": {"labels": {"in": "no"}}}, p.namespace)
            await p.client.merge_patch(CONFIGMAPS, "c", {"metadata": {"labels": {"in": "yes"}}}, p.namespace)
            seen = []
            async for event in events:
                seen.append(event.type)
                if len(seen) == 3:
                    break
        assert seen == ["ADDED", "DELETED", "ADDED"]

    cluster.run(probe)


def test_a_watch_ends_cleanly_at_its_time_out(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        listing = await p.client.list(CONFIGMAPS, p.namespace)
        version = listing.resource_version
        async with asyncio.timeout(10):
            async with p.client.watch(CONFIGMAPS, p.namespace, resource_version=version, timeout_seconds=1) as events:
                assert all([event.type == "BOOKMARK" async for event in events])

    cluster.run(probe)


def test_a_list_at_a_version_that_does_not_exist_yet_is_too_new(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        query = (("resourceVersion", "999999999"), ("resourceVersionMatch", "NotOlderThan"))
        answer = await p.transport.send(Request("GET", CONFIGMAPS.path(p.namespace), query))
        error = error_from_answer(answer.status, answer.headers, await answer.read())
        assert isinstance(error, TooNew) and error.status.code == 504
        assert "Too large resource version" in error.message

    cluster.run(probe)


def test_versions_of_one_kind_rise(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        versions = []
        for index in range(4):
            made = await p.make(CONFIGMAPS, f"c-{index}")
            versions.append(int(made["metadata"]["resourceVersion"]))
        assert versions == sorted(set(versions))

    cluster.run(probe)


def test_a_recreated_object_has_a_new_uid(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        first = await p.make(CONFIGMAPS, "c")
        await p.client.delete(CONFIGMAPS, "c", p.namespace)
        second = await p.make(CONFIGMAPS, "c")
        assert first["metadata"]["uid"] != second["metadata"]["uid"]

    cluster.run(probe)
