"""Tests of the operator: `pytest examples/operator`, with `--drydock=kubernetes` on a real control plane."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from kubernetes import client, config

HERE = Path(__file__).parent
GROUP = ("example.com", "v1")


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.2)


@pytest.fixture(scope="session")
def websites(kubernetes_cluster) -> None:
    """The definition, installed once."""
    config.load_kube_config(str(kubernetes_cluster.kubeconfig))
    definition = yaml.safe_load((HERE / "website.yaml").read_text())
    definitions = client.ApiextensionsV1Api()
    definitions.create_custom_resource_definition(definition)
    until(lambda: _established(definitions.read_custom_resource_definition("websites.example.com")))


def _established(definition) -> bool:
    return any(one.type == "Established" and one.status == "True" for one in definition.status.conditions or ())


@pytest.fixture
def operator(kubernetes, websites) -> Iterator[str]:
    """The operator as a process of its own, for the test's namespace; gives the namespace."""
    command = [sys.executable, "-m", "kopf", "run", "--namespace", kubernetes.namespace, str(HERE / "websites.py")]
    with subprocess.Popen(command, env={**os.environ, **kubernetes.environment}, stderr=subprocess.DEVNULL) as process:
        yield kubernetes.namespace
        process.terminate()


def website(name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name}, "spec": spec}


def test_a_website_is_served_scaled_and_collected(operator: str) -> None:
    objects, deployments = client.CustomObjectsApi(), client.AppsV1Api()
    objects.create_namespaced_custom_object(*GROUP, operator, "websites", website("shop", page="hello"))
    until(lambda: _available(deployments, operator) == 1)

    patch = {"spec": {"replicas": 3}}
    objects.patch_namespaced_custom_object(*GROUP, operator, "websites", "shop", patch)
    until(lambda: _available(deployments, operator) == 3)

    objects.delete_namespaced_custom_object(*GROUP, operator, "websites", "shop")
    until(lambda: not deployments.list_namespaced_deployment(operator).items)


def test_a_website_without_a_page_is_refused_by_its_schema(kubernetes, websites) -> None:
    objects = client.CustomObjectsApi()
    with pytest.raises(client.ApiException) as refused:
        objects.create_namespaced_custom_object(*GROUP, kubernetes.namespace, "websites", website("shop"))
    assert "spec.page: Required value" in refused.value.body


def _available(deployments: client.AppsV1Api, namespace: str) -> int:
    return sum(one.status.available_replicas or 0 for one in deployments.list_namespaced_deployment(namespace).items)
