"""The tables of docs/how-to/access.md, made from what the routes declare and from the roles.

`python -m packages.mooring.tests.access.documentation` writes them into the document.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mooring.api.access.acts import CORE, KEY, LIST, WORKER, Act, Asks, Open, Rule, Sees
from mooring.api.server import ROUTES, openapi_document
from mooring.dashboard.pages import PAGES
from mooring.dashboard.replay_pages import REPLAY_PAGES
from mooring.kinds.caller_roles import caller_roles

DOCUMENT = Path(__file__).parents[4] / "docs" / "how-to" / "access.md"
BEGIN, END = "<!-- routes -->", "<!-- end of routes -->"
ROLES = ("view", "edit", "claimer", "operator")
_CORE = {"nodes": CORE, "pods": CORE}


def write_table() -> str:
    """A row for each route."""
    rows = ["| route | needs | " + " | ".join(ROLES) + " |", "|---|---|" + "---|" * len(ROLES)]
    for handler in (openapi_document, *ROUTES, *PAGES, *REPLAY_PAGES):
        rows += list(_rows(handler))
    return "\n".join(rows)


def _rows(handler: Any) -> Iterator[str]:
    rule: Rule = handler.opt[KEY]
    methods = "/".join(sorted(method for method in handler.http_methods if method != "OPTIONS"))
    paths = ", ".join(path.replace(":str", "").replace(":path", "") for path in sorted(handler.paths))
    marks = " | ".join(_mark(role, rule) for role in ROLES)
    yield f"| `{methods} {paths}` | {_needs(rule)} | {marks} |"


def _needs(rule: Rule) -> str:
    match rule:
        case Act():
            return f"`{rule.words}`"
        case Sees():
            return "shows what the caller may `list`: " + ", ".join(rule.resources)
        case Open():
            return f"nothing: {rule.why}"
    if not rule.acts:
        return "to hold the claim" if rule.holder else "a token or a session"
    acts = " and ".join(f"`{act.words}`" for act in rule.acts)
    return f"to hold the claim, or {acts}" if rule.holder else acts


def _mark(role: str, rule: Rule) -> str:
    if rule is WORKER:
        return "-"
    if isinstance(rule, Asks) and rule.holder:
        return "yes" if rule.acts and _allows(role, rule) else "holder"
    return "yes" if _allows(role, rule) else "-"


def _allows(role: str, rule: Rule) -> bool:
    match rule:
        case Act():
            return _grants(role, rule)
        case Sees():
            return any(_grants(role, Act(LIST, resource, group=_CORE.get(resource, Act("", "").group)))
                       for resource in rule.resources)  # fmt: skip
        case Open():
            return True
    return all(_grants(role, act) for act in rule.acts)


def _grants(role: str, act: Act) -> bool:
    (found,) = [body for body in caller_roles() if body["metadata"]["name"] == f"mooring-{role}"]
    resource = f"{act.resource}/{act.subresource}" if act.subresource else act.resource
    return any(
        act.group in rule["apiGroups"] and resource in rule["resources"] and act.verb in rule["verbs"]
        for rule in found["rules"]
    )


if __name__ == "__main__":
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{write_table()}\n{END}{rest.partition(END)[2]}")
