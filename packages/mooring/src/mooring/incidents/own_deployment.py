"""Mooring's own Deployment on the stage: applied with or without a look at the cluster, as `mooring install` takes."""

from dataclasses import dataclass, replace

from hawser.resources import DEPLOYMENTS, NAMESPACES, PODS, SECRETS, SERVICEACCOUNTS
from mooring.incidents.replica import Replica
from mooring.incidents.stage import Stage
from mooring.kinds.deployment import tls_secret
from mooring.kinds.manifests import manifests
from mooring.kinds.release import Release
from mooring.model.placement import Placement
from mooring.planning.installation import InstallSnapshot, plan_install

_NAMESPACE = "mooring"
_RELEASE = Release(_NAMESPACE)

_NOT_READY = "node.kubernetes.io/not-ready"


@dataclass(slots=True)
class OwnPods:
    """The observations of Mooring's own pods."""

    replicas: int
    refusal: str = ""  # why the Deployment without a placement is not printed
    running: int = 0
    pending_seconds: float = 0.0

    async def look(self, stage: Stage) -> None:
        """Count and time them."""
        pods = (await stage.client.list(PODS, _NAMESPACE)).items
        self.running = sum(pod.status.phase == "Running" for pod in pods)
        for pod in pods:
            if not pod.spec.node_name and pod.metadata.creation_timestamp is not None:
                age = (stage.clock.now() - pod.metadata.creation_timestamp).total_seconds()
                self.pending_seconds = max(self.pending_seconds, age)


async def install_own(stage: Stage, replica: Replica, *, advised: bool) -> OwnPods:
    """Apply it; with `advised`, after the first advice of the look at the cluster has been followed."""
    await replica.mooring.wait_synced()
    await stage.until(lambda: _are_nodes_ready(replica), 60, "all nodes are Ready")
    deployment = next(body for body in manifests(_RELEASE, "mooring:1") if body["kind"] == "Deployment")
    spec = deployment["spec"]
    nodes = tuple(replica.mooring.nodes.by_name.values())
    snapshot = InstallSnapshot(
        spec["template"]["spec"],
        Placement(),
        nodes,
        replicas=spec["replicas"],
        namespace=_NAMESPACE,
        labels=_RELEASE.selector,
    )
    plan, own = plan_install(snapshot), OwnPods(spec["replicas"])
    if advised and not plan.fits:
        own.refusal = plan.message
        stage.narrate(f"'mooring install' prints no manifest: {plan.message}")
        plan = plan_install(replace(snapshot, placement=plan.advice[0]))
    spec["template"]["spec"] = plan.placed.on(snapshot.pod_spec)
    await stage.client.create(NAMESPACES, {"metadata": {"name": _NAMESPACE}})
    await stage.client.create(SERVICEACCOUNTS, {"metadata": {"name": "mooring"}}, _NAMESPACE)
    secret = {"metadata": {"name": "mooring"}, "stringData": {"database": "postgresql://db", "token": "t"}}
    await stage.client.create(SECRETS, secret, _NAMESPACE)
    pair = {"metadata": {"name": tls_secret(_RELEASE)}, "stringData": {"tls.crt": "", "tls.key": "", "ca.crt": ""}}
    await stage.client.create(SECRETS, pair, _NAMESPACE)
    await stage.client.create(DEPLOYMENTS, deployment, _NAMESPACE)
    stage.narrate("Mooring's own Deployment is applied")
    return own


async def _are_nodes_ready(replica: Replica) -> bool:
    """Whether the nodes have joined: until then they carry a taint that no placement tolerates."""
    nodes = replica.mooring.nodes.by_name.values()
    return bool(nodes) and all(node.ready and all(one.key != _NOT_READY for one in node.taints) for node in nodes)
