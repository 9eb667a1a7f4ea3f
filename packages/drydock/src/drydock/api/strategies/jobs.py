"""Jobs: defaults, generated selectors, and what a running Job may not change."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import immutable, invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object
from drydock.api.objects.names import dns_label, label_value
from drydock.api.patch.json_patch import copy_json
from drydock.api.strategies.job_policies import wrong_failure_policy, wrong_success_policy
from drydock.api.strategies.job_status import wrong_job_status
from drydock.api.strategies.pod_defaults import default_template
from drydock.api.strategies.pod_spec import wrong_template
from drydock.api.strategies.selection import as_shown, leaves_out, wrong_selector
from drydock.api.strategies.split import SplitStrategy, hide_zeros, keep, show_times
from drydock.api.strategies.workloads import sorted_labels, wrong_count

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UNLIMITED = 2**31 - 1
_MOST_PARALLEL_INDEXES = 100_000
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MODES = ("NonIndexed", "Indexed")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SCHEDULING = ("nodeSelector", "tolerations", "affinity", "schedulingGates")


class JobStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        spec = new.setdefault("spec", {})
        template = spec.setdefault("template", {})
        default_template(template)
        if spec.get("parallelism") is None and spec.get("completions") is None:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else 6)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
        spec.setdefault("manualSelector", False)
        for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
            for pattern in rule.get("onPodConditions") or ():
                pattern["status"] = pattern.get("status") or "True"

    def prepare_create(self, new: Object, context: Context) -> None:
        super().prepare_create(new, context)
        _label_like_pods(new)

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        super().prepare_update(new, old, subresource, context)
        _label_like_pods(new)

    def keep_on_status_update(self, new: Object, old: Object) -> None:
        show_times(new["status"].get("conditions"), "lastProbeTime", "lastTransitionTime")
        hide_zeros(new["status"], "active", "succeeded", "failed")

    def on_create(self, new: Object, context: Context) -> None:
        spec, metadata = new["spec"], new["metadata"]
        if spec["manualSelector"]:
            return
        labels = spec["template"]["metadata"].setdefault("labels", {})
        for label in _NAME_LABELS:
            labels.setdefault(label, metadata.get("name", ""))
        for label in _UID_LABELS:
            labels.setdefault(label, metadata.get("uid", ""))
        chosen = spec.setdefault("selector", {}).setdefault("matchLabels", {})
        chosen.setdefault(_UID_LABELS[1], metadata.get("uid", ""))

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec, name = new["spec"], new["metadata"].get("name", "")
        yield from _wrong_generated(new)
        yield from wrong_job_spec("spec", spec)
        selector = spec.get("selector")
        labels = spec["template"]["metadata"].get("labels") or {}
        if selector is None:
            yield required("spec.selector")
        else:
            yield from wrong_selector("spec.selector", selector)
        if leaves_out(selector, labels):
            told = "`selector` does not match template `labels`"
            yield invalid("spec.template.metadata.labels", sorted_labels(labels), told)
        if spec["completionMode"] == "Indexed" and (spec.get("completions") or 0) > 0:
            host = f"{name}-{spec['completions'] - 1}"
            if dns_label(host):
                told = f"will not able to create pod with invalid DNS label: {host}"
                yield invalid("metadata.name", name, told)

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        spec, before = new["spec"], old["spec"]
        yield from _changed_completions(spec, before)
        if spec.get("selector") != before.get("selector"):
            yield immutable("spec.selector", as_shown(spec.get("selector")))
        if spec["template"] != _changeable_template(spec["template"], old):
            yield immutable("spec.template", spec["template"])
        for name in _FIXED:
            if spec.get(name) != before.get(name):
                yield immutable(f"spec.{name}", spec.get(name))

    def wrong_status(self, new: Object, old: Object) -> Iterator[Cause]:
        return wrong_job_status(new, old)


def wrong_job_spec(path: str, spec: dict[str, Any]) -> Iterator[Cause]:
    """What is wrong with a Job's spec."""
    yield from wrong_count(path, spec, *_COUNTS)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    mode = spec.get("completionMode") or "NonIndexed"
    if mode not in _MODES:
        yield not_supported(f"{path}.completionMode", mode, _MODES)
    if mode == "Indexed":
        yield from _wrong_indexed(path, spec)
    else:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
    yield from wrong_failure_policy(f"{path}.podFailurePolicy", spec)
    yield from wrong_success_policy(f"{path}.successPolicy", spec)
    replacement = spec.get("podReplacementPolicy")
    allowed = _REPLACEMENTS[:1] if spec.get("podFailurePolicy") is not None else _REPLACEMENTS
    if replacement is not None and replacement not in allowed:
        yield not_supported(f"{path}.podReplacementPolicy", replacement, allowed)
    template = spec.get("template") or {}
    yield from wrong_template(f"{path}.template", template)
    yield from _wrong_restart_policy(f"{path}.template.spec.restartPolicy", spec, template.get("spec") or {})


