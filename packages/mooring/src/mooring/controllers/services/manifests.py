"""The objects of a service, built as data: Deployment, Service and budget."""

import hashlib
from typing import Any

import msgspec

from mooring.engine.ownership import owner_reference
from mooring.model import names
from mooring.model.service import Service
from mooring.planning.pod_template import shape_pod
from mooring.planning.services.plan import Desired

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
    pod: Body = {
        "metadata": {"labels": _labels(service), "annotations": {names.SPEC_HASH: desired.spec_hash}},
        "spec": {"containers": [container]},
    }
    if not spec.pod_template.service_account_name and spec.pod_template.automount_service_account_token is None:
        pod["spec"]["automountServiceAccountToken"] = False  # a program that names no account needs no token
    pod = shape_pod(spec.pod_template, pod)
    template = {**pod, "spec": desired.placed.on(pod["spec"])}
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
    metadata = _metadata(service)
    if service.spec.service_annotations:
        own = {names.SPEC_HASH: annotations_hash(service)}
        metadata["annotations"] = {**service.spec.service_annotations, **own}
    return {"metadata": metadata, "spec": spec}


def annotations_hash(service: Service) -> str:
    """Kept on the Service, so that an annotation that was taken out of the spec is noticed; empty without any."""
    wanted = service.spec.service_annotations
    return hashlib.sha256(msgspec.json.encode(wanted, order="sorted")).hexdigest()[:16] if wanted else ""


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
