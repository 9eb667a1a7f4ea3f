"""The one node that the pods of a Job can go to, in all ways in which tools pin a Job."""

from typing import NamedTuple

from hawser.client import KubeClient
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import NODES, PODS
from hawser.views import Job
from hawser.views.pod import PodSpec
from mooring.engine.nodes.translation import node_from_view
from mooring.model import names

JOB_NAME = "batch.kubernetes.io/job-name"


class Pin(NamedTuple):
    """A node by its name or by its hostname label, which are often not the same."""

    node: str = ""
    hostname: str = ""


def read_pin(pod: PodSpec) -> Pin:
    """The one node a pod can go to: by nodeName, by the hostname label, or by a field of the node; else no pin."""
    if pod.node_name:
        return Pin(pod.node_name)
    if names.HOSTNAME in pod.node_selector:
        return Pin(hostname=pod.node_selector[names.HOSTNAME])
    terms = pod.required_terms
    if len(terms) != 1:
        return Pin()
    for requirement in terms[0].match_fields:
        if requirement.key == "metadata.name" and requirement.operator == "In" and len(requirement.values) == 1:
            return Pin(requirement.values[0])
    for requirement in terms[0].match_expressions:
        if requirement.key == names.HOSTNAME and requirement.operator == "In" and len(requirement.values) == 1:
            return Pin(hostname=requirement.values[0])
    return Pin()


async def is_pin_gone(client: KubeClient, pin: Pin) -> bool:
    """Whether a live read proves that no such node exists. An error and an empty list of nodes prove nothing."""
    try:
        if pin.node:
            await client.get(NODES, pin.node)
            return False
        found = (await client.list(NODES)).items
        return bool(found) and bool(pin.hostname) and all(node_from_view(one).hostname != pin.hostname for one in found)
    except ObjectNotFound:
        return True
    except KubeError:
        return False


async def may_run(client: KubeClient, namespace: str, job: str) -> bool:
    """Whether a pod of the Job may run: one that has a node and has not ended. An error means that it may."""
    try:
        pods = (await client.list(PODS, namespace, label_selector=f"{JOB_NAME}={job}")).items
    except KubeError:
        return True
    return any(pod.spec.node_name and not pod.finished for pod in pods)


def describe_owner(job: Job) -> str:
    """The controller that manages a Job, which cleans up after itself; empty if there is none."""
    owner = job.metadata.controller
    return f"{owner.kind} {owner.name}" if owner is not None else ""