def _wrong_indexed(path: str, spec: dict[str, Any]) -> Iterator[Cause]:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if (spec.get("parallelism") or 0) > _MOST_PARALLEL_INDEXES:
        told = f"must be less than or equal to {_MOST_PARALLEL_INDEXES} when completion mode is Indexed"
        yield invalid(f"{path}.parallelism", spec["parallelism"], told)
    if completions is not None and failed is not None and failed > completions:
        yield invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")


def _wrong_restart_policy(path: str, spec: dict[str, Any], pod: dict[str, Any]) -> Iterator[Cause]:
    policy = pod.get("restartPolicy") or "Always"
    if policy == "Always":
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ["OnFailure", "Never"])
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _wrong_generated(job: Object) -> Iterator[Cause]:
    spec, metadata = job["spec"], job["metadata"]
    if spec["manualSelector"] or spec.get("selector") is None:
        return
    labels = spec["template"]["metadata"].get("labels") or {}
    expected = {label: metadata.get("uid", "") for label in _UID_LABELS}
    expected |= {label: metadata.get("name", "") for label in _NAME_LABELS}
    for label in (_UID_LABELS[0], _NAME_LABELS[0], _UID_LABELS[1], _NAME_LABELS[1]):
        path = f"spec.template.metadata.labels[{label}]"
        if label not in labels:
            yield required(path, f"must be '{expected[label]}'")
        elif labels[label] != expected[label]:
            yield invalid(path, sorted_labels(labels), f"must be '{expected[label]}'")
    if leaves_out(spec["selector"], expected):
        yield invalid("spec.selector", as_shown(spec["selector"]), "`selector` not auto-generated")


def _label_like_pods(job: Object) -> None:
    """A Job without labels wears those of its pods, the generated ones too, once these are known to be good."""
    labels = job["spec"]["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels") and not any(map(label_value, labels.values())):
        job["metadata"]["labels"] = dict(labels)


def _changed_completions(spec: dict[str, Any], before: dict[str, Any]) -> Iterator[Cause]:
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return
    if spec["completionMode"] != "Indexed":
        yield immutable("spec.completions", completions)
    elif completions is not None and completions != spec["parallelism"]:
        yield invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")


def _changeable_template(template: dict[str, Any], old: Object) -> dict[str, Any]:
    """The old template with what a suspended Job that has not started may still change taken from the new one."""
    before: dict[str, Any] = old["spec"]["template"]
    status = old.get("status") or {}
    if not old["spec"].get("suspend") or status.get("startTime") or status.get("active"):
        return before
    allowed: dict[str, Any] = copy_json(before)
    for name in ("labels", "annotations"):
        keep(name, allowed["metadata"], template["metadata"])
    for name in _SCHEDULING:
        keep(name, allowed["spec"], template["spec"])
    for part in ("containers", "initContainers"):
        sources = template["spec"].get(part) or []
        for container, source in zip(allowed["spec"].get(part) or [], sources, strict=False):
            keep("resources", container, source)
    return allowed
