"""Why a service does not serve, and which command changes that, from what is observed of its pods."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from mooring.model.evidence import Failure, clean_line, describe_crash
from mooring.model.service import Service
from mooring.model.service_observations import Answer, Outcome, PodEvidence, Rollout, ServicePod
from mooring.planning.services.fixes import kubectl, number_blank, patch_object, patch_service
from mooring.planning.services.pull_recovery import FailedPull, grant_and_pull, pull_secret_name
from mooring.planning.services.registries import PullProblem, classify_pull, split_image

STARTUP_SECONDS = 30.0  # an unready container that has run for this long counts as failing
REPLICAS_TAKEN = "ReplicasTaken"  # the one obstacle with which a service can still serve
_PULLING = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
_NOT_STARTING = frozenset({"RunContainerError", "CreateContainerError", "StartError"})


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One failing state: a stable code, a message, and the command that changes it."""

    code: str
    reason: str
    fix: str
    certain: bool = True  # False if it could not be read whether the service serves
    failure: Failure | None = None


def find_suspect(pods: tuple[ServicePod, ...], now: datetime) -> ServicePod | None:
    """The pod that explains best why a rollout is not complete; None if none fails."""
    unready = [pod for pod in pods if not pod.ready and not pod.terminating and pod.phase != "Succeeded"]
    failing = [pod for pod in unready if _weight(pod, now)]
    return max(failing, key=lambda pod: (_weight(pod, now), pod.name), default=None)


def _weight(pod: ServicePod, now: datetime) -> int:
    if pod.waiting in _PULLING or pod.waiting == "CreateContainerConfigError":
        return 4
    if pod.waiting == "CrashLoopBackOff" or pod.waiting in _NOT_STARTING or pod.exit_reason in _NOT_STARTING:
        return 3
    if pod.unschedulable:
        return 2
    return 1 if runs_unready(pod, now) else 0


def runs_unready(pod: ServicePod, now: datetime) -> bool:
    """Whether its container has run long enough to be ready and is not."""
    since = pod.running_since
    return since is not None and not pod.ready and now - since >= timedelta(seconds=STARTUP_SECONDS)


def diagnose(
    service: Service, image: str, rollout: Rollout, evidence: PodEvidence | None, now: datetime
) -> Diagnosis | None:
    """Why the service does not become ready; None if nothing is known to be wrong."""
    if rollout.create_failure:
        return _no_pod_made(service, rollout)
    if evidence is None:
        return None
    pod = evidence.pod
    if pod.waiting in _PULLING:
        return _pull_failed(service, image, evidence)
    if pod.waiting == "CreateContainerConfigError":
        return _config_missing(service, pod)
    if pod.waiting == "CrashLoopBackOff" or pod.waiting in _NOT_STARTING or pod.exit_reason in _NOT_STARTING:
        return _crashing(service, evidence)
    if pod.unschedulable:
        message = clean_line(pod.unschedulable)
        return Diagnosis(
            "Unschedulable", f"{pod.name} is Pending: {message}", f"mooring explain pod/{service.namespace}/{pod.name}"
        )
    if runs_unready(pod, now):
        return _unready(service, evidence)
    return None


