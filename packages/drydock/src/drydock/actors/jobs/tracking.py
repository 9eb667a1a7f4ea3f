"""Counting a Job's finished pods exactly once, across crashes.

A finished pod is first noted in the status, then loses its finalizer, then moves from the notes into the counters.
Pure: each function takes a status and returns another.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from drydock.actors.jobs.failures import consequence_of, is_failed
from drydock.actors.jobs.indexes import format_indexes, index_of
from drydock.actors.jobs.plan import Census, Ending, has_valid_index, is_indexed, is_suspended, is_tracked
from drydock.actors.machinery.objects import Object, find_condition, is_terminating, status_of, uid_of
from drydock.actors.machinery.pods import is_active, is_leaving, is_ready, phase_of
from hawser.views.base import format_time

_MOST_NOTED = 500
_FINAL = {"FailureTarget": "Failed", "SuccessCriteriaMet": "Complete"}


@dataclass(frozen=True, slots=True)
class Notes:
    """A status to write before the finalizers of `release` are removed, and the condition to set after."""

    status: Object
    release: tuple[Object, ...]
    final: Ending | None
    everything_noted: bool


def open_status(job: Object, pods: Sequence[Object], now: datetime) -> Object:
    """The Job's status with what is alive, and its start."""
    active = [pod for pod in pods if is_active(pod)]
    status = _with_count(status_of(job), "active", len(active))
    status["ready"] = sum(1 for pod in active if is_ready(pod))
    status["terminating"] = sum(1 for pod in pods if is_leaving(pod))
    status.setdefault("uncountedTerminatedPods", {})
    if not status.get("startTime") and not is_suspended(job):
        status["startTime"] = format_time(now)
    return status


def with_suspension(job: Object, status: Object, now: datetime) -> tuple[Object, str]:
    """The status with its Suspended condition right, and the reason of the event for a change."""
    condition = find_condition(status.get("conditions"), "Suspended")
    suspended = is_suspended(job)
    if suspended == (condition is not None and condition.get("status") == "True"):
        return status, ""
    told = "Suspended" if suspended else "Resumed"
    new = _condition("Suspended", f"Job{told}", f"Job {told.lower()}", now, "True" if suspended else "False")
    others = [one for one in status.get("conditions") or () if one["type"] != "Suspended"]
    changed = {**status, "conditions": [*others, new]}
    if suspended:
        changed.pop("startTime", None)
    else:
        changed["startTime"] = format_time(now)
    return changed, told


def note_finished(job: Object, pods: Sequence[Object], census: Census, status: Object, ending: Ending | None) -> Notes:
    """Note the finished pods that are not noted yet."""
    tracked = {uid_of(pod) for pod in pods if is_tracked(pod)}
    status = count_released(status, tracked)
    noted = status["uncountedTerminatedPods"]
    good, bad = list(noted.get("succeeded") or ()), list(noted.get("failed") or ())
    new_indexes: set[int] = set()
    release: list[Object] = []
    ends_badly = ending is not None and ending.type != "SuccessCriteriaMet"
    for pod in _in_index_order(job, pods):
        over = ending is not None or is_terminating(job) or phase_of(pod) == "Succeeded" or is_failed(job, pod)
        if uid_of(pod) not in tracked or not over:
            continue
        release.append(pod)
        if phase_of(pod) == "Succeeded" and uid_of(pod) not in bad:
            index = index_of(pod)
            if not is_indexed(job):
                _add(good, uid_of(pod))
            elif index is not None and has_valid_index(job, pod):
                new_indexes.add(index)
        elif (is_failed(job, pod) or ends_badly) and has_valid_index(job, pod) and consequence_of(job, pod).counts:
            _add(bad, uid_of(pod))
        if len(new_indexes) + len(good) + len(bad) >= _MOST_NOTED:
            break
    status = {**status, "uncountedTerminatedPods": _notes(good, bad)}
    if is_indexed(job):
        indexes = census.earlier_indexes | new_indexes
        status = _with_count(status, "succeeded", len(indexes))
        if indexes:
            status["completedIndexes"] = format_indexes(indexes)
    everything = len(new_indexes) + len(good) + len(bad) < _MOST_NOTED
    return Notes(status, tuple(release), ending, everything)


def announce(notes: Notes, now: datetime) -> Notes:
    """Put the announcing condition into the status; what remains to be set is the final one."""
    ending = notes.final
    if ending is None or ending.type not in _FINAL:
        return notes
    status = notes.status
    if find_condition(status.get("conditions"), ending.type) is None:
        announced = _condition(ending.type, ending.reason, ending.message, now)
        status = {**status, "conditions": [*(status.get("conditions") or ()), announced]}
    final = Ending(_FINAL[ending.type], ending.reason, ending.message)
    return Notes(status, notes.release, final, notes.everything_noted)


def count_released(status: Object, tracked: Collection[str]) -> Object:
    """Move noted pods that have lost their finalizer into the counters."""
    noted = status.get("uncountedTerminatedPods") or {}
    good, bad = noted.get("succeeded") or [], noted.get("failed") or []
    good_left = [uid for uid in good if uid in tracked]
    bad_left = [uid for uid in bad if uid in tracked]
    if len(good_left) == len(good) and len(bad_left) == len(bad):
        return status
    counted = _with_count(status, "succeeded", status.get("succeeded", 0) + len(good) - len(good_left))
    counted = _with_count(counted, "failed", status.get("failed", 0) + len(bad) - len(bad_left))
    return {**counted, "uncountedTerminatedPods": _notes(good_left, bad_left)}


def close_status(status: Object, final: Ending | None, now: datetime) -> Object | None:
    """The status with its final condition; None while a pod is uncounted or still terminating."""
    noted = status.get("uncountedTerminatedPods") or {}
    if final is None or noted.get("succeeded") or noted.get("failed") or status.get("terminating", 0) > 0:
        return None
    closed = {
        **status,
        "conditions": [*(status.get("conditions") or ()), _condition(final.type, final.reason, final.message, now)],
    }
    if final.type == "Complete":
        closed["completionTime"] = format_time(now)
    return closed


def _in_index_order(job: Object, pods: Sequence[Object]) -> Sequence[Object]:
    return sorted(pods, key=lambda pod: index_of(pod) or 0) if is_indexed(job) else pods


def _with_count(status: Object, name: str, count: int) -> Object:
    """As the API writes it: a count of zero is left out."""
    changed = {**status, name: count}
    if count == 0:
        del changed[name]
    return changed


def _add(uids: list[str], uid: str) -> None:
    if uid not in uids:
        uids.append(uid)


def _notes(good: list[str], bad: list[str]) -> Object:
    return {name: uids for name, uids in (("succeeded", good), ("failed", bad)) if uids}


def _condition(kind: str, reason: str, message: str, now: datetime, status: str = "True") -> Object:
    stamp = format_time(now)
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": stamp,
        "lastTransitionTime": stamp,
        "reason": reason,
        "message": message,
    }
