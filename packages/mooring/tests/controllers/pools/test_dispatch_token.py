"""A worker that polls: the token and the address come by themselves, and nothing that its author set is changed."""

from typing import Any

import pytest

from mooring.controllers.pools.manifests import spec_hash, worker_manifest
from mooring.controllers.pools.server_address import ServerAddress
from mooring.planning.placement import Placed
from packages.mooring.tests.planning.fleets import pool

URL = "http://mooring.mooring.svc"
OURS = {"name": "mooring-dispatch", "mountPath": "/var/run/secrets/mooring-dispatch", "readOnly": True}

TOKEN = "/var/run/secrets/mooring-dispatch/token"
NAMED = {"MOORING_DISPATCH_TOKEN_FILE": TOKEN, "MOORING_TOKEN_FILE": TOKEN}


def pod_of(
    *containers: dict[str, Any], dispatch: str = "Poll", url: str = URL, ca: str = "", **pod: Any
) -> dict[str, Any]:
    template = {"spec": {"containers": list(containers), **pod}}
    made = worker_manifest(
        pool(dispatch=dispatch, template=template), "linux-0", Placed(), "ledger", ServerAddress(url, ca)
    )
    return made["spec"]


def container(**changes: Any) -> dict[str, Any]:
    return {"name": "main", "image": "runner", **changes}


def env_of(of: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in of.get("env", ())}


def test_an_image_is_enough_the_token_and_the_address_are_added() -> None:
    pod = pod_of(container(), container(name="beside"))
    [volume] = pod["volumes"]
    [source] = volume["projected"]["sources"]
    assert volume["name"] == "mooring-dispatch"
    assert source["serviceAccountToken"]["audience"] == "mooring-dispatch"
    for each in pod["containers"]:
        assert each["volumeMounts"] == [OURS]
        assert env_of(each) == {"MOORING_URL": URL, **NAMED}


def test_a_pushed_worker_gets_neither() -> None:
    assert pod_of(container(), dispatch="Push")["containers"] == [container()]
    assert "volumes" not in pod_of(container(), dispatch="Push")


def test_without_a_known_address_only_the_token_is_added() -> None:
    assert env_of(pod_of(container(), url="")["containers"][0]) == NAMED


def test_an_address_of_the_template_stays() -> None:
    own = [{"name": "MOORING_URL", "value": "http://elsewhere"}]
    [made] = pod_of(container(env=own))["containers"]
    assert env_of(made)["MOORING_URL"] == "http://elsewhere"
    assert made["volumeMounts"] == [OURS]


@pytest.mark.parametrize(
    ("changes", "pod"),
    [
        ({"env": [{"name": "MOORING_DISPATCH_TOKEN_FILE", "value": "/elsewhere"}]}, {}),
        ({"volumeMounts": [{"name": "mine", "mountPath": "/var/run/secrets/mooring-dispatch/"}]}, {}),
        ({"volumeMounts": [{"name": "mine", "mountPath": "/var/run/secrets"}]}, {}),
        ({}, {"volumes": [{"name": "mooring-dispatch", "emptyDir": {}}]}),
    ],
)
def test_whoever_brings_a_token_of_his_own_gets_none(changes: dict[str, Any], pod: dict[str, Any]) -> None:
    made = pod_of(container(**changes), **pod)
    assert made.get("volumes") == pod.get("volumes")
    assert made["containers"][0].get("volumeMounts") == changes.get("volumeMounts")


@pytest.mark.parametrize(
    "sdk",
    [
        {"env": [{"name": "MOORING_TOKEN_FILE", "value": "/elsewhere"}]},
        {"volumeMounts": [{"name": "mine", "mountPath": "/var/run/secrets/mooring", "readOnly": True}]},
    ],
)
def test_a_token_for_the_sdk_stays_beside_the_token_of_the_worker(sdk: dict[str, Any]) -> None:
    [made] = pod_of(container(**sdk))["containers"]
    assert env_of(made) == {**NAMED, "MOORING_URL": URL, **env_of(sdk)}
    assert made["volumeMounts"] == [*sdk.get("volumeMounts", ()), OURS]


def test_workers_that_poll_are_replaced_when_mooring_moves_and_others_are_not() -> None:
    polled, pushed = pool(dispatch="Poll"), pool()
    here, there = ServerAddress(URL), ServerAddress("http://new-address")
    assert spec_hash(polled, here) != spec_hash(polled, there)
    assert spec_hash(pushed, here) == spec_hash(pushed, there)


def test_workers_that_poll_are_given_the_ca_of_mooring_and_replaced_when_it_changes() -> None:
    assert env_of(pod_of(container(), ca="PEM")["containers"][0])["MOORING_CA"] == "PEM"
    polled = pool(dispatch="Poll")
    hashes = {spec_hash(polled, ServerAddress(URL, ca)) for ca in ("", "PEM", "PEM of another")}
    assert len(hashes) == 3


@pytest.mark.parametrize("name", ["MOORING_CA", "MOORING_URL"])
def test_a_template_that_names_its_own_mooring_or_ca_gets_no_other_ca(name: str) -> None:
    made = env_of(pod_of(container(env=[{"name": name, "value": "own"}]), ca="PEM")["containers"][0])
    assert made[name] == "own" and made.get("MOORING_CA") != "PEM"
