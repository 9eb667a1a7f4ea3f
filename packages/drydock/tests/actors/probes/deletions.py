"""What goes when its owner or its namespace goes, and what holds that up."""

from hawser.errors import ObjectNotFound
from hawser.resources import CONFIGMAPS, JOBS, NAMESPACES, PODS
from packages.drydock.tests.actors.cluster import job, script
from packages.drydock.tests.actors.probes.probed import Facts, Probe, Probed, conditions


async def garbage_is_collected(at: Probed) -> Facts:
    parent = await at.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": parent["metadata"]["uid"]}
    wrong = {**reference, "uid": "00000000-0000-0000-0000-000000000000"}
    await at.create(CONFIGMAPS, {"metadata": {"name": "child", "ownerReferences": [reference]}})
    await at.create(CONFIGMAPS, {"metadata": {"name": "stranger", "ownerReferences": [wrong]}})

    async def names() -> list[str]:
        found = sorted(one["metadata"]["name"] for one in await at.items(CONFIGMAPS))
        return [name for name in found if name != "kube-root-ca.crt"]

    async def collected() -> bool:
        return "stranger" not in await names()

    await at.until(collected)
    left = await names()
    await at.client.delete(CONFIGMAPS, "parent", at.namespace, propagation="Orphan")

    async def gone() -> bool:
        return "parent" not in await names()

    await at.until(gone)
    orphan = await at.get(CONFIGMAPS, "child")
    return {"left": left, "orphan": orphan["metadata"].get("ownerReferences")}


async def a_job_deleted_in_the_foreground(at: Probed) -> Facts:
    await at.create(JOBS, job("j", annotations=script(runSeconds=99, stopSeconds=5)))
    await at.clock.sleep(3)
    await at.client.delete(JOBS, "j", at.namespace, propagation="Foreground")

    async def pods_leave() -> bool:
        return any(one["metadata"].get("deletionTimestamp") for one in await at.items(PODS))

    await at.until(pods_leave)
    waiting = await at.get(JOBS, "j")
    pods = [bool(one["metadata"].get("deletionTimestamp")) for one in await at.items(PODS)]

    async def gone() -> bool:
        try:
            await at.get(JOBS, "j")
        except ObjectNotFound:
            return True
        return False

    await at.until(gone)
    return {"finalizers": waiting["metadata"]["finalizers"], "pods": pods, "left": len(await at.items(PODS))}


async def a_namespace_is_held_up(at: Probed) -> Facts:
    name = f"{at.namespace}-held"
    await at.client.create(NAMESPACES.raw(), {"metadata": {"name": name}})
    await at.clock.sleep(1)
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await at.client.create(CONFIGMAPS.raw(), held, name)
    await at.client.delete(NAMESPACES, name)

    async def explained() -> bool:
        return bool(conditions(await at.client.get(NAMESPACES.raw(), name)))

    await at.until(explained)
    ending = await at.client.get(NAMESPACES.raw(), name)
    await at.client.merge_patch(CONFIGMAPS.raw(), "held", {"metadata": {"finalizers": None}}, name)

    async def gone() -> bool:
        try:
            await at.client.get(NAMESPACES, name)
        except ObjectNotFound:
            return True
        return False

    await at.until(gone)
    return {"phase": ending["status"]["phase"], "conditions": conditions(ending)}


PROBES: tuple[Probe, ...] = (
    garbage_is_collected,
    a_job_deleted_in_the_foreground,
    a_namespace_is_held_up,
)