def judge_answer(service: Service, answer: Answer) -> Diagnosis | None:
    """What an HTTP answer means for a service; None if it is its OpenAPI document."""
    spec, path = service.spec, service.spec.openapi_path
    match answer.outcome:
        case Outcome.DOCUMENT:
            return None
        case Outcome.NOBODY_LISTENS:
            reason = f"nothing listens on port {spec.port}: the connection was refused"
            return Diagnosis("PortMismatch", reason, patch_service(service, port=number_blank("PORT")))
        case Outcome.BAD_STATUS if answer.status == 404:
            reason = f"GET {path} answered 404: the document is not there"
            return Diagnosis("DocumentNotFound", reason, patch_service(service, openapiPath="</PATH>"))
        case Outcome.BAD_STATUS:
            return Diagnosis("ProbeFailing", f"GET {path} answered {answer.status}", _other_image(service))
        case Outcome.REDIRECT:
            fix = patch_service(service, openapiPath="</PATH>")
            return Diagnosis("DocumentRedirects", f"GET {path} {answer.message}; redirects are not followed", fix)
        case Outcome.NOT_A_DOCUMENT | Outcome.TOO_LARGE:
            reason = f"GET {path} answered 200, but {answer.message}"
            return Diagnosis("DocumentInvalid", reason, patch_service(service, openapiPath="</PATH>"))
        case Outcome.FOREIGN_ADDRESS:
            return Diagnosis("AddressRefused", answer.message, _look(service), certain=False)
        case Outcome.NO_ANSWER:
            reason = f"GET {path} on port {spec.port} did not answer: {answer.message}"
            return Diagnosis("NoAnswer", reason, _look(service), certain=False)


def _look(service: Service) -> str:
    return kubectl(service.namespace, "describe", "pods", "-l", f"mooring.dev/service={service.name}")


# --- pods that cannot be created -------------------------------------------------------------------------------------
_QUOTA = re.compile(
    r"exceeded quota: (?P<quota>[^,\s]+), requested: (?P<requested>.+), used: (?P<used>.+), limited: (?P<limited>.+)"
)


_NO_ACCOUNT = re.compile(r"serviceaccount \"(?P<name>[^\"]+)\" not found")


def account_missing(service: Service, account: str) -> Diagnosis:
    """Without its ServiceAccount no pod is made."""
    fix = kubectl(service.namespace, "create", "serviceaccount", account)
    return Diagnosis("AccountMissing", f"there is no ServiceAccount {account}", fix)


def _no_pod_made(service: Service, rollout: Rollout) -> Diagnosis:
    message = clean_line(rollout.create_failure)
    if absent := _NO_ACCOUNT.search(message):
        return account_missing(service, absent["name"])
    found = _QUOTA.search(message)
    if found is None:
        fix = kubectl(service.namespace, "describe", "replicaset", "-l", f"mooring.dev/service={service.name}")
        return Diagnosis("PodsRefused", f"pods cannot be made: {message}", fix)
    used = _amounts(found["used"])
    hard = {name: _raised(name, used.get(name, "0"), rollout) for name in _amounts(found["requested"])}
    reason = f"the quota {found['quota']} is used up: {found['used']} of {found['limited']}"
    fix = patch_object(service.namespace, "resourcequota", found["quota"], {"spec": {"hard": hard}})
    return Diagnosis("QuotaExceeded", reason, fix)


def _amounts(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.strip().split(","))
    return {name.strip(): value.strip() for name, _, value in pairs if value}


def _raised(name: str, used: str, rollout: Rollout) -> str:
    """The quota with room for every replica and one more for a rollout; only plain counts are raised."""
    if name not in ("pods", "count/pods") or not (used.isascii() and used.isdigit()):
        return "<MORE>"
    return str(int(used) + max(rollout.wanted - rollout.total, 0) + 1)


