"""Jobs that the cluster refused to create: its answer, in terms of the fields of the Warmup."""

import re

from hawser.errors import BadRequest, KubeError, NotPermitted, ObjectInvalid, StatusCause
from mooring.model.evidence import clean_line
from mooring.model.warm_job import Refusal

_MOST_CAUSES = 3
_ATTEMPT = re.compile(r'^(Error creating: )?(pods "[^"]*" is forbidden: )?')  # has another name each time
# Volumes and mounts of a Job after our own are those of the template.
_ADDED = re.compile(r"\b(volumes|volumeMounts)\[(\d+)\](.*)")
_OURS = 2
# Where in a Job a field of the Warmup ends up.
_FIELDS = (
    (".resources", "spec.podTemplate.resources"),
    ("ontainers[0].securityContext", "spec.podTemplate.containerSecurityContext"),
    ("securityContext", "spec.podTemplate.securityContext"),
    ("metadata.labels", "spec.podTemplate.labels"),
    ("metadata.annotations", "spec.podTemplate.annotations"),
    ("imagePullSecrets", "spec.podTemplate.imagePullSecrets"),
    (".envFrom", "spec.podTemplate.envFrom"),
    (".env", "spec.env"),
    ("serviceAccountName", "spec.serviceAccount"),
    ("tolerations", "spec.placement.tolerations"),
    ("mountPath", "spec.localPath"),
    ("hostPath", "spec.localPath"),
    ("volumeMounts", "spec.localPath"),
    (".image", "spec.image"),
    (".command", "spec.command"),
    (".args", "spec.args"),
)


def explain_refusal(error: KubeError) -> Refusal:
    """Why a Job was not made, and what to do about it."""
    if isinstance(error, ObjectInvalid):
        message = list(dict.fromkeys(_tell(cause) for cause in error.causes))[:_MOST_CAUSES] or [error.message]
        return Refusal(clean_line(f"its Job is refused: {'; '.join(message)}"), final=True)
    # A quota's 403 is no lack of permission.
    fix = "" if isinstance(error, NotPermitted) and "exceeded quota" in error.message else error.fix
    told_all = f"{error.message} (fix: {fix})" if fix else error.message
    return Refusal(clean_line(f"its Job could not be made: {told_all}"), final=isinstance(error, BadRequest))


def explain_missing_pod(message: str) -> str:
    """Why a Job has no pod, from the event of the controller that tried to make it."""
    fix = ""
    if "service account" in message.lower():
        named = "spec.serviceAccount or spec.podTemplate.serviceAccountName"
        fix = f" (fix: make that ServiceAccount, or name another in {named})"
    return clean_line(f"its pod could not be made: {_ATTEMPT.sub('', message)}{fix}")


def _added(field: str) -> str:
    found = _ADDED.search(field)
    if found is None or int(found[2]) < _OURS:
        return ""
    return f"spec.podTemplate.{found[1]}[{int(found[2]) - _OURS}]{found[3]}"


def _tell(cause: StatusCause) -> str:
    field = _added(cause.field) or next((ours for theirs, ours in _FIELDS if theirs in cause.field), "")
    return f"{field}: {cause.message} (fix: correct {field})" if field else f"{cause.field}: {cause.message}"
