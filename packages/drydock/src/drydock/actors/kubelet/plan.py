"""What to do next for a pod: a pure decision from the records of its containers."""

from collections.abc import Sequence
from dataclasses import dataclass

from drydock.actors.kubelet.container import Container, Role, Running, Terminated


@dataclass(frozen=True, slots=True)
class PodPlan:
    """Names of containers to start, to stop, or to hold back after a crash; when to look again; and whether no
    container will run again."""

    start: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    back_off: tuple[str, ...] = ()
    wake_at: float | None = None
    over: bool = False


def plan_pod(containers: Sequence[Container], restart_policy: str, now: float) -> PodPlan:
    """The next steps of a pod that is to run: init containers in order, then the main ones, each restarted
    as the policy says."""
    if _failed_to_initialize(containers, restart_policy):
        return _plan_end(containers)
    mains = [container for container in containers if container.role is Role.MAIN]
    if all(_is_over(container, restart_policy) for container in mains):
        return _plan_end(containers)
    initialized = any(container.has_run or isinstance(container.state, Running) for container in mains)
    due: list[Container] = []
    for container in containers:
        if container.role is Role.MAIN:
            if not _is_over(container, restart_policy):
                due.append(container)
        elif container.role is Role.SIDECAR:
            due.append(container)
            if not container.started and not initialized:
                break
        elif not initialized and not _has_succeeded(container):
            due.append(container)
            break
    return _plan_starts(due, now)


def plan_stop(containers: Sequence[Container]) -> PodPlan:
    """The next steps of a pod that is to end: main containers first, then sidecars from the last to the first."""
    return _plan_end(containers)


def _plan_starts(due: Sequence[Container], now: float) -> PodPlan:
    idle = [container for container in due if not _is_alive(container)]
    later = [container for container in idle if _start_at(container) > now]
    return PodPlan(
        start=tuple(container.name for container in idle if container not in later),
        back_off=tuple(container.name for container in later if container.has_run and container.retry_at <= now),
        wake_at=min((_start_at(container) for container in later), default=None),
    )


def _start_at(container: Container) -> float:
    if container.has_run:
        return max(container.retry_at, container.backoff.next_attempt_at(container.ended_at))
    return container.retry_at


def _plan_end(containers: Sequence[Container]) -> PodPlan:
    alive = [container for container in containers if _is_alive(container)]
    if not alive:
        return PodPlan(over=True)
    others = [container for container in alive if container.role is not Role.SIDECAR]
    turn = others or [alive[-1]]
    return PodPlan(stop=tuple(container.name for container in turn if not container.stopping))


def _is_alive(container: Container) -> bool:
    return container.starting or isinstance(container.state, Running)


def _has_succeeded(container: Container) -> bool:
    end = container.latest_end
    return end is not None and end.exit_code == 0


def _failed_to_initialize(containers: Sequence[Container], restart_policy: str) -> bool:
    return restart_policy == "Never" and any(
        container.role is Role.INIT and (end := container.latest_end) is not None and end.exit_code != 0
        for container in containers
    )


def _is_over(container: Container, restart_policy: str) -> bool:
    """Whether the main container has ended and will not be started again."""
    end = container.latest_end
    if end is None:
        return False
    match restart_policy:
        case "Always":
            return False
        case "OnFailure":
            return end.exit_code == 0 and isinstance(container.state, Terminated)
        case _:
            return True
