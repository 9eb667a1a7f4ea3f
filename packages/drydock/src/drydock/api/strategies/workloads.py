"""Workloads that keep pods running: Deployments and ReplicaSets."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import forbidden, immutable, invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object
from drydock.api.objects.names import percentage
from drydock.api.strategies.pod_defaults import default_template
from drydock.api.strategies.pod_spec import wrong_template
from drydock.api.strategies.selection import as_shown, is_empty, is_readable, leaves_out, wrong_selector
from drydock.api.strategies.split import SplitStrategy, hide_zeros, keep, show_times

_LEFT_OUT = ("updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas", "fullyLabeledReplicas")
_NOT_NEGATIVE = "must be greater than or equal to 0"


def wrong_count(path: str, spec: dict[str, Any], *names: str) -> Iterator[Cause]:
    """Counts below zero."""
    for name in names:
        if (spec.get(name) or 0) < 0:
            yield invalid(f"{path}.{name}", spec[name], _NOT_NEGATIVE)


def wrong_share(path: str, share: Any) -> Iterator[Cause]:
    """A whole number or a percentage."""
    if isinstance(share, str):
        yield from (invalid(path, share, told) for told in percentage(share))
    elif share < 0:
        yield invalid(path, share, _NOT_NEGATIVE)


def wrong_over_all(path: str, share: Any) -> Iterator[Cause]:
    if isinstance(share, str) and not percentage(share) and int(share[:-1]) > 100:
        yield invalid(path, share, "must not be greater than 100%")


def sorted_labels(labels: dict[str, str]) -> dict[str, str] | None:
    """Labels as the server prints them."""
    return dict(sorted(labels.items())) or None


class Workload(SplitStrategy):
    """What the kinds have in common: a selector that fits a template of pods that are always restarted."""

    def defaults(self, new: Object) -> None:
        spec = new.setdefault("spec", {})
        default_template(spec.setdefault("template", {}))
        self.spec_defaults(spec)

    def spec_defaults(self, spec: dict[str, Any]) -> None:
        spec.setdefault("replicas", 1)

    def wrong_selector(self, spec: dict[str, Any]) -> Iterator[Cause]:
        selector = spec.get("selector")
        if selector is None:
            yield required("spec.selector")
            return
        yield from wrong_selector("spec.selector", selector)
        if is_empty(selector):
            # The server says so of a ReplicaSet, too.
            yield invalid("spec.selector", selector, "empty selector is invalid for deployment")

    def wrong_template(self, spec: dict[str, Any]) -> Iterator[Cause]:
        template, selector = spec["template"], spec.get("selector")
        labels = (template.get("metadata") or {}).get("labels") or {}
        if selector is not None and not is_readable(selector):
            yield invalid("spec.selector", as_shown(selector), "invalid label selector")
            return
        if leaves_out(selector, labels):
            told = "`selector` does not match template `labels`"
            yield invalid("spec.template.metadata.labels", sorted_labels(labels), told)
        yield from wrong_template("spec.template", template)
        pod = template["spec"]
        if pod.get("restartPolicy") != "Always":
            yield not_supported("spec.template.spec.restartPolicy", pod.get("restartPolicy"), ["Always"])
        if pod.get("activeDeadlineSeconds") is not None:
            told = "activeDeadlineSeconds in ReplicaSet is not Supported"
            yield forbidden("spec.template.spec.activeDeadlineSeconds", told)

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        if new["spec"].get("selector") != old["spec"].get("selector"):
            yield immutable("spec.selector", as_shown(new["spec"].get("selector")))

    def wrong_status(self, new: Object, old: Object) -> Iterator[Cause]:
        status = new["status"]
        counts = [name for name in status if name.endswith("eplicas") or name == "observedGeneration"]
        yield from wrong_count("status", status, *counts)
        for name in ("updatedReplicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"):
            if status.get(name, 0) > status.get("replicas", 0):
                yield invalid(f"status.{name}", status[name], "cannot be greater than status.replicas")
        if status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
            yield invalid(
                "status.availableReplicas", status["availableReplicas"], "cannot be greater than readyReplicas"
            )


class DeploymentStrategy(Workload):
    def spec_defaults(self, spec: dict[str, Any]) -> None:
        super().spec_defaults(spec)
        strategy = spec.setdefault("strategy", {})
        strategy["type"] = strategy.get("type") or "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec = new["spec"]
        yield from wrong_count("spec", spec, "replicas")
        yield from self.wrong_selector(spec)
        yield from self.wrong_template(spec)
        yield from _wrong_strategy("spec.strategy", spec["strategy"])
        yield from wrong_count("spec", spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
        seconds = spec["progressDeadlineSeconds"]
        if seconds <= spec.get("minReadySeconds", 0):
            yield invalid("spec.progressDeadlineSeconds", seconds, "must be greater than minReadySeconds")

    def keep_on_status_update(self, new: Object, old: Object) -> None:
        keep("labels", new["metadata"], old["metadata"])
        hide_zeros(new["status"], "replicas", *_LEFT_OUT)
        show_times(new["status"].get("conditions"), "lastUpdateTime", "lastTransitionTime")


class ReplicaSetStrategy(Workload):
    def keep_on_status_update(self, new: Object, old: Object) -> None:
        new["status"].setdefault("replicas", 0)
        hide_zeros(new["status"], *_LEFT_OUT)
        show_times(new["status"].get("conditions"), "lastTransitionTime")

    def initial_status(self, new: Object, context: Context) -> Object:
        return {"replicas": 0}

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec = new["spec"]
        yield from wrong_count("spec", spec, "replicas", "minReadySeconds")
        yield from self.wrong_selector(spec)
        yield from self.wrong_template(spec)


def _wrong_strategy(path: str, strategy: dict[str, Any]) -> Iterator[Cause]:
    rolling = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "Recreate":
            if rolling is not None:
                told = "may not be specified when strategy `type` is 'Recreate'"
                yield forbidden(f"{path}.rollingUpdate", told)
        case "RollingUpdate":
            yield from _wrong_rolling(f"{path}.rollingUpdate", strategy["rollingUpdate"])
        case _:
            yield not_supported(path, strategy, ["Recreate", "RollingUpdate"])


def _wrong_rolling(path: str, rolling: dict[str, Any]) -> Iterator[Cause]:
    for name in ("maxUnavailable", "maxSurge"):
        yield from wrong_share(f"{path}.{name}", rolling[name])
    if rolling["maxUnavailable"] in (0, "0%") and rolling["maxSurge"] in (0, "0%"):
        yield invalid(f"{path}.maxUnavailable", rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
    yield from wrong_over_all(f"{path}.maxUnavailable", rolling["maxUnavailable"])
