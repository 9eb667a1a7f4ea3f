"""Environment, `$(VAR)`, fields of the pod, and the files of volumes."""

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drydock.actors.kubelet.environment import ConfigFailed, PodFields, build_environment, expand
from drydock.actors.kubelet.payload import File, write_payload

POD: dict[str, Any] = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
        "labels": {"b": "2", "a": 'say "hi"\nplease'},
        "annotations": {"note": "x"},
    },
    "spec": {"nodeName": "node-1", "serviceAccountName": "robot", "containers": []},
}
FIELDS = PodFields(POD, "127.64.0.1", "127.0.0.1", {"cpu": "8", "memory": "32Gi"})


class Objects:
    """ConfigMaps and Secrets by name."""

    def __init__(self, config_maps: dict[str, Any] | None = None, secrets: dict[str, Any] | None = None) -> None:
        self._config_maps = config_maps or {}
        self._secrets = secrets or {}

    async def config_map(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self._config_maps.get(name)

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self._secrets.get(name)


async def environment(
    container: dict[str, Any], objects: Objects, base: dict[str, str] | None = None
) -> dict[str, str]:
    return await build_environment(POD, container, FIELDS, objects, base or {})


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)z", "x1y2z"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$(A", "$(A"),
        ("$A", "$A"),
        ("$", "$"),
        ("$$", "$"),
        ("$()", "$()"),
        ("$($(A))", "$($(A))"),
        ("a$", "a$"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expanded


@given(st.text())
def test_doubling_every_dollar_protects_any_text(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "1", "": "2"}) == text


async def test_a_variable_sees_those_before_it_and_not_those_after() -> None:
    env = [{"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"}, {"name": "C", "value": "$(A)"}]
    assert await environment({"env": env}, Objects()) == {"A": "1", "B": "$(A)", "C": "1"}


async def test_env_wins_over_env_from_and_both_over_what_the_node_gives() -> None:
    container = {
        "envFrom": [{"configMapRef": {"name": "c"}}, {"prefix": "S_", "secretRef": {"name": "s"}}],
        "env": [{"name": "A", "value": "own"}, {"name": "P", "value": "$(PATH)"}],
    }
    objects = Objects(
        {"c": {"data": {"A": "config", "HOME": "/config"}}},
        {"s": {"data": {"KEY": base64.b64encode(b"secret").decode()}}},
    )
    made = await environment(container, objects, {"PATH": "/bin", "HOME": "/"})
    assert made == {"PATH": "/bin", "HOME": "/config", "A": "own", "P": "/bin", "S_KEY": "secret"}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"configMapKeyRef": {"name": "no", "key": "k"}}, 'configmap "no" not found'),
        ({"configMapKeyRef": {"name": "c", "key": "k"}}, "couldn't find key k in ConfigMap shop/c"),
        ({"secretKeyRef": {"name": "no", "key": "k"}}, 'secret "no" not found'),
        ({"secretKeyRef": {"name": "s", "key": "k"}}, "couldn't find key k in Secret shop/s"),
    ],
)
async def test_what_is_missing_is_told_in_kubernetes_words(reference: dict[str, Any], message: str) -> None:
    objects = Objects({"c": {"data": {}}}, {"s": {}})
    with pytest.raises(ConfigFailed) as failure:
        await environment({"env": [{"name": "A", "valueFrom": reference}]}, objects)
    assert failure.value.message == message
    optional = {kind: {**value, "optional": True} for kind, value in reference.items()}
    assert await environment({"env": [{"name": "A", "valueFrom": optional}]}, objects) == {}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['b']", "2"),
        ("metadata.labels['missing']", ""),
        ("metadata.labels", 'a="say \\"hi\\"\\nplease"\nb="2"'),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "127.64.0.1"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_fields_of_the_pod(path: str, value: str) -> None:
    assert FIELDS.field(path) == value


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "requests.memory", "divisor": "1Mi"}, "512"),
        ({"resource": "limits.memory", "divisor": "1Gi"}, "32"),
        ({"resource": "requests.cpu"}, "0"),
    ],
)
def test_resources_of_the_container(reference: dict[str, Any], value: str) -> None:
    container = {"name": "app", "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "512Mi"}}}
    assert FIELDS.resource(reference, container) == value


def test_the_files_of_a_volume_are_replaced_at_once_and_only_when_they_change(tmp_path: Path) -> None:
    assert write_payload(tmp_path, {"a": File(b"1"), "deep/b": File(b"2", 0o600)})
    assert (tmp_path / "a").read_bytes() == b"1"
    assert (tmp_path / "deep" / "b").stat().st_mode & 0o777 == 0o600
    first = (tmp_path / "..data").resolve()
    assert not write_payload(tmp_path, {"a": File(b"1"), "deep/b": File(b"2", 0o600)})
    assert (tmp_path / "..data").resolve() == first
    assert write_payload(tmp_path, {"a": File(b"3")})
    assert (tmp_path / "a").read_bytes() == b"3"
    assert not (tmp_path / "deep").exists()
    assert not first.exists()
