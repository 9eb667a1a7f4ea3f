"""Tables inside of pages that people write: settings, metrics, error codes, marks, invariants."""

import importlib
import json
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

import mooring
from mooring.client.errors import ExplainedError, read_error
from mooring.client.loss import is_final
from mooring.engine.metrics import LeaderGauge
from mooring.model.invariant import INVARIANTS
from mooring.model.mark_catalogue import MARKS
from mooring.queries.metrics import InvariantFigures
from mooring.settings import Settings, describe_settings
from referencing.text import one_line, table


def settings() -> str:
    """Every variable of the environment with its default."""
    defaults = {f"MOORING_{one.name.upper()}": one.default for one in fields(Settings)}
    rows = ((f"`{name}`", text, _default(defaults[name])) for name, text in describe_settings().items())
    return table(("variable", "meaning", "default"), rows)


def _default(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else ""


def metrics() -> str:
    """Every metric with its type and labels."""
    return table(("metric", "type", "labels", "meaning"), sorted(_metric_rows()))


def _metric_rows() -> set[tuple[str, str, str, str]]:
    rows = set()
    for found in pkgutil.walk_packages(mooring.__path__, "mooring."):
        if not found.name.endswith(".metrics"):
            continue
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, MetricWrapperBase | LeaderGauge | InvariantFigures):
                labels = getattr(value, "_labelnames", None) or getattr(value, "_labels", None) or ()
                for one in value.describe():
                    name = one.name + ("_total" if one.type == "counter" else "")
                    own = tuple(getattr(one, "_labelnames", ())) or tuple(labels)
                    rows.add(
                        (f"`{name}`", one.type, ", ".join(f"`{label}`" for label in own), one_line(one.documentation))
                    )
    return rows


def marks() -> str:
    """Every label, annotation and finalizer."""
    return table(
        ("mark", "form", "on", "meaning"), ((f"`{one.name}`", one.form, one.objects, one.meaning) for one in MARKS)
    )


def invariants() -> str:
    """Every invariant, with its section of the runbook."""
    rows = (
        (f"[`{one.id}`](../runbook/invariants.md#{one.id})", one.rule, one.remedy, one.constants) for one in INVARIANTS
    )
    return table(("id", "condition", "remedy", "constants"), rows)


def error_codes(runbook: Path) -> str:
    """Every error code with its meaning, from its section of the runbook."""
    found = re.findall(r"^### (\w+)\n\n- \*\*Meaning:\*\* (.*?)\n- \*\*", runbook.read_text(), re.MULTILINE | re.DOTALL)
    rows = ((f"[`{code}`](../runbook/errors.md#{code})", _plain(meaning)) for code, meaning in sorted(found))
    return table(("code", "HTTP status and meaning"), rows)


def client_errors(runbook: Path) -> str:
    """What a client does about the codes of claims and requests, as the SDK does it."""
    sections = re.split(r"^## ", runbook.read_text(), flags=re.MULTILINE)
    told = "".join(text for text in sections if text.startswith(("Claims\n", "Requests\n")))
    found = re.findall(r"^### (\w+)\n\n- \*\*Meaning:\*\* (\d{3})\. (.*?)\n- \*\*", told, re.MULTILINE | re.DOTALL)
    return table(
        ("code", "status", "meaning", "a client"),
        (
            (f"`{code}`", status, _plain(meaning), _reaction(int(status), code))
            for code, status, meaning in sorted(found)
        ),
    )


def _reaction(status: int, code: str) -> str:
    error = read_error(status, json.dumps({"code": code, "message": "", "detail": {}}).encode())
    if error.retryable:
        return "repeats it, under the same key"
    if isinstance(error, ExplainedError):
        return "gives up, or repeats it later: the pool has no worker for it now"
    if status == 410:
        return "is a worker: it exits"
    if is_final(error):
        return "gives up; on a heartbeat or a release the claim is over, so it stops the work"
    return "gives up: repeated at once, it has the same answer"


def _plain(meaning: str) -> str:
    """The meaning with links as text, since they lead from another folder."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", one_line(meaning))
