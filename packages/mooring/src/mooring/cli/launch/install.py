"""`mooring install`: print the manifests of Mooring, for `kubectl apply -f -`.

Before that it looks at the cluster: pods that no node takes would stay Pending.
"""

import asyncio
import shlex
import sys
from dataclasses import dataclass
from typing import Any

import yaml

from mooring.cli.failures import fail
from mooring.cli.launch.cluster_view import ClusterUnread, read_cluster
from mooring.cli.launch.placement_options import PlacementOptions, describe_options, name_advice, read_affinity
from mooring.cli.output import printable
from mooring.kinds.deployment import tls_secret
from mooring.kinds.manifests import Body, manifests
from mooring.kinds.release import Release
from mooring.model.errors import Refused, Unavailable
from mooring.planning.installation import InstallPlan, InstallSnapshot, plan_install
from mooring.planning.placement import plan_placement

_PLACEMENT_FIELDS = ("nodeSelector", "tolerations")


class Unschedulable(Refused):
    """No node of the cluster takes Mooring's own pods."""

    code = "unschedulable"


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """The arguments of `install`."""

    image: str
    namespace: str
    placement: PlacementOptions
    context: str = ""
    kubeconfig: str = ""
    force: bool = False
    values: bool = False  # print values of the Helm chart instead of manifests


class _Plain(yaml.SafeDumper):
    """YAML without anchors, which are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(bodies: list[dict[str, Any]]) -> str:
    """Objects as YAML documents."""
    return yaml.dump_all(bodies, Dumper=_Plain, sort_keys=False, width=1000)


def run_install(options: InstallOptions) -> None:
    """Manifests on stdout; on stderr what was found in the cluster, and the command to run before they are applied."""
    affinity = read_affinity(options.placement.affinity)
    release = Release(options.namespace)
    bodies = manifests(release, options.image, placement={"affinity": affinity} if affinity else {})
    deployment = next(body for body in bodies if body["kind"] == "Deployment")
    placed = _place(options, deployment["spec"])
    deployment["spec"]["template"]["spec"] = pod = placed
    if options.values:
        chosen = {name: pod[name] for name in _PLACEMENT_FIELDS if name in pod}
        asked = {"affinity": affinity} if affinity else {}
        print(dump([{"image": _image_values(options.image), **chosen, **asked}]), end="")
    else:
        print(dump(bodies), end="")
    for line in _first_steps(release, _cluster_options(options), chart=options.values):
        print(line, file=sys.stderr)


def _first_steps(release: Release, cluster: str, *, chart: bool) -> list[str]:
    """What the pods need to start: the Secret with database and token, and without the chart a certificate."""
    steps = [
        f"first, unless it exists: kubectl create namespace {release.namespace}{cluster}",
        f"then: kubectl -n {release.namespace}{cluster} create secret generic mooring"
        " --from-literal=database=postgresql://... --from-literal=token=$(openssl rand -hex 24)",
    ]
    if chart:
        return steps
    host = f"{release.name}.{release.namespace}.svc"
    return [
        *steps,
        "and a certificate for HTTPS: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        f" -days 730 -subj /CN={host} -addext subjectAltName=DNS:{host} -keyout tls.key -out tls.crt",
        f"with: kubectl -n {release.namespace}{cluster} create secret generic {tls_secret(release)}"
        " --type=kubernetes.io/tls --from-file=tls.crt --from-file=tls.key --from-file=ca.crt=tls.crt",
    ]


def _image_values(image: str) -> dict[str, str]:
    """The values of the chart for an image: REPOSITORY[:TAG][@DIGEST]."""
    rest, _, digest = image.partition("@")
    repository, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = rest, ""
    return {"repository": repository, "tag": tag, "digest": digest}


def _place(options: InstallOptions, spec: Body) -> Body:
    """The pod of the Deployment with its placement; ends the command if no node takes it."""
    wanted, pod = options.placement.placement, spec["template"]["spec"]
    try:
        cluster = asyncio.run(read_cluster(options.kubeconfig, options.context))
    except ClusterUnread as unread:
        if wanted.node_pool:
            fix = "name its label and taints with --node-selector and --toleration"
            fail(Unavailable(f"--node-pool needs the cluster, which cannot be read: {unread.message}", fix=fix))
        _note(f"the cluster was not checked, so these pods may stay Pending: {unread.message}")
        return plan_placement(wanted, ()).on(pod)
    snapshot = InstallSnapshot(
        pod_spec=pod,
        placement=wanted,
        nodes=cluster.nodes,
        templates=cluster.templates,
        usage=cluster.usage,
        replicas=spec["replicas"],
        namespace=options.namespace,
        labels=Release(options.namespace).selector,
    )
    plan = plan_install(snapshot)
    if plan.fits:
        _note(f"cluster {cluster.name}: {plan.message}")
    elif options.force:
        _note(f"the pods will stay Pending on cluster {cluster.name}: {plan.message}")
    else:
        _refuse(options, plan, cluster.name)
    return plan.placed.on(pod)


def _refuse(options: InstallOptions, plan: InstallPlan, cluster: str) -> None:
    message = f"no node of cluster {cluster} takes Mooring's pods: {plan.message}"
    if not plan.advice:
        _note("--force prints the manifests anyway")
        fail(Unschedulable(message, fix=plan.fix))
    first, *others = (describe_options(one, options.placement.affinity) for one in plan.advice)
    for other in others:
        _note(f"instead of {name_advice(first)} also this helps: {name_advice(other)}")
    advised = f"{_command(options)} {first}".rstrip()
    fail(Unschedulable(message, fix=f"{advised} | kubectl{_cluster_options(options)} apply -f -"))


def _command(options: InstallOptions) -> str:
    """The command as the user typed it, without the options for placement."""
    parts = ["mooring", "install", "--image", options.image, "--namespace", options.namespace]
    return shlex.join(parts) + _cluster_options(options)


def _cluster_options(options: InstallOptions) -> str:
    named = {"--kubeconfig": options.kubeconfig, "--context": options.context}
    return "".join(f" {option} {shlex.quote(value)}" for option, value in named.items() if value)


def _note(message: str) -> None:
    print(printable(f"mooring: {message}"), file=sys.stderr)
