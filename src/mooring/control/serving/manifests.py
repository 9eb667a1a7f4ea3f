"""The objects of a service, built as data: Deployment, Service and budget."""

from typing import Any

from mooring.control.ownership import owner_reference
from mooring.model import names
from mooring.model.service import Service
from mooring.planning.services.service import Desired

Body = dict[str, Any]

CONTAINER = "main"
PORT_NAME = "http"
MIN_READY_SECONDS = 5  # a program that answers once and dies has never been available


def deployment_manifest(service: Service, desired: Desired) -> Body:
    """A pod is ready when its document answers: the same question that `Serving` asks."""
    spec = service.spec
    probe = {"httpGet": {"path": spec.openapi_path, "port": spec.port}, "periodSeconds": 5, "timeoutSeconds": 5}
    container: Body = {
        "name": CONTAINER,
        "image": desired.image,
        "ports": [{"name": PORT_NAME, "containerPort": spec.port}],
        "readinessProbe": probe,
    }
    for field, value in (("command", spec.command), ("args", spec.args), ("env", spec.env)):
        if value:
            container[field] = list(value)
    pod = desired.placed.on({"containers": [container], "automountServiceAccountToken": False})
    template = {
        "metadata": {"labels": _labels(service), "annotations": {names.SPEC_HASH: desired.spec_hash}},
        "spec": pod,
    }
    return {
        "metadata": _metadata(service) | {"annotations": _hashes(desired)},
        "spec": {
            "replicas": spec.replicas,
            "minReadySeconds": MIN_READY_SECONDS,
            "selector": {"matchLabels": _labels(service)},
            "template": template,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        },
    }


def service_manifest(service: Service) -> Body:
    """Its name and port in the cluster."""
    port = {"name": PORT_NAME, "port": service.spec.port, "targetPort": service.spec.port, "protocol": "TCP"}
    spec = {"type": service.spec.expose, "selector": _labels(service), "ports": [port]}
    return {"metadata": _metadata(service), "spec": spec}


def budget_manifest(service: Service) -> Body:
    """One pod at a time may be drained, the only one of a single replica included, and a broken one always."""
    selector = {"matchLabels": _labels(service)}
    spec = {"maxUnavailable": 1, "selector": selector, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    return {"metadata": _metadata(service), "spec": spec}


def _labels(service: Service) -> dict[str, str]:
    return {names.SERVICE: service.name}


def _hashes(desired: Desired) -> dict[str, str]:
    return {names.SPEC_HASH: desired.spec_hash, names.PLACEMENT: desired.placed.fingerprint}


def _metadata(service: Service) -> Body:
    return {
        "name": service.name,
        "namespace": service.namespace,
        "labels": _labels(service),
        "ownerReferences": [owner_reference("ManagedService", service.name, service.uid)],
    }
