"""What a simulated container does: a script, chosen a pod at a time."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from drydock.runtime.contract import ContainerRun
from hawser.errors import InvalidInput

SCRIPT_ANNOTATION = "drydock.dev/script"
_JOB_SECONDS = 1.0


class Script(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One run of a container. Seconds count from its start; `run_seconds` None is for ever."""

    start_seconds: float = 0.0
    run_seconds: float | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    ready_seconds: float = 0.0
    unready: Sequence[tuple[float, float]] = ()  # from, until
    dies_seconds: float | None = None  # when its liveness probe, if it has one, begins to fail
    stop_seconds: float = 0.0  # how long it takes to end after SIGTERM
    stop_code: int = 0
    logs: Sequence[str] = ()
    log_seconds: float = 0.0  # between two lines
    start_error: str = ""


class _Choice(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An annotation: runs one after another (the last one repeats), for all containers or for one."""

    runs: list[Script] = []
    containers: dict[str, list[Script]] = {}


class Scripts(Protocol):
    """Chooses what a run will do."""

    def __call__(self, run: ContainerRun) -> Script: ...


def scripts_from(choose: Callable[[ContainerRun], Script | None]) -> Scripts:
    """Scripts chosen by a function; where it returns None, the pod's annotation or the default decides."""

    def chosen(run: ContainerRun) -> Script:
        return choose(run) or default_script(run)

    return chosen


def default_script(run: ContainerRun) -> Script:
    """From the pod's annotation; else what runs once takes a second and succeeds, all else runs for ever."""
    text = (run.pod["metadata"].get("annotations") or {}).get(SCRIPT_ANNOTATION)
    if text:
        try:
            choice = msgspec.json.decode(text, type=_Choice)
        except msgspec.DecodeError as error:
            raise InvalidInput(SCRIPT_ANNOTATION, text, f"a script: {error}") from error
        if runs := choice.containers.get(run.container, choice.runs):
            return runs[min(run.attempt, len(runs) - 1)]
    finite = run.pod["spec"].get("restartPolicy", "Always") != "Always" or _is_init(run)
    return Script(run_seconds=_JOB_SECONDS) if finite else Script()


def _is_init(run: ContainerRun) -> bool:
    inits = run.pod["spec"].get("initContainers") or ()
    return run.spec.get("restartPolicy") != "Always" and any(entry["name"] == run.container for entry in inits)
