import msgspec
import pytest

from packages.drydock.tests.api.caller import CONFIGMAPS, Caller, caller


async def fill(call: Caller, *names: str) -> None:
    for name in names:
        await call.configmap(name)


async def test_a_list_is_in_the_order_of_keys_and_its_items_do_not_repeat_their_kind() -> None:
    call = caller()
    await fill(call, "b", "a")
    answer = await call.get(CONFIGMAPS)
    assert (answer.body["kind"], answer.body["apiVersion"]) == ("ConfigMapList", "v1")
    assert answer.names == ["a", "b"]
    assert all("kind" not in item and "apiVersion" not in item for item in answer.body["items"])
    assert answer.meta == {"resourceVersion": str(call.api.cluster.store.version)}


async def test_a_namespace_whose_name_begins_with_another_ones_is_apart_from_it() -> None:
    call = caller()
    for namespace in ("ab", "ab-c"):
        await call.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        await call.post(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": namespace}})
    assert (await call.get("/api/v1/namespaces/ab/configmaps")).names == ["ab"]
    everywhere = (await call.get("/api/v1/configmaps")).names
    assert everywhere == ["ab-c", "ab"]  # as bytes, "ab-c/" comes before "ab/"


async def test_pages_belong_to_the_moment_of_the_first_one() -> None:
    call = caller()
    await fill(call, "a", "b", "c", "d", "e")
    first = await call.get(f"{CONFIGMAPS}?limit=2")
    assert first.names == ["a", "b"] and first.meta["remainingItemCount"] == 3
    await call.delete(f"{CONFIGMAPS}/d")
    await call.patch(f"{CONFIGMAPS}/c", {"data": {"changed": "later"}})
    await call.configmap("bb")
    second = await call.get(f"{CONFIGMAPS}?limit=2&continue={first.meta['continue']}")
    assert second.names == ["c", "d"]
    assert "data" not in second.body["items"][0]
    assert second.meta["resourceVersion"] == first.meta["resourceVersion"]
    last = await call.get(f"{CONFIGMAPS}?limit=2&continue={second.meta['continue']}")
    assert last.names == ["e"] and "continue" not in last.meta


async def test_a_page_that_ends_with_the_list_has_no_next() -> None:
    call = caller()
    await fill(call, "a", "b")
    assert "continue" not in (await call.get(f"{CONFIGMAPS}?limit=2")).meta


async def test_pages_of_selected_objects_do_not_count_what_remains() -> None:
    call = caller()
    for name in ("a", "b", "c"):
        await call.configmap(name, labels={"x": "y"})
    answer = await call.get(f"{CONFIGMAPS}?limit=2&labelSelector=x=y")
    assert answer.names == ["a", "b"]
    assert "continue" in answer.meta and "remainingItemCount" not in answer.meta


async def test_an_expired_page_offers_to_go_on_inconsistently() -> None:
    call = caller()
    await fill(call, "a", "b", "c")
    token = (await call.get(f"{CONFIGMAPS}?limit=1")).meta["continue"]
    await call.configmap("d")
    call.api.compact()
    answer = await call.get(f"{CONFIGMAPS}?limit=1&continue={token}")
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    assert answer.message.startswith("The provided continue parameter is too old to display a consistent list result.")
    rest = await call.get(f"{CONFIGMAPS}?continue={answer.meta['continue']}")
    assert rest.names == ["b", "c", "d"]


@pytest.mark.parametrize("token", ["abc", "e30", "!!", "eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ"])
async def test_a_token_that_is_none_is_refused(token: str) -> None:
    answer = await caller().get(f"{CONFIGMAPS}?limit=1&continue={token}")
    assert answer.status == 400 and answer.message.startswith("invalid continue token: ")


async def test_an_exact_version_shows_that_moment_or_says_it_is_forgotten() -> None:
    call = caller()
    await fill(call, "a")
    version = call.api.cluster.store.version
    await call.configmap("b")
    await call.delete(f"{CONFIGMAPS}/a")
    then = await call.get(f"{CONFIGMAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert then.names == ["a"] and then.meta["resourceVersion"] == str(version)
    call.api.compact()
    forgotten = await call.get(f"{CONFIGMAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert (forgotten.status, forgotten.message) == (410, "The resourceVersion for the provided list is too old.")
    limited = await call.get(f"{CONFIGMAPS}?resourceVersion={version}&limit=5")
    assert limited.status == 410


async def test_any_version_or_one_not_older_than_gets_the_newest() -> None:
    call = caller()
    await fill(call, "a")
    version = call.api.cluster.store.version
    await call.configmap("b")
    for query in (
        "resourceVersion=0",
        f"resourceVersion={version}",
        f"resourceVersion={version}&resourceVersionMatch=NotOlderThan",
    ):
        assert (await call.get(f"{CONFIGMAPS}?{query}")).names == ["a", "b"]


async def test_a_version_the_server_has_not_reached_times_out() -> None:
    call = caller()
    now = call.api.cluster.store.version
    for path in (f"{CONFIGMAPS}?resourceVersion=99999", "/api/v1/namespaces/default?resourceVersion=99999"):
        answer = await call.get(path)
        assert answer.status == 504
        assert answer.message == f"Timeout: Too large resource version: 99999, current: {now}"
        assert answer.body["details"]["causes"] == [
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        ]
        assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, 'resourceVersionMatch "exact" is forbidden'),
        ("resourceVersion=5&resourceVersionMatch=Some", 422, 'supported values: "Exact", "NotOlderThan", ""'),
        ("resourceVersion=abc", 400, 'invalid resource version: resourceVersion: Invalid value: "abc"'),
        ("limit=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
    ],
)
async def test_options_that_make_no_sense_are_refused(query: str, status: int, message: str) -> None:
    answer = await caller().get(f"{CONFIGMAPS}?{query}")
    assert answer.status == status and message in answer.message


async def test_a_limit_below_zero_is_none() -> None:
    call = caller()
    await fill(call, "a", "b")
    assert (await call.get(f"{CONFIGMAPS}?limit=-1")).names == ["a", "b"]


async def test_metadata_can_be_had_alone() -> None:
    call = caller()
    await call.post(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    form = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
    many = await call.get(CONFIGMAPS, accept=form.format("List"))
    assert many.body["kind"] == "PartialObjectMetadataList"
    (item,) = many.body["items"]
    assert (item["kind"], item["metadata"]["name"]) == ("PartialObjectMetadata", "a") and "data" not in item
    one = await call.get(f"{CONFIGMAPS}/a", accept=form.format(""))
    assert one.body["kind"] == "PartialObjectMetadata" and "data" not in one.body
    assert (await call.get(CONFIGMAPS, accept=form.format(""))).status == 406


async def test_a_table_has_rows_and_the_version_of_its_list() -> None:
    call = caller()
    await fill(call, "a")
    answer = await call.get(CONFIGMAPS, accept="application/json;as=Table;g=meta.k8s.io;v=v1,application/json")
    assert answer.body["kind"] == "Table"
    assert answer.body["rows"][0]["cells"][0] == "a"
    assert answer.meta["resourceVersion"] == str(call.api.cluster.store.version)


async def test_protobuf_is_answered_in_json_if_the_client_can_read_that() -> None:
    call = caller()
    protobuf = "application/vnd.kubernetes.protobuf"
    answer = await call.get(CONFIGMAPS, accept=f"{protobuf},application/json")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    refused = await call.get(CONFIGMAPS, accept=protobuf)
    assert (refused.status, refused.body["reason"]) == (406, "NotAcceptable")


async def test_an_answer_can_be_pretty_or_yaml() -> None:
    call = caller()
    await fill(call, "a")
    pretty = await call.get(f"{CONFIGMAPS}/a?pretty=true")
    assert pretty.raw == msgspec.json.format(pretty.raw, indent=2) + b"\n"
    yaml = await call.get(f"{CONFIGMAPS}/a", accept="application/yaml")
    assert yaml.headers["content-type"] == "application/yaml" and b"\n  name: a\n" in yaml.raw
