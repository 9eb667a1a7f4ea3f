"""What an order changes of a service, and the answer of the preflight, before anything is written."""

import json
import shlex
from typing import Literal

import msgspec

from mooring.model.service import Service, ServiceSpec
from mooring.planning.services.plan import ServiceSnapshot, desired_state, find_refusal

Action = Literal["create", "update", "unchanged", "delete"]
_MOST_SHOWN = 200


class Preflight(msgspec.Struct, frozen=True, rename="camel"):
    """Whether Mooring would apply the service now, by the plan that its controller uses."""

    ok: bool
    code: str
    message: str
    fix: str = ""


class ServiceChange(msgspec.Struct, frozen=True, rename="camel"):
    """An action, the fields that it changes, whether pods are replaced, and the preflight."""

    action: Action
    changes: tuple[str, ...]
    new_pods: bool
    preflight: Preflight


def plan_change(snapshot: ServiceSnapshot, before: Service | None, unchanged: bool = False) -> ServiceChange:
    """The change from `before` to the service of the snapshot. `unchanged`: metadata and spec are as they were."""
    after = snapshot.service
    desired = desired_state(after, snapshot.placement_check)
    rollout = snapshot.rollout
    action: Action = "create" if before is None else "unchanged" if unchanged else "update"
    return ServiceChange(
        action,
        compare_specs(before.spec if before is not None else ServiceSpec(), after.spec),
        rollout is None or rollout.spec_hash != desired.spec_hash,
        _preflight(snapshot, stored=before is not None),
    )


def plan_removal(service: Service) -> ServiceChange:
    """The end of a service, with everything that it owns."""
    ready = service.status.rollout.ready
    message = f"its Deployment with {ready} ready pods, its Service and its budget are deleted with it"
    return ServiceChange("delete", (), False, Preflight(True, "Removal", message))


def compare_specs(before: ServiceSpec, after: ServiceSpec) -> tuple[str, ...]:
    """The fields that differ. Only single values are shown: variables may be secrets."""
    changed = []
    for field in msgspec.structs.fields(ServiceSpec):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new:
            continue
        plain = isinstance(old, str | int) and isinstance(new, str | int)
        changed.append(
            f"{field.encode_name}: {_show(old)} -> {_show(new)}" if plain else f"{field.encode_name} changes"
        )
    return tuple(changed)


def _show(value: str | int) -> str:
    text = str(value)
    return (text[:_MOST_SHOWN] + "…" if len(text) > _MOST_SHOWN else text) or "none"


def _preflight(snapshot: ServiceSnapshot, *, stored: bool) -> Preflight:
    obstacle = snapshot.obstacle
    if obstacle is not None:
        return Preflight(False, obstacle.code, obstacle.reason, obstacle.fix)
    refusal = find_refusal(snapshot, desired_state(snapshot.service, snapshot.placement_check))
    if refusal is not None:
        fix = refusal.fix if stored else _as_fields(snapshot.service, refusal.fix)
        return Preflight(False, refusal.code, refusal.reason, fix)
    if not snapshot.placement_check.fits:
        paused = f"the check is paused: {snapshot.preflight_paused}" if snapshot.preflight_paused else "no new pods"
        return Preflight(True, "NotChecked", f"{snapshot.placement_check.reason}; {paused}")
    return Preflight(True, "NodesFit", "there are nodes that take its pods")


def _as_fields(service: Service, fix: str) -> str:
    """A fix for a service that is not stored yet: what a command would patch is to be set in the order."""
    target = ["kubectl", "-n", service.namespace, "patch", "managedservice", service.name, "--type", "merge", "-p"]
    steps = []
    for command in fix.split(" && "):
        words = shlex.split(command)
        if words[:-1] == target:
            fields = json.loads(words[-1])["spec"]
            steps.append(f"set in the spec: {json.dumps(fields)}")
        else:
            steps.append(command)
    return "; then ".join(steps)