# --- pods that do not start ------------------------------------------------------------------------------------------
def _pull_failed(service: Service, image: str, evidence: PodEvidence) -> Diagnosis:
    pod = evidence.pod
    pulls = [event for event in evidence.events if "pull" in event.lower()]
    message = clean_line(" ".join((pod.waiting, pod.waiting_message, *pulls[-1:])))
    name = split_image(image)
    where = f" on {pod.node}" if pod.node else ""
    problem = classify_pull(message)
    last = service.status.rollout.last_serving
    match problem:
        case PullProblem.UNAUTHORIZED:
            reason = f"{name.registry} refuses to hand out {image}{where} (401): the nodes have no right to pull it"
            restart = kubectl(service.namespace, "rollout", "restart", "deployment", service.name)
            pull = FailedPull(image, service.namespace, pod.node, restart, pod.account, _attach(service, image))
            return Diagnosis(problem, reason, grant_and_pull(pull))
        case PullProblem.NOT_FOUND:
            reason = f"{name.registry} has no image {image} (404)"
            other = last if last and last != image else f"{image.partition('@')[0].removesuffix(':' + name.tag)}:<TAG>"
            return Diagnosis(problem, reason, patch_service(service, image=other))
        case PullProblem.UNREACHABLE:
            reason = f"{name.registry} cannot be reached{where}: {_last_words(pod.waiting_message or message)}"
            other = last if last and last != image else f"<REACHABLE_REGISTRY>/{name.repository}:{name.tag or 'latest'}"
            return Diagnosis(problem, reason, patch_service(service, image=other))
        case PullProblem.INVALID_NAME:
            return Diagnosis(problem, f"{image!r} is not the name of an image", patch_service(service, image="<IMAGE>"))
        case PullProblem.OTHER:
            fix = kubectl(service.namespace, "describe", "pod", pod.name)
            return Diagnosis(problem, f"{image} cannot be pulled{where}: {_last_words(message)}", fix)


def _attach(service: Service, image: str) -> str:
    """Pods with pull secrets of their own do not get those of their account."""
    own = service.spec.pod_template.image_pull_secrets
    if not own:
        return ""
    return patch_service(service, podTemplate={"imagePullSecrets": [*own, {"name": pull_secret_name(image)}]})


def _last_words(message: str) -> str:
    """The cause is at the end of what the container runtime reports."""
    return clean_line(": ".join(message.rsplit(": ", 2)[-2:]))


_NO_KEY = re.compile(r"couldn't find key (?P<key>\S+) in (?P<kind>ConfigMap|Secret) (?:\S+/)?(?P<name>\S+)")
_NO_OBJECT = re.compile(r"(?P<kind>configmap|secret) \"(?P<name>[^\"]+)\" not found", re.IGNORECASE)


def _config_missing(service: Service, pod: ServicePod) -> Diagnosis:
    message = clean_line(pod.waiting_message)
    if found := _NO_KEY.search(message):
        kind, name, key = found["kind"], found["name"], found["key"]
        data = {"stringData" if kind == "Secret" else "data": {key: "<VALUE>"}}
        fix = patch_object(service.namespace, kind.lower(), name, data)
        return Diagnosis("ConfigMissing", f"the {kind} {name} has no key {key}", fix)
    if found := _NO_OBJECT.search(message):
        kind, name = found["kind"].lower(), found["name"]
        shown = {"configmap": "ConfigMap", "secret": "Secret"}[kind]
        literals = [f"--from-literal={key}=<VALUE>" for key in _keys_wanted(service, kind, name)]
        sort = ("secret", "generic") if kind == "secret" else ("configmap",)
        fix = kubectl(service.namespace, "create", *sort, name, *literals)
        return Diagnosis("ConfigMissing", f"there is no {shown} {name}", fix)
    return Diagnosis("ConfigMissing", f"the container cannot be configured: {message}", patch_service(service, env=[]))


def _keys_wanted(service: Service, kind: str, name: str) -> list[str]:
    """The keys that the service's variables take from that object."""
    reference = "secretKeyRef" if kind == "secret" else "configMapKeyRef"
    wanted = [(variable.get("valueFrom") or {}).get(reference) or {} for variable in service.spec.env]
    return [str(one["key"]) for one in wanted if one.get("name") == name and one.get("key")]


def _crashing(service: Service, evidence: PodEvidence) -> Diagnosis:
    pod, lines = evidence.pod, evidence.logs
    failure = Failure(pod.name, "main", pod.restarts, pod.exit_code, lines, pod.exit_reason or pod.waiting)
    if pod.waiting in _NOT_STARTING or pod.exit_reason in _NOT_STARTING:
        message = clean_line(pod.waiting_message) or "the command cannot be executed"
        fix = patch_service(service, command=["<PROGRAM>"])
        return Diagnosis("StartRefused", f"the container cannot be started: {message}", fix, failure=failure)
    because = f" {pod.exit_reason}" if pod.exit_reason not in ("", "Error") else ""
    words = next((line for line in reversed(lines) if line.strip()), "it wrote nothing")
    reason = f"the container {describe_crash(f'{pod.exit_code}{because}', pod.restarts)}: {words}"
    return Diagnosis(
        "CrashLooping", reason, _missing_variable(service, lines) or _other_image(service), failure=failure
    )


