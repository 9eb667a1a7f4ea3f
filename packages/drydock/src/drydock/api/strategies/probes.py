"""The rules for probes, hooks and the ports they knock at."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import forbidden, invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.objects.names import port_name

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SCHEMES = ("HTTP", "HTTPS")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PORT_RANGE = range(1, 65536)


def wrong_port(path: str, port: Any) -> Iterator[Cause]:
    """A port by number or by name."""
    if isinstance(port, str):
        yield from (invalid(path, port, told) for told in port_name(port))
    elif port not in _PORT_RANGE:
        yield invalid(path, port, "must be between 1 and 65535, inclusive")


def wrong_probes(path: str, container: dict[str, Any]) -> Iterator[Cause]:
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        here = f"{path}.{name}"
        yield from _wrong_probe(here, probe)
        if name == "readinessProbe":
            if "terminationGracePeriodSeconds" in probe:
                seconds = probe["terminationGracePeriodSeconds"]
                yield invalid(f"{here}.terminationGracePeriodSeconds", seconds, "must not be set for readinessProbes")
        elif probe.get("successThreshold") != 1:
            yield invalid(f"{here}.successThreshold", probe.get("successThreshold"), "must be 1")


def wrong_lifecycle(path: str, lifecycle: dict[str, Any] | None) -> Iterator[Cause]:
    for name in ("postStart", "preStop"):
        if lifecycle and name in lifecycle:
            yield from _wrong_handler(f"{path}.{name}", lifecycle[name])


def _wrong_probe(path: str, probe: dict[str, Any]) -> Iterator[Cause]:
    yield from _wrong_handler(path, probe)
    for name in _COUNTS:
        if probe.get(name, 0) < 0:
            yield invalid(f"{path}.{name}", probe[name], "must be greater than or equal to 0")
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0")


def _wrong_handler(path: str, handler: dict[str, Any]) -> Iterator[Cause]:
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        yield required(path, "must specify a handler type")
    for name in given[:1]:
        yield from _wrong_action(f"{path}.{name}", name, handler[name])
    for name in given[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 handler type")


def _wrong_action(path: str, name: str, action: dict[str, Any]) -> Iterator[Cause]:
    if name == "exec" and not action.get("command"):
        yield required(f"{path}.command")
    if name in ("httpGet", "tcpSocket", "grpc"):
        yield from wrong_port(f"{path}.port", action.get("port", 0))
    if name == "httpGet" and action.get("scheme") not in _SCHEMES:
        yield not_supported(f"{path}.scheme", action.get("scheme"), _SCHEMES)
