"""Fetching evidence: the last lines of a container that failed, cleaned; when they cannot be had, it says why.

A container that could not be started has written nothing: then the message of its status is the evidence.
"""

from hawser.client import KubeClient
from hawser.errors import KubeError
from hawser.views import ContainerStatus, Pod
from mooring.model.evidence import LAST_LINES, Failure, clean_line, clean_log, clean_reason

_MOST_BYTES = 256 * 1024


async def gather_failure(client: KubeClient, pod: Pod, container: ContainerStatus, reason: str) -> Failure:
    """The container's own words: of the run that failed last, and of this one when there was none before."""
    ended = container.state.terminated or container.last_state.terminated
    silent = clean_reason(ended.message if ended else "") or "the container has written nothing"
    lines = await _last_lines(client, pod, container, silent)
    return Failure(
        pod=pod.metadata.name,
        container=container.name,
        restarts=container.restart_count,
        exit_code=ended.exit_code if ended else 0,
        logs=lines,
        reason=clean_line(reason),
    )


async def _last_lines(client: KubeClient, pod: Pod, container: ContainerStatus, silent: str) -> tuple[str, ...]:
    previous = container.restart_count > 0 and container.state.terminated is None
    error = silent
    for of_previous in (True, False) if previous else (False,):
        try:
            text = await client.logs(
                pod.metadata.name,
                pod.metadata.namespace,
                container=container.name,
                tail_lines=LAST_LINES,
                previous=of_previous,
                limit_bytes=_MOST_BYTES,
            )
        except KubeError as failed:
            error = f"the log could not be read: {failed.message}"
            continue
        if lines := clean_log(text):
            return lines
    return (clean_line(error),)
