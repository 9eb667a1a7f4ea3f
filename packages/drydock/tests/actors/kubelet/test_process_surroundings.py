"""What a container finds around it as a local process: environment, volumes, tokens, logs."""

from pathlib import Path

import pytest

from drydock.runtime.logs import LogRequest
from hawser.errors import BadRequest
from hawser.resources import CONFIGMAPS
from packages.drydock.tests.actors.kubelet.node_worlds import (
    World,
    container_state,
    embedded_world,
    is_ready,
    phase,
    shell,
    waiting,
)


async def test_the_environment_is_made_of_values_fields_and_configmaps(world: World) -> None:
    config = {
        "metadata": {"name": "config", "namespace": world.namespace},
        "data": {"greeting": "hi", "who": "you"},
    }
    await world.client.create(CONFIGMAPS, config)
    env = [
        {"name": "GREETING", "valueFrom": {"configMapKeyRef": {"name": "config", "key": "greeting"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "TEXT", "value": "$(GREETING) $$(GREETING) $(UNKNOWN) $(NODE)"},
    ]
    container = {
        "command": ["sh", "-c", 'echo "$0"; echo "$TEXT"; echo "$C_who"', "$(GREETING)!"],
        "env": env,
        "envFrom": [{"configMapRef": {"name": "config"}, "prefix": "C_"}],
    }
    await world.create_pod("talk", container, restartPolicy="Never")
    await world.until("talk", phase("Succeeded"))
    assert (await world.log("talk")).splitlines() == ["hi!", f"hi $(GREETING) $(UNKNOWN) {world.node}", "you"]


async def test_a_missing_configmap_is_told_in_the_container_status(world: World) -> None:
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "missing", "key": "a"}}}]
    await world.create_pod("unconfigured", {"command": ["true"], "env": env})
    pod = await world.until("unconfigured", waiting("CreateContainerConfigError"))
    assert container_state(pod)["waiting"]["message"] == 'configmap "missing" not found'
    assert pod["status"]["phase"] == "Pending"


async def test_a_volume_that_cannot_be_set_up_keeps_the_containers_waiting(world: World) -> None:
    volumes = [{"name": "config", "configMap": {"name": "missing"}}]
    mounts = [{"name": "config", "mountPath": "/config"}]
    await world.create_pod("unmounted", {"command": ["true"], "volumeMounts": mounts}, volumes=volumes)
    told = 'MountVolume.SetUp failed for volume "config" : configmap "missing" not found'
    await world.until_event("unmounted", "FailedMount", told)
    await world.until("unmounted", waiting("ContainerCreating"))


async def test_volumes_are_really_there_at_their_paths(world: World) -> None:
    config = {"metadata": {"name": "config", "namespace": world.namespace}, "data": {"a": "1", "b": "2"}}
    await world.client.create(CONFIGMAPS, config)
    volumes = [
        {"name": "config", "configMap": {"name": "config", "items": [{"key": "a", "path": "deep/a"}]}},
        {"name": "disk", "hostPath": {"path": "/data/cache", "type": "DirectoryOrCreate"}},
        {"name": "me", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    mounts = [
        {"name": "config", "mountPath": "/etc/config", "readOnly": True},
        {"name": "disk", "mountPath": "/cache"},
        {"name": "me", "mountPath": "/me"},
    ]
    script = "cat $DRYDOCK_ROOT/etc/config/deep/a; echo; cat $DRYDOCK_ROOT/me/name; echo x > $DRYDOCK_ROOT/cache/x"
    first = shell(script, volumeMounts=mounts)
    await world.create_pod("first", first, restartPolicy="Never", volumes=volumes)
    await world.until("first", phase("Succeeded"))
    assert await world.log("first") == "1\nfirst"
    second = shell("cat $DRYDOCK_ROOT/cache/x", volumeMounts=mounts)
    await world.create_pod("second", second, restartPolicy="Never", volumes=volumes)
    await world.until("second", phase("Succeeded"))
    assert await world.log("second") == "x\n"


async def test_a_projected_token_names_the_pod_and_is_for_its_audience(world: World) -> None:
    token = {"audience": "mooring-dispatch", "expirationSeconds": 600, "path": "token"}
    volumes = [{"name": "t", "projected": {"sources": [{"serviceAccountToken": token}]}}]
    mounts = [{"name": "t", "mountPath": "/token"}]
    script = "cat $DRYDOCK_ROOT/token/token; echo; exec sleep 60"
    await world.create_pod("holder", shell(script, volumeMounts=mounts), volumes=volumes)
    pod = await world.until("holder", is_ready)
    text = (await world.until_log("holder", "\n")).strip()
    review = await world.client.review_token(text, ["mooring-dispatch"])
    assert review.authenticated
    assert review.username == f"system:serviceaccount:{world.namespace}:default"
    assert list(review.extra["authentication.kubernetes.io/pod-uid"]) == [pod["metadata"]["uid"]]
    assert not (await world.client.review_token(text, ["other"])).authenticated


@pytest.mark.realtime
async def test_where_mounts_are_not_allowed_volumes_are_links_below_drydock_root(tmp_path: Path) -> None:
    async with embedded_world(tmp_path, mounts=False) as world:
        volumes = [{"name": "work", "emptyDir": {}}]
        mounts = [{"name": "work", "mountPath": "/deep/work"}]
        script = "echo $DRYDOCK_MOUNTS; echo x > $DRYDOCK_ROOT/deep/work/file; ls /deep || echo no such folder"
        container = shell(script, volumeMounts=mounts)
        await world.create_pod("linked", container, restartPolicy="Never", volumes=volumes)
        pod = await world.until("linked", phase("Succeeded"))
        log = await world.log("linked")
        folder = tmp_path / "node-1" / "pods" / pod["metadata"]["uid"] / "volumes" / "work"
        assert f'"/deep/work": "{folder}"' in log
        assert "no such folder" in log
        assert (folder / "file").read_text() == "x\n"


@pytest.mark.realtime
async def test_the_kubelet_follows_a_log_until_the_container_ends(tmp_path: Path) -> None:
    async with embedded_world(tmp_path) as world:
        await world.create_pod("talker", shell("for i in 1 2 3; do echo $i; sleep 0.2; done"), restartPolicy="Never")
        await world.until("talker", lambda pod: "running" in container_state(pod))
        chunks = await world.fleet.open_log("test", "talker", "app", LogRequest(follow=True))
        assert b"".join([chunk async for chunk in chunks]) == b"1\n2\n3\n"


@pytest.mark.realtime
async def test_a_log_that_cannot_be_is_told_why(tmp_path: Path) -> None:
    async with embedded_world(tmp_path) as world:
        await world.create_pod("waiting", {"image": "example.invalid/app", "command": ["true"]})
        await world.until("waiting", waiting("ImagePullBackOff"))
        told = 'container "app" in pod "waiting" is waiting to start: ImagePullBackOff'
        with pytest.raises(BadRequest, match=told):
            await world.log("waiting")
        await world.create_pod("first", shell("exec sleep 60"))
        await world.until("first", is_ready)
        with pytest.raises(BadRequest, match='previous terminated container "app" in pod "first" not found'):
            await world.log("first", previous=True)
