"""Jobs and ConfigMaps of a submission, built as data: arguments stay lists, values stay values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mooring.controllers.submissions.jobs import accepted_hash
from mooring.controllers.submissions.login import with_login
from mooring.engine.ownership import owner_reference
from mooring.kinds.views import Submission
from mooring.model import names
from mooring.model.command_checks import escape_references
from mooring.model.pod_template import OWN_VOLUMES
from mooring.model.submission import (
    SCRIPTS_PATH,
    EnvVar,
    NamedStep,
    Options,
    SubmissionSpec,
    job_name,
    scripts_name,
)
from mooring.planning.placement import Placed
from mooring.planning.pod_template import shape_pod
from mooring.planning.submissions.plan import CreateJob

Body = dict[str, Any]

_SCRIPTS_VOLUME = f"{OWN_VOLUMES}scripts"
_READ_AND_RUN = 0o555


def submission_manifest(namespace: str, name: str, spec: SubmissionSpec, reason: str) -> Body:
    """The object itself."""
    metadata: Body = {"name": name, "namespace": namespace}
    if reason:
        metadata["annotations"] = {names.REASON: reason}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Submission",
        "metadata": metadata,
        "spec": msgspec.to_builtins(spec),
    }


def job_manifest(view: Submission, create: CreateJob, placed: Placed, inherited: Sequence[Body]) -> Body:
    """The Job of one step. It has no TTL: its result must not vanish before it is read."""
    spec, step = view.spec, create.step
    retry = step.step.retry or spec.retry
    labels = {names.SUBMISSION: view.metadata.name, names.STEP: step.name}
    annotations = {names.SPEC_HASH: accepted_hash(view)}
    if create.pinned.nodes:
        annotations[names.NODE_UID] = " ".join(sorted(create.pinned.nodes.values()))
    if create.pinned.nodes:
        placed = replace(placed, prefer=(), require=tuple(sorted(create.pinned.nodes)))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(spec.key, step.name),
            "namespace": view.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner_reference("Submission", view.metadata.name, view.metadata.uid)],
        },
        "spec": {
            "backoffLimit": retry.attempts - 1,
            "activeDeadlineSeconds": retry.deadline_seconds,
            "template": pod_manifest(spec, labels, _container(view, create, inherited), placed),
        },
    }


def pod_manifest(spec: SubmissionSpec, labels: Body, container: Body, placed: Placed) -> Body:
    """The pod of a step: what the submission says, and where it goes."""
    own: Body = {"restartPolicy": "Never", "containers": [container], **_volumes(spec)}
    if spec.service_account:
        own["serviceAccountName"] = spec.service_account
    pod = shape_pod(spec.pod_template, {"metadata": {"labels": labels}, "spec": own})
    return {**pod, "spec": placed.on(pod["spec"])}


def scripts_manifest(view: Submission) -> Body:
    """The ConfigMap with the submission's own scripts."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": scripts_name(view.spec.key),
            "namespace": view.metadata.namespace,
            "labels": {names.SUBMISSION: view.metadata.name},
            "annotations": {names.SPEC_HASH: accepted_hash(view)},
            "ownerReferences": [owner_reference("Submission", view.metadata.name, view.metadata.uid)],
        },
        "data": dict(view.spec.scripts),
    }


def command_of(spec: SubmissionSpec, step: NamedStep) -> list[str]:
    """The whole command line of a step: the submission's part, then the step's own."""
    own = step.step
    program = own.program or spec.program
    return [program, *spec.args, *_rendered(spec.options), *own.args, *_rendered(own.options)]


def _rendered(options: Options) -> list[str]:
    found: list[str] = []
    for name, value in options.items():
        found += [name, " ".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return found


def _container(view: Submission, create: CreateJob, inherited: Sequence[Body]) -> Body:
    spec = view.spec
    command = command_of(spec, create.step)
    if spec.login is not None:
        command = with_login(spec.login, command)
    program, *arguments = (escape_references(text) for text in command)
    mounts = [*spec.volume_mounts, *([_scripts_mount()] if spec.scripts else [])]
    container: Body = {
        "name": "main",
        "image": spec.image,
        "command": [program],
        "args": arguments,
        "env": _environment(view, create, inherited),
    }
    if mounts:
        container["volumeMounts"] = mounts
    if spec.resources:
        container["resources"] = spec.resources
    return container


def _environment(view: Submission, create: CreateJob, inherited: Sequence[Body]) -> list[Body]:
    """Inherited, then the submission's, then the step's, then our own; of two with one name the later counts."""
    own: Mapping[str, str] = {
        "MOORING_SUBMISSION": view.metadata.name,
        "MOORING_STEP": create.step.name,
        "MOORING_SCRIPTS": SCRIPTS_PATH if view.spec.scripts else "",
        "MOORING_SHARD": "" if create.step.step.shard is None else str(create.step.step.shard),
        "MOORING_FAILED_BATCHES": " ".join(create.failed_batches),
    }
    found: dict[str, Body] = {str(variable["name"]): dict(variable) for variable in inherited}
    for variable in (*view.spec.env, *create.step.step.env):
        found[variable.name] = _variable(variable)
    found.update({name: {"name": name, "value": value} for name, value in own.items() if value})
    return list(found.values())


def _variable(variable: EnvVar) -> Body:
    if variable.value_from is not None:
        return {"name": variable.name, "valueFrom": variable.value_from}
    return {"name": variable.name, "value": escape_references(variable.value)}


def _volumes(spec: SubmissionSpec) -> Body:
    volumes = list(spec.volumes)
    if spec.scripts:
        source = {"name": scripts_name(spec.key), "defaultMode": _READ_AND_RUN}
        volumes.append({"name": _SCRIPTS_VOLUME, "configMap": source})
    return {"volumes": volumes} if volumes else {}


def _scripts_mount() -> Body:
    return {"name": _SCRIPTS_VOLUME, "mountPath": SCRIPTS_PATH, "readOnly": True}
