"""The gates of a submission: each is ok, fail or unknown. Unknown never counts as ok."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hawser.quantity import parse_quantity
from mooring.model.errors import InvalidInput
from mooring.model.preflight import Preflight
from mooring.model.submission import Gate, SubmissionSpec, steps_of
from mooring.planning.placement import Placed
from mooring.planning.services.fixes import kubectl

OK, FAIL, UNKNOWN = "ok", "fail", "unknown"
CEILING = "ceiling"
WARM = "Ready"


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota, from its status."""

    name: str
    hard: Mapping[str, str]
    used: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Site:
    """One placement of steps and its preflight; None if the placement itself is wrong."""

    placed: Placed
    preflight: Preflight | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What was read before anything is created. None means that it could not be read."""

    namespace: str  # of the submission, for the commands that are printed
    problems: tuple[str, ...] = ()
    config_maps: Mapping[str, bool | None] = field(default_factory=dict)
    warmups: Mapping[str, str | None] = field(default_factory=dict)  # phases; empty if there is no such Warmup
    shards: Mapping[str, int | None] = field(default_factory=dict)  # the number of shards of each Warmup
    sites: tuple[Site, ...] = ()
    accounts: Mapping[str, bool | None] = field(default_factory=dict)  # whether each ServiceAccount exists
    permissions: Mapping[str, bool | None] = field(default_factory=dict)
    quotas: tuple[Quota, ...] | None = ()
    inheritance: str | None = ""  # why the Deployment cannot be copied from
    not_inherited: tuple[str, ...] = ()  # Secrets that the Deployment takes by envFrom
    refusal: str | None = ""  # the API server's objection to the Jobs
    key_holder: str = ""  # another submission that has this key, with its phase
    strangers: tuple[str, ...] = ()  # foreign Jobs that have a name which is needed


class AdmissionVerdict(Enum):
    """What the gates together mean."""

    GO = "go"
    WAIT = "wait"
    REFUSE = "refuse"


def judge_gates(spec: SubmissionSpec, found: Findings) -> tuple[Gate, ...]:
    """Every gate except the ceiling, which is judged while the namespace's lease is held."""
    if found.problems:
        return (Gate("spec", FAIL, "; ".join(found.problems[:5]), "correct these fields and submit again"),)
    gates = [Gate("spec", OK, "every field is in its allowed form"), _key(spec, found)]
    if found.config_maps:
        gates.append(_config_maps(found))
    if found.accounts:
        gates.append(_accounts(found))
    if found.warmups:
        gates.append(_warmups(found))
    if any(step.step.shard is not None for step in steps_of(spec)):
        gates.append(_shards(spec, found))
    if spec.inherit_env is not None:
        gates.append(_inheritance(spec.inherit_env.deployment, found))
    gates += [_placement(found), _permissions(found), _quota(spec, found), _manifest(found)]
    if found.strangers:
        message = f"{', '.join(found.strangers[:5])}: Jobs of that name exist, and Mooring did not make them"
        gates.append(Gate("names", FAIL, message, "delete or rename them, or submit under another key"))
    return tuple(gates)


def judge_ceiling(running: int, ahead: int, ceiling: int) -> Gate:
    """The number of submissions that may run at once in a namespace; the others wait in order of age."""
    if running + ahead < ceiling:
        return Gate(CEILING, OK, f"{running} of {ceiling} run in this namespace")
    place = f", {ahead} wait before this one" if ahead else ""
    message = f"{running} of {ceiling} run in this namespace{place}: queued"
    return Gate(CEILING, FAIL, message, "wait for one to end, or raise MOORING_SUBMISSION_CEILING")


def plan_admission(spec: SubmissionSpec, gates: tuple[Gate, ...]) -> tuple[AdmissionVerdict, str]:
    """Go, wait or refuse, and why. What is not known is waited for, never assumed."""
    failing = [gate for gate in gates if gate.state == FAIL]
    patient = {CEILING, "warmups"} if spec.requires.warmup_policy == "Wait" else {CEILING}
    if hopeless := [gate for gate in failing if gate.id not in patient]:
        return AdmissionVerdict.REFUSE, "; ".join(gate.message for gate in hopeless)
    if waiting := failing + [gate for gate in gates if gate.state != OK and gate.state != FAIL]:
        return AdmissionVerdict.WAIT, "; ".join(gate.message for gate in waiting)
    return AdmissionVerdict.GO, ""


def _key(spec: SubmissionSpec, found: Findings) -> Gate:
    if found.key_holder:
        message = f"the key {spec.key!r} belongs to the submission {found.key_holder}"
        return Gate("key", FAIL, message, "use another key, or delete that submission")
    return Gate("key", OK, f"the key {spec.key!r} is this submission's own")


def _config_maps(found: Findings) -> Gate:
    missing = sorted(name for name, there in found.config_maps.items() if there is False)
    unread = sorted(name for name, there in found.config_maps.items() if there is None)
    if missing:
        fix = kubectl(found.namespace, "create", "configmap", missing[0]) + " --from-file=FILE"
        return Gate("config-maps", FAIL, f"missing: {', '.join(missing)}", fix)
    if unread:
        return Gate("config-maps", UNKNOWN, f"could not be read: {', '.join(unread)}", "checked again automatically")
    return Gate("config-maps", OK, f"{len(found.config_maps)} of {len(found.config_maps)} are there")


