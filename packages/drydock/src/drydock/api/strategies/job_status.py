"""What a Job's status may say: it ends once, in order, and its counters do not go back."""

from collections.abc import Iterator

from drydock.api.answers.causes import immutable, invalid, required
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Object
from drydock.api.strategies.workloads import wrong_count

_TERMINAL = ("Failed", "Complete", "FailureTarget")
_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")


def wrong_job_status(new: Object, old: Object) -> Iterator[Cause]:
    status, before, spec = new["status"], old.get("status") or {}, new["spec"]
    now, then = _true_conditions(status), _true_conditions(before)
    yield from wrong_count("status", status, *_COUNTS)
    yield from _wrong_times(status, before, now, suspended=bool(spec.get("suspend")))
    yield from _wrong_conditions(now, then, now != then)
    finished = bool(now & {"Complete", "Failed"})
    changed = finished != bool(then & {"Complete", "Failed"})
    if finished:
        yield from _wrong_end(status, before, changed)
    if (status.get("ready") or 0) > (status.get("active") or 0) and status.get("ready") != before.get("ready"):
        yield invalid("status.ready", status["ready"], "cannot set more ready pods than active")
    yield from _wrong_indexes(status, before, spec)
    for name in _TERMINAL:
        if name in then and name not in now:
            yield _about_conditions(f"cannot disable the terminal {name}=True condition")
    if (status.get("failed") or 0) < (before.get("failed") or 0):
        yield invalid("status.failed", status.get("failed", 0), "cannot decrease the failed counter")
    scales_down = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not scales_down and (status.get("succeeded") or 0) < (before.get("succeeded") or 0):
        yield invalid("status.succeeded", status.get("succeeded", 0), "cannot decrease the succeeded counter")
    if "SuccessCriteriaMet" in then and "SuccessCriteriaMet" not in now:
        yield _about_conditions("cannot disable the SuccessCriteriaMet=True condition")


def _true_conditions(status: Object) -> set[str]:
    return {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}


def _wrong_times(status: Object, before: Object, now: set[str], *, suspended: bool) -> Iterator[Cause]:
    ended, started = status.get("completionTime"), status.get("startTime")
    if ended and "Complete" not in now:
        told = "cannot set completionTime when there is no Complete=True condition"
        yield invalid("status.completionTime", ended, told)
    if not ended and "Complete" in now:
        yield required("status.completionTime", "completionTime is required for Complete jobs")
    if ended and started and ended < started:
        yield invalid("status.completionTime", ended, "must be equal to or after `startTime`")
    if ended and before.get("completionTime") and ended != before["completionTime"]:
        yield immutable("status.completionTime", ended)
    resumed = any(each["type"] == "Suspended" for each in before.get("conditions") or ())
    if before.get("startTime") and started != before["startTime"] and not suspended and not resumed:
        yield invalid("status.startTime", started, "field is immutable for unsuspended job once set")


def _wrong_conditions(now: set[str], then: set[str], changed: bool) -> Iterator[Cause]:
    if not changed:
        return
    if {"Complete", "Failed"} <= now:
        yield _about_conditions("cannot set Complete=True and Failed=true conditions")
    if {"Complete", "FailureTarget"} <= now:
        yield _about_conditions("cannot set Complete=True and FailureTarget=true conditions")
    if "Failed" in now - then and "FailureTarget" not in now:
        yield _about_conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    if "Complete" in now - then and "SuccessCriteriaMet" not in now:
        yield _about_conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    for other in ("Failed", "FailureTarget"):
        if {"SuccessCriteriaMet", other} <= now:
            yield _about_conditions(f"cannot set SuccessCriteriaMet=True and {other}=true conditions")


def _wrong_end(status: Object, before: Object, changed: bool) -> Iterator[Cause]:
    active = status.get("active") or 0
    if active > 0 and (changed or active != before.get("active")):
        yield invalid("status.active", active, "active>0 is invalid for finished job")
    if not status.get("startTime") and (changed or before.get("startTime")):
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if uncounted.get("succeeded") or uncounted.get("failed"):
        yield invalid("status.uncountedTerminatedPods", uncounted, "must be empty for finished job")
    terminating = status.get("terminating") or 0
    if terminating > 0 and (changed or terminating != before.get("terminating")):
        yield invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")


def _wrong_indexes(status: Object, before: Object, spec: Object) -> Iterator[Cause]:
    completed, failed = status.get("completedIndexes"), status.get("failedIndexes")
    if completed and completed != before.get("completedIndexes") and spec.get("completionMode") != "Indexed":
        told = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, told)
    if failed is not None and failed != before.get("failedIndexes") and spec.get("backoffLimitPerIndex") is None:
        told = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, told)


def _about_conditions(told: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {told}", "status.conditions")