_VARIABLE = re.compile(
    r"KeyError: '(?P<key>[A-Z][A-Z0-9_]+)'"
    r"|(?i:variable)\W+(?P<variable>[A-Z][A-Z0-9_]+)\W+(?i:(?:is|was) (?:not set|missing|required|unset|undefined))"
    r"|(?P<unset>[A-Z][A-Z0-9_]+)\W+(?i:(?:is|was)? ?(?:not set|unset))"
)


def _missing_variable(service: Service, lines: tuple[str, ...]) -> str:
    """The command that sets the variable for which the log asks; empty if the log asks for none."""
    found = next((match for line in reversed(lines) if (match := _VARIABLE.search(line))), None)
    name = next((name for name in found.groups() if name), "") if found is not None else ""
    if not name or any(variable.get("name") == name for variable in service.spec.env):
        return ""
    return patch_service(service, env=[*service.spec.env, {"name": name, "value": "<VALUE>"}])


def _other_image(service: Service) -> str:
    """The command that goes back to the image that served last, or to a corrected one."""
    last = service.status.rollout.last_serving
    return patch_service(service, image=last if last not in ("", service.spec.image) else "<REPAIRED_IMAGE>")


# --- pods that run and are not ready ---------------------------------------------------------------------------------
_LISTENS = re.compile(
    r"(?i)(?:listen|serv|running|started|bound|uvicorn|http)[^\n]*?(?::|port[ =:]+)(?P<port>\d{2,5})\b(?![.\d])"
)


def _unready(service: Service, evidence: PodEvidence) -> Diagnosis:
    """Mooring reads the port itself. If that does not work, the message of the kubelet's probe is used."""
    pod, spec = evidence.pod, service.spec
    failure = Failure(pod.name, "main", pod.restarts, pod.exit_code, evidence.logs, "not ready")
    probes = [event for event in evidence.events if "probe failed" in event.lower()]
    answer = evidence.answer
    if answer is None or answer.outcome in (Outcome.NO_ANSWER, Outcome.FOREIGN_ADDRESS):
        answer = _answer_seen_by_probe(probes[-1]) if probes else answer
    found = judge_answer(service, answer) if answer is not None else None
    if found is None:
        message = clean_line(probes[-1]) if probes else "its readiness probe has not succeeded"
        fix = kubectl(service.namespace, "describe", "pod", pod.name)
        return Diagnosis("ProbeFailing", f"{pod.name} runs and is not ready: {message}", fix, failure=failure)
    fix = found.fix
    if found.code == "PortMismatch" and (port := _port_in(evidence.logs, spec.port)):
        found = Diagnosis(found.code, f"{found.reason}; its log names port {port}", found.fix)
        fix = patch_service(service, port=port)
    return Diagnosis(found.code, found.reason, fix, found.certain, failure)


_STATUS = re.compile(r"statuscode: (?P<status>\d{3})")


def _answer_seen_by_probe(message: str) -> Answer:
    if found := _STATUS.search(message):
        return Answer(Outcome.BAD_STATUS, clean_line(message), int(found["status"]))
    if "connection refused" in message:
        return Answer(Outcome.NOBODY_LISTENS, clean_line(message))
    return Answer(Outcome.NO_ANSWER, clean_line(message))


def _port_in(lines: tuple[str, ...], asked: int) -> int | None:
    """The port that the program says it listens on, if it is another one."""
    ports = [int(found["port"]) for line in lines for found in _LISTENS.finditer(line)]
    return next((port for port in reversed(ports) if 1 <= port <= 65_535 and port != asked), None)