def _accounts(found: Findings) -> Gate:
    """Without its ServiceAccount no pod is made, and the Job would wait for its whole deadline."""
    missing = sorted(name for name, there in found.accounts.items() if there is False)
    unread = sorted(name for name, there in found.accounts.items() if there is None)
    if missing:
        fix = kubectl(found.namespace, "create", "serviceaccount", missing[0])
        return Gate("service-account", FAIL, f"there is no ServiceAccount {', '.join(missing)}", fix)
    if unread:
        message = f"the ServiceAccount {', '.join(unread)} could not be read"
        return Gate("service-account", UNKNOWN, message, "checked again automatically")
    return Gate("service-account", OK, f"the ServiceAccount {', '.join(sorted(found.accounts))} exists")


def _warmups(found: Findings) -> Gate:
    cold = sorted(
        f"{name} is {phase or 'missing'}" for name, phase in found.warmups.items() if phase not in (WARM, None)
    )
    unread = sorted(name for name, phase in found.warmups.items() if phase is None)
    if cold:
        return Gate("warmups", FAIL, "; ".join(cold), "wait for it, or see 'mooring warmups'")
    if unread:
        return Gate("warmups", UNKNOWN, f"could not be read: {', '.join(unread)}", "checked again automatically")
    return Gate("warmups", OK, f"{', '.join(sorted(found.warmups))} ready")


def _shards(spec: SubmissionSpec, found: Findings) -> Gate:
    """A shard that a Warmup does not have is never warm, so its step would wait for ever."""
    unread = set()
    for step in steps_of(spec):
        warmup = (step.step.placement or spec.placement).warmup
        if step.step.shard is None:
            continue
        if (shards := found.shards.get(warmup)) is None:
            unread.add(warmup)
        elif step.step.shard >= shards:
            message = f"{warmup} has {shards} shards, and {step.name} asks for {step.step.shard}"
            return Gate("shards", FAIL, message, f"name a shard from 0 to {shards - 1}, or give {warmup} more of them")
    if unread:
        message = f"not known yet how many shards there are of {', '.join(sorted(unread))}"
        return Gate("shards", UNKNOWN, message, "checked again automatically")
    return Gate("shards", OK, "every shard that is asked for is one of its Warmup")


def _inheritance(deployment: str, found: Findings) -> Gate:
    if found.inheritance is None:
        return Gate(
            "inherit-env", UNKNOWN, f"the Deployment {deployment} could not be read", "checked again automatically"
        )
    message, fix = found.inheritance or f"the Deployment {deployment} runs", ""
    if found.not_inherited:
        listed = ", ".join(found.not_inherited)
        message += (
            f"; not inherited: what its envFrom takes from the Secret {listed}, which is not read to see its keys"
        )
        fix = f"name the variables of {listed} in env, each with valueFrom.secretKeyRef"
    if found.inheritance:
        return Gate("inherit-env", FAIL, message, fix or f"start the Deployment {deployment}, or name another")
    return Gate("inherit-env", OK, message, fix)


def _placement(found: Findings) -> Gate:
    for site in found.sites:
        placed, judged = site.placed, site.preflight
        if placed.problem:
            return Gate("placement", FAIL, placed.problem, placed.fix)
        if not placed.settled:
            return Gate("placement", UNKNOWN, "the node pools have not been read yet", "checked again automatically")
        if judged is None:
            return Gate("placement", UNKNOWN, "the nodes have not been checked", "checked again automatically")
        if not judged.fits and not judged.makers:
            return Gate("placement", FAIL, judged.sentence, judged.fix)
    return Gate("placement", OK, "there are nodes that can take the pods")


def _permissions(found: Findings) -> Gate:
    refused = sorted(what for what, may in found.permissions.items() if may is False)
    unread = sorted(what for what, may in found.permissions.items() if may is None)
    if refused:
        return Gate(
            "permissions", FAIL, f"not allowed: {', '.join(refused)}", "apply the roles that 'mooring install' prints"
        )
    if unread or not found.permissions:
        return Gate("permissions", UNKNOWN, "the API server did not say what is allowed", "checked again automatically")
    return Gate("permissions", OK, "everything needed is allowed")


def _manifest(found: Findings) -> Gate:
    if found.refusal is None:
        return Gate("manifest", UNKNOWN, "the API server was not asked about the Jobs yet", "asked again automatically")
    if found.refusal:
        fix = "correct that field and submit under another key, or remove this submission first"
        return Gate("manifest", FAIL, f"the API server refuses it: {found.refusal}", fix)
    return Gate("manifest", OK, "the API server would take the Jobs")


def _quota(spec: SubmissionSpec, found: Findings) -> Gate:
    if found.quotas is None:
        return Gate("quota", UNKNOWN, "the quotas could not be read", "checked again automatically")
    needed = {"count/jobs.batch": len(steps_of(spec)), "pods": 1, "count/pods": 1}
    for quota in found.quotas:
        for resource, wanted in needed.items():
            if resource not in quota.hard:
                continue
            try:
                left = parse_quantity(quota.hard[resource]) - parse_quantity(quota.used.get(resource, "0"))
            except InvalidInput as error:
                return Gate("quota", UNKNOWN, f"{quota.name}: {error.message}", "correct the quota")
            if left < wanted:
                message = f"{quota.name} leaves {int(left)} {resource}, {wanted} are needed"
                return Gate("quota", FAIL, message, f"raise {resource} in the quota {quota.name}, or use fewer batches")
        resources = spec.resources or spec.pod_template.resources
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for resource in ("cpu", "memory"):
            if f"requests.{resource}" in quota.hard and resource not in {**limits, **requests}:
                message = f"{quota.name} demands requests.{resource} of every pod, the submission gives none"
                return Gate("quota", FAIL, message, f"set resources.requests.{resource}")
    return Gate("quota", OK, "the quotas leave room" if found.quotas else "the namespace has no quota")
