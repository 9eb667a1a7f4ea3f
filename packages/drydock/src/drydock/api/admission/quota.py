"""Resource quotas: what a namespace may still take, counted from what it holds."""

from collections.abc import Iterable
from fractions import Fraction

from drydock.api.cluster import Cluster, denied
from drydock.api.kinds.kind import Kind, Object
from drydock.api.strategies.resources import COMPUTE, COUNTED
from hawser.quantity import format_quantity, parse_quantity

_FINISHED = ("Succeeded", "Failed")

Amounts = dict[str, Fraction]


def check_quota(cluster: Cluster, kind: Kind, namespace: str, new: Object) -> None:
    """403 when one of the namespace's quotas has no room for the new object."""
    quotas = list(cluster.table(cluster.builtin("", "resourcequotas")).range(f"{namespace}/"))
    if not quotas or not kind.namespaced:
        return
    requested = _amounts(kind, new)
    for quota in sorted(quotas, key=lambda stored: stored.key):
        hard = {name: parse_quantity(text) for name, text in (quota.object.get("spec", {}).get("hard") or {}).items()}
        _check_specified(kind, new, quota.object, hard)
        wanted = {name: amount for name, amount in requested.items() if name in hard and amount}
        if not wanted:
            continue
        used = _used(cluster, kind, namespace, wanted)
        over = sorted(name for name, amount in wanted.items() if used[name] + amount > hard[name])
        if over:
            why = (
                f"exceeded quota: {quota.object['metadata']['name']}, requested: {_listed(over, wanted)},"
                f" used: {_listed(over, used)}, limited: {_listed(over, hard)}"
            )
            raise denied(kind, new["metadata"]["name"], why)


def _used(cluster: Cluster, kind: Kind, namespace: str, wanted: Iterable[str]) -> Amounts:
    used = dict.fromkeys(wanted, Fraction(0))
    for stored in cluster.table(kind).range(f"{namespace}/"):
        for name, amount in _amounts(kind, stored.object).items():
            if name in used:
                used[name] += amount
    return used


def _amounts(kind: Kind, held: Object) -> Amounts:
    """What one object counts for."""
    counted = f"count/{kind.plural}.{kind.group}" if kind.group else f"count/{kind.plural}"
    amounts = {counted: Fraction(1)}
    if not kind.group and kind.plural == "pods":
        if held.get("status", {}).get("phase") not in _FINISHED:
            amounts["pods"] = Fraction(1)
            amounts |= _pod_amounts(held["spec"])
    elif not kind.group and kind.plural in COUNTED:
        amounts[kind.plural] = Fraction(1)
    return amounts


def _pod_amounts(spec: Object) -> Amounts:
    amounts: Amounts = {}
    for resource in COMPUTE:
        for section in ("requests", "limits"):
            total = sum((_need(container, section, resource) for container in spec["containers"]), Fraction(0))
            first = max(
                (_need(one, section, resource) for one in spec.get("initContainers") or ()), default=Fraction(0)
            )
            amounts[f"{section}.{resource}"] = max(total, first)
        amounts[resource] = amounts[f"requests.{resource}"]
    return amounts


def _need(container: Object, section: str, resource: str) -> Fraction:
    text = ((container.get("resources") or {}).get(section) or {}).get(resource)
    return Fraction(0) if text is None else parse_quantity(text)


def _check_specified(kind: Kind, pod: Object, quota: Object, hard: Amounts) -> None:
    """A quota on compute wants every container to say what it needs."""
    if kind.group or kind.plural != "pods":
        return
    missing: dict[str, set[str]] = {}
    for name in hard:
        section, _, resource = name.rpartition(".")
        if resource in COMPUTE:
            for container in [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())]:
                if resource not in ((container.get("resources") or {}).get(section or "requests") or {}):
                    missing.setdefault(name, set()).add(container["name"])
    if missing:
        told = "; ".join(f"{name} for: {','.join(sorted(who))}" for name, who in sorted(missing.items()))
        why = f"failed quota: {quota['metadata']['name']}: must specify {told}"
        raise denied(kind, pod["metadata"]["name"], why)


def _listed(names: Iterable[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={format_quantity(amounts[name], binary='memory' in name)}" for name in names)
