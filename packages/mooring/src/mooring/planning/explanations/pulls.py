"""The explanation of a pull that fails, for any pod, with the commands that recover it."""

from collections.abc import Mapping
from typing import Any

from mooring.model import names
from mooring.model.evidence import clean_line
from mooring.model.explanation import Finding
from mooring.planning.services.fixes import kubectl, patch_object
from mooring.planning.services.pull_recovery import FailedPull, grant_and_pull, pull_again
from mooring.planning.services.registries import PullProblem, classify_pull, split_image

_HASH = "pod-template-hash"
_WITH_IMAGE = ("DaemonSet", "StatefulSet", "ReplicaSet")  # kinds that `kubectl set image` changes


def explain_pull(pod: Mapping[str, Any], container: str, image: str, said: str) -> Finding:
    """Why the image of a container cannot be pulled, from what the kubelet said."""
    name = split_image(image)
    match classify_pull(said):
        case PullProblem.UNAUTHORIZED:
            return Finding(
                "image_unauthorized", f"{name.registry} refuses to hand out {image} (401)", _grant(pod, image)
            )
        case PullProblem.NOT_FOUND:
            other = f"{image.partition('@')[0].removesuffix(f':{name.tag}')}:<TAG>"
            return Finding(
                "image_not_found", f"{name.registry} has no image {image} (404)", _other_image(pod, container, other)
            )
        case PullProblem.UNREACHABLE:
            other = f"<REACHABLE_REGISTRY>/{name.repository}:{name.tag or 'latest'}"
            message = f"{name.registry} cannot be reached for {image}"
            return Finding("registry_unreachable", message, _other_image(pod, container, other))
        case PullProblem.INVALID_NAME:
            message = f"{image!r} is not the name of an image"
            return Finding("image_name_invalid", message, _other_image(pod, container, "<IMAGE>"))
    metadata = pod["metadata"]
    fix = kubectl(metadata.get("namespace", ""), "describe", "pod", metadata["name"])
    return Finding("image_pull_failed", f"{image} cannot be pulled: {clean_line(said)}", fix)


def _grant(pod: Mapping[str, Any], image: str) -> str:
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    namespace, (kind, name) = metadata.get("namespace", ""), _owner(pod)
    if kind == "Deployment":  # all of its pods pull the same image
        again = kubectl(namespace, "rollout", "restart", "deployment", name)
    else:
        again = pull_again(namespace, metadata["name"], recreated=bool(kind))
    account = spec.get("serviceAccountName") or ""
    return grant_and_pull(FailedPull(image, namespace, spec.get("nodeName") or "", again, account))


def _other_image(pod: Mapping[str, Any], container: str, image: str) -> str:
    """The command that changes the image where the pod gets it from."""
    metadata = pod["metadata"]
    namespace, (kind, name) = metadata.get("namespace", ""), _owner(pod)
    if service := (metadata.get("labels") or {}).get(names.SERVICE):
        return patch_object(namespace, "managedservice", service, {"spec": {"image": image}})
    if kind in ("", "Deployment", *_WITH_IMAGE):
        target = f"{kind.lower()}/{name}" if kind else f"pod/{metadata['name']}"
        return kubectl(namespace, "set", "image", target, f"{container}={image}")
    if kind == "Job":  # its template cannot be changed
        return kubectl(namespace, "describe", "job", name)
    return kubectl(namespace, "edit", kind.lower(), name)


def _owner(pod: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and name of the controller; of a Deployment instead of its ReplicaSet. Both are empty for a bare pod."""
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or ()
    found: Mapping[str, Any] = next((owner for owner in owners if owner.get("controller")), {})
    kind, name = found.get("kind", ""), found.get("name", "")
    suffix = (metadata.get("labels") or {}).get(_HASH)
    if kind == "ReplicaSet" and suffix and name.endswith(f"-{suffix}"):
        return "Deployment", name.removesuffix(f"-{suffix}")
    return kind, name
